/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs.h"
#include "base/parallel.h"
#include "libsonde/inputs/inputs_place.h"
#include "libsonde/inputs/inputs_user.h"
#include "libsonde/inputs/inputs_within.h"
#include "source/cover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS_TOLD 3 /* per trace */

bool watcher_progress(const struct sonde_watcher *w, const char *phase, double done)
{
	return !w || !w->progress || w->progress(phase, done, w->data);
}

void watcher_notice(const struct sonde_watcher *w, const char *fmt, ...)
{
	char text[768];
	va_list ap;

	if (!w || !w->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->notice(text, w->data);
}

unsigned inputs_workers(const struct sonde_inputs *told)
{
	long nr = told->threads ? (long)told->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return nr > 1 ? (unsigned)nr - 1 : 0;
}

/* ---- guests within their hosts' traces ------------------------------------------------------- */

/* What guests sent must not keep their host from being seen. */
static int place_without(struct inputs *in, const struct sonde_inputs *told,
			 struct problems *problems, const struct sonde_watcher *watcher,
			 struct error *err)
{
	problems_add(problems, "what guests sent by hypercall is left out: %s", err->text);
	watcher_notice(watcher, "what guests sent by hypercall is left out: %s", err->text);
	inputs_drop_guests(in);
	return inputs_place(in, told, problems, watcher, err);
}

static int leave_out_doubles(struct inputs *in, const struct sonde_inputs *told,
			     struct problems *problems, const struct sonde_watcher *watcher,
			     struct error *err)
{
	int ret = inputs_drop_doubles(in, problems);

	if (ret < 0)
		return fail(err, ret, "out of memory");
	return ret ? inputs_place(in, told, problems, watcher, err) : 0;
}

static int look_within(struct inputs *in, const struct sonde_inputs *told, enum inputs_within how,
		       struct problems *problems, const struct sonde_watcher *watcher,
		       struct error *err)
{
	int ret = inputs_find_guests(in, how, watcher, err);

	if (ret <= 0)
		return ret;
	topology_release(&in->topology);
	ret = inputs_place(in, told, problems, watcher, err);
	if (ret && ret != -ENOMEM && ret != -EINTR)
		ret = place_without(in, told, problems, watcher, err);
	return ret;
}

static int find_topology(struct inputs *in, const struct sonde_inputs *told,
			 enum inputs_within within, const struct sonde_watcher *watcher,
			 struct error *err)
{
	struct problems problems = in->topology.problems;
	int ret = inputs_place(in, told, &problems, watcher, err);

	if (!ret)
		ret = look_within(in, told, within, &problems, watcher, err);
	if (!ret)
		ret = leave_out_doubles(in, told, &problems, watcher, err);
	/* What was wrong before the topology was known belongs to it, too. */
	for (unsigned i = 0; i < problems.nr && !ret; i++)
		(problems.list[i].note ? problems_note : problems_add)(&in->topology.problems, "%s",
								       problems.list[i].text);
	if (ret && !in->topology.problems.nr)
		in->topology.problems = problems;
	else
		problems_release(&problems);
	return ret;
}

/* ---- streams --------------------------------------------------------------------------------- */

int inputs_list_streams(struct inputs *in, const struct sonde_watcher *watcher, struct error *err)
{
	unsigned nr = 0;

	if (inputs_attach_users(in, watcher))
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned m = 0; m < in->topology.nr_machines; m++)
		nr += in->topology.machines[m].trace ? in->topology.machines[m].trace->nr_streams
						     : 0;
	in->streams = calloc(nr + 1, sizeof(*in->streams));
	if (!in->streams)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned m = 0; m < in->topology.nr_machines; m++) {
		const struct machine *machine = &in->topology.machines[m];

		if (!machine->trace)
			continue;
		in->len_bytes += machine->trace->len_bytes;
		for (unsigned s = 0; s < machine->trace->nr_streams; s++)
			in->streams[in->nr_streams++] = (struct merge_input){
				.stream = &machine->trace->streams[s],
				.machine = m,
				.clock = &machine->clock,
			};
	}
	return 0;
}

static void tell_faults_of(const struct trace *t, const struct sonde_watcher *watcher)
{
	unsigned told = 0;
	unsigned more = 0;

	for (unsigned p = 0; p < t->problems.nr; p++) {
		if (t->problems.list[p].note)
			continue;
		if (told < FAULTS_TOLD) {
			watcher_notice(watcher, "%s", t->problems.list[p].text);
			told++;
		} else {
			more++;
		}
	}
	if (more)
		watcher_notice(watcher, "%s: %u more of such; sonde check lists them", t->path,
			       more);
}

/* What is broken or missing in the traces themselves: it may be why the rest of the work fails, or
 * why its result is not what is expected. */
static void tell_faults(const struct inputs *in, const struct sonde_watcher *watcher)
{
	for (unsigned i = 0; i < in->nr_traces; i++) {
		tell_faults_of(in->traces[i], watcher);
		for (unsigned p = 0; p < in->traces[i]->nr_parts; p++)
			tell_faults_of(in->traces[i]->parts[p], watcher);
	}
}

/* Before anybody uses them. */
static int complete_traces(const struct inputs *in, struct error *err)
{
	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (cover_count_cpus(in->traces[i]) ||
		    (in->show_lacking && trace_show_lacking(in->traces[i])))
			return fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

bool inputs_lack_events(const struct inputs *in)
{
	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (trace_lacks_events(in->traces[i]))
			return true;
	}
	return false;
}

static int open_all(struct inputs *in, const struct sonde_inputs *told,
		    const struct sonde_watcher *watcher, struct error *err)
{
	enum inputs_within within = in->within;
	int ret;

	in->every_tree = within == WITHIN_AND_OWN;
	watcher_progress(watcher, "opening traces", 0);
	ret = inputs_open_traces(in, told, watcher, err);
	if (!ret)
		ret = complete_traces(in, err);
	if (!ret)
		ret = find_topology(in, told, within, watcher, err);
	if (ret || !inputs_lack_events(in)) /* who opens them once more hears it then */
		tell_faults(in, watcher);
	if (!ret && !watcher_progress(watcher, "aligning clocks", 1))
		ret = fail(err, -EINTR, "interrupted before anything was fused");
	if (!ret)
		ret = inputs_list_streams(in, watcher, err);
	if (ret)
		inputs_release(in);
	return ret;
}

int inputs_open(struct inputs *in, const struct sonde_inputs *told, enum inputs_within within,
		const struct sonde_watcher *watcher, struct error *err)
{
	*in = (struct inputs){.within = within};
	return open_all(in, told, watcher, err);
}

int inputs_open_lacking(struct inputs *in, const struct sonde_inputs *told,
			enum inputs_within within, const struct sonde_watcher *watcher,
			struct error *err)
{
	*in = (struct inputs){.within = within, .show_lacking = true};
	return open_all(in, told, watcher, err);
}

/* What takes time is to unmap the files. */
static void release_one(void *data, unsigned i)
{
	trace_release(((struct inputs *)data)->traces[i]);
}

void inputs_release(struct inputs *in)
{
	free(in->streams);
	topology_release(&in->topology);
	parallel(in->threads, in->nr_traces, NULL, release_one, in);
	free(in->traces);
	for (unsigned i = 0; i < in->nr_users; i++)
		trace_release(in->users[i]);
	free(in->users);
	free(in->origins);
	for (unsigned i = 0; i < in->nr_left_out; i++) {
		free(in->left_out[i].path);
		free(in->left_out[i].why);
	}
	free(in->left_out);
	for (unsigned i = 0; i < in->nr_runs; i++)
		rundir_release(&in->runs[i]);
	free(in->runs);
	memset(in, 0, sizeof(*in));
}
