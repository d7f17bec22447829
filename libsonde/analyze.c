/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way: traces, topology, merge, model, history. */
#include "query/query.h"
#include "base/replace.h"
#include "libsonde/inputs/inputs.h"
#include "libsonde/inputs/trace_mark.h"
#include "model/model.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS_PER_REPORT 256

static uint64_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Only a history may be overwritten: a slip of the hand must not cost a user's trace. */
static int check_output(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) || (S_ISREG(st.st_mode) && st.st_size == 0))
		return 0;
	if (S_ISDIR(st.st_mode))
		return fail(err, -EISDIR, "cannot write to %s: it is a directory", path);
	/* (Whoever opens a pipe waits for who writes to it.) */
	if (!S_ISREG(st.st_mode) || !history_probe(path))
		return fail(err, -EEXIST,
			    "%s exists and is no history: it is not overwritten; remove it or "
			    "choose another name",
			    path);
	return 0;
}

/* The lines of all clock models, so that a time stamp of a trace can be found in its history
 * ("tsc:N") without the trace: docs/formats/schema.md. */
static void write_ticks(struct history_writer *w, const struct topology *topo)
{
	static const struct column columns[] = {
		{"machine", COL_INT}, {"from", COL_INT}, {"at", COL_NS},
		{"mult", COL_INT},    {"bound", COL_NS},
	};
	int table = history_writer_table(w, "tick", columns, ARRAY_SIZE(columns));

	for (unsigned m = 0; m < topo->nr_machines; m++) {
		const struct clock_model *clock = &topo->machines[m].clock;

		for (unsigned i = 0; i < clock->nr_pieces; i++) {
			const struct clock_piece *p = &clock->pieces[i];
			int64_t row[] = {m, (int64_t)p->from, p->at_ns, (int64_t)p->mult,
					 p->bound_ns == CLOCK_NO_BOUND ? -1 : p->bound_ns};

			history_writer_row(w, table, row);
		}
	}
}

/* Traces that were given, but are not in the history. */
static void write_left_out(struct history_writer *w, const struct inputs *in)
{
	static const struct column columns[] = {
		{"name", COL_STRING}, {"path", COL_STRING}, {"reason", COL_STRING}};
	int table = history_writer_table(w, "left_out", columns, ARRAY_SIZE(columns));

	for (unsigned i = 0; i < in->nr_left_out; i++) {
		const struct inputs_left_out *l = &in->left_out[i];
		int64_t row[] = {history_writer_string(w, l->name, strlen(l->name)),
				 history_writer_string(w, l->path, strlen(l->path)),
				 history_writer_string(w, l->why, strlen(l->why))};

		history_writer_row(w, table, row);
	}
}

/* What happened on a CPU that has no number cannot be told. */
static int leave_out_unknown(struct inputs *in, const struct sonde_watcher *watcher,
			     struct error *err)
{
	unsigned kept = 0;
	bool has_l0 = false;

	for (unsigned i = 0; i < in->nr_streams; i++) {
		const struct stream *s = in->streams[i].stream;
		uint64_t len_bytes = 0;

		if (model_takes_cpu(s->cpu)) {
			has_l0 |= !in->streams[i].machine;
			in->streams[kept++] = in->streams[i];
			continue;
		}
		for (uint32_t p = 0; p < s->nr_packets; p++)
			len_bytes += s->packets[p].len_bytes;
		watcher_notice(watcher, "%s: its CPU is not known; %llu bytes are left out",
			       s->path, (unsigned long long)len_bytes);
		problems_add(&in->topology.problems,
			     "%s: its CPU is not known; %llu bytes are left out", s->path,
			     (unsigned long long)len_bytes);
	}
	in->nr_streams = kept;
	if (!has_l0)
		return fail(err, -ENODATA,
			    "no stream of %s says which CPU it is of: what the physical CPUs did "
			    "cannot be found out",
			    in->topology.machines[0].trace->path);
	return 0;
}

/* A history's times have an end in both directions: what lies beyond is left out, and counted. */
static void trim(struct run *run, uint64_t *left_out)
{
	unsigned nr = run->nr;

	for (; run->nr && run->times[0] < -HISTORY_TIME_MAX; run->nr--) {
		run->events++;
		run->times++;
	}
	while (run->nr && run->times[run->nr - 1] > HISTORY_TIME_MAX)
		run->nr--;
	*left_out += nr - run->nr;
}

static int tell_left_out(struct inputs *in, const struct sonde_analyze_result *result,
			 uint64_t left_out, struct error *err)
{
	if (!result->events)
		return left_out ? fail(err, -ERANGE,
				       "the times of the traces lie more than 146 years before or "
				       "after their clock's origin: is its offset damaged?")
				: fail(err, -ENODATA,
				       "the traces hold no event that says what a CPU does");
	if (left_out)
		problems_add(&in->topology.problems,
			     "%llu event%s left out, more than 146 years before or after the "
			     "clock's origin",
			     (unsigned long long)left_out, left_out == 1 ? " is" : "s are");
	return 0;
}

/* Without what stands for those that are lost. */
static uint64_t count_recorded(const struct run *run)
{
	uint64_t nr = 0;

	for (unsigned i = 0; i < run->nr; i++)
		nr += run->events[i].kind != EV_LOST;
	return nr;
}

/* What only reading it all has shown of the traces. */
struct shown {
	bool lacking; /* inputs_lack_events() */
	bool blocks;  /* guests send so little that the clock pass saw none of it */
	struct model_gaps gaps;
	unsigned nr_reads; /* in which gaps were found: what they hide may show others */
};

#define GAP_READS_MAX 3

static int fuse(struct inputs *in, struct merge *merge, struct model *model, struct shown *shown,
		const struct sonde_watcher *watcher, struct sonde_analyze_result *result,
		struct error *err)
{
	const uint32_t nr_gaps = shown->gaps.nr;
	uint64_t left_out = 0, nr;
	unsigned runs = 0;
	struct run run;

	while (merge_next(merge, &run)) {
		trim(&run, &left_out);
		if (unlikely(!run.nr))
			continue;
		model_feed(model, &in->streams[run.input], run.events, run.times, run.nr);
		if (!runs)
			result->begin = run.times[0];
		nr = count_recorded(&run);
		result->events += nr;
		if (in->streams[run.input].stream->trace->user_space)
			result->user_events += nr;
		result->end = run.times[run.nr - 1];
		if (unlikely(model_missed_blocks(model)) && in->within != WITHIN_EVERYWHERE) {
			shown->blocks = true;
			return -EAGAIN;
		}
		if (++runs % RUNS_PER_REPORT == 0 &&
		    !watcher_progress(watcher, "fusing", merge_progress(merge))) {
			result->interrupted = true;
			break;
		}
	}
	/* Now all has been read. */
	if (inputs_lack_events(in) && !result->interrupted)
		return -EAGAIN;
	if (shown->gaps.nr > nr_gaps && !result->interrupted && shown->nr_reads++ < GAP_READS_MAX)
		return -EAGAIN;
	return tell_left_out(in, result, left_out, err);
}

/* What made this history, and of which files. */
static void write_makers(struct model *model, const struct inputs *in)
{
	unsigned parts = 0;
	char text[32];

	model_meta(model, "version", sonde_version());
	/* Files that belong to a machine's trace beside the one that its row names. */
	for (unsigned i = 0; i < in->nr_traces; i++) {
		for (unsigned p = 1; p < in->traces[i]->nr_paths; p++) {
			snprintf(text, sizeof(text), "part%u", ++parts);
			model_meta(model, text, in->traces[i]->paths[p]);
		}
	}
}

static void late_meta(struct history_writer *w, const char *key, const char *value)
{
	int64_t cells[] = {history_writer_string(w, key, strlen(key)),
			   history_writer_string(w, value, strlen(value))};

	history_writer_row(w, history_writer_table_named(w, "meta"), cells);
}

/* So that events are read from these traces only. */
static void write_marks(struct history_writer *w, const struct inputs *in)
{
	for (unsigned i = 0; i < in->topology.nr_machines; i++) {
		const struct machine *m = &in->topology.machines[i];
		char key[TRACE_MARK_KEY], text[TRACE_MARK_TEXT];

		if (!m->trace)
			continue;
		trace_mark_key(m, key);
		trace_mark(m->trace, text);
		late_meta(w, key, text);
	}
}

/* Where and when this history was made: all that differs between two of the same traces, and the
 * last that is written, so that they are the same up to there, byte for byte. */
static void write_provenance(struct history_writer *w, const char *command_line)
{
	char text[32], directory[PATH_MAX];
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		late_meta(w, "created", text);
	if (command_line)
		late_meta(w, "command", command_line);
	/* Paths of traces are as they were given. */
	if (getcwd(directory, sizeof(directory)))
		late_meta(w, "directory", directory);
}

/* From a writer that is open to a history that is closed, whatever happens on the way. */
static int write_history(struct inputs *in, const struct sonde_inputs *told, struct shown *shown,
			 struct history_writer *w, const struct sonde_watcher *watcher,
			 struct sonde_analyze_result *result, struct error *err)
{
	struct model_listed listed = {0};
	struct model *model = NULL;
	struct merge *merge = NULL;
	int ret = model_open(&model, &in->topology, &shown->gaps, w, err);
	int closed;

	if (!ret) {
		write_makers(model, in);
		write_ticks(w, &in->topology);
		write_left_out(w, in);
	}
	if (!ret)
		ret = merge_open(&merge, in->streams, in->nr_streams, model_want(),
				 inputs_workers(told), err);
	if (!ret)
		ret = fuse(in, merge, model, shown, watcher, result, err);
	merge_close(merge); /* before the model writes what was lost: then it is final */
	if (model) {
		closed = model_close(model, result->end, &listed, ret ? NULL : err);
		ret = ret ? ret : closed;
		result->problems = listed.problems;
		result->notes = listed.notes;
	}
	history_writer_end(w, result->end);
	if (!ret) {
		write_marks(w, in);
		write_provenance(w, told->command_line);
	}
	closed = history_writer_close(w, result->end, ret ? NULL : err);
	return ret ? ret : closed;
}

static int analyze(struct inputs *in, const struct sonde_inputs *told, struct shown *shown,
		   const char *output, const struct sonde_watcher *watcher,
		   struct sonde_analyze_result *result, struct error *err)
{
	struct history_writer_options opt = {
		.threads = inputs_workers(told) ? 1 : 0,
		.ticks_are_ns = in->topology.ticks_are_ns,
		.wall_offset_ns = in->topology.wall_offset_ns,
		.wall_known = in->topology.wall_known,
	};
	struct history_writer *w;
	int ret = history_writer_open(&w, output, &opt, err);

	if (ret)
		return ret;
	ret = write_history(in, told, shown, w, watcher, result, err);
	result->traces = in->nr_traces;
	for (unsigned i = 0; i < in->topology.nr_machines; i++)
		result->machines += in->topology.machines[i].trace != NULL;
	result->left_out = in->nr_left_out;
	result->ticks_are_ns = in->topology.ticks_are_ns;
	result->input_bytes = in->len_bytes;
	result->output_bytes = file_size(output);
	return ret;
}

/* A run that fails leaves no file, and leaves the one that stood there. */
static int analyze_into(struct inputs *in, const struct sonde_inputs *told, struct shown *shown,
			const char *output, const struct sonde_watcher *watcher,
			struct sonde_analyze_result *result, struct error *err)
{
	struct replace place;
	int ret = replace_begin(&place, output, err);
	int placed;

	if (!ret)
		ret = check_output(place.write_to, err);
	if (ret)
		return ret;
	ret = analyze(in, told, shown, place.write_to, watcher, result, err);
	placed = replace_end(&place, !ret, ret ? NULL : err);
	return ret ? ret : placed;
}

/* -EAGAIN: more was shown. */
static int analyze_as(const struct sonde_inputs *told, const char *output, struct shown *shown,
		      const struct sonde_watcher *watcher, struct sonde_analyze_result *result,
		      struct error *err)
{
	const bool lacking = shown->lacking, blocks = shown->blocks;
	enum inputs_within within = blocks ? WITHIN_EVERYWHERE : WITHIN_WHERE_SEEN;
	struct inputs in;
	int ret = (lacking ? inputs_open_lacking : inputs_open)(&in, told, within, watcher, err);

	memset(result, 0, sizeof(*result));
	if (ret)
		return ret;
	ret = inputs_lack_events(&in) ? -EAGAIN : leave_out_unknown(&in, watcher, err);
	if (!ret)
		ret = analyze_into(&in, told, shown, output, watcher, result, err);
	if (ret == -EAGAIN && inputs_lack_events(&in))
		shown->lacking = true;
	if (shown->lacking != lacking || shown->blocks != blocks)
		shown->gaps.nr = 0; /* of machines that may have other numbers */
	inputs_release(&in);
	return ret;
}

static int analyze_traces(const struct sonde_inputs *told, const char *output,
			  const struct sonde_watcher *watcher, struct sonde_analyze_result *result,
			  struct sonde_error *err)
{
	struct shown shown = {0};
	struct error inner = {0};
	int ret = check_output(output, &inner);

	memset(result, 0, sizeof(*result));
	while (!ret) {
		ret = analyze_as(told, output, &shown, watcher, result, &inner);
		if (ret != -EAGAIN)
			break;
		inner = (struct error){0};
		ret = 0;
	}
	free(shown.gaps.list);
	return query_error(err, ret, &inner);
}

int sonde_analyze_sized(const struct sonde_inputs *told, size_t told_bytes, const char *output,
			const struct sonde_watcher *watcher, size_t watcher_bytes,
			struct sonde_analyze_result *result, size_t result_bytes,
			struct sonde_error *err)
{
	struct sonde_inputs inputs;
	struct sonde_watcher own_watcher = {0};
	struct sonde_analyze_result own;
	int ret;

	query_give(&inputs, sizeof(inputs), told, told_bytes);
	if (watcher)
		query_give(&own_watcher, sizeof(own_watcher), watcher, watcher_bytes);
	ret = analyze_traces(&inputs, output, watcher ? &own_watcher : NULL, &own, err);
	if (result)
		query_give(result, result_bytes, &own, sizeof(own));
	return ret;
}
