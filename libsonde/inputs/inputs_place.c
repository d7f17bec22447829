/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "libsonde/inputs/inputs_graft.h"
#include "libsonde/inputs/inputs_given.h"

struct placing {
	struct inputs *in;
	const struct sonde_inputs *told;
	struct problems *problems;
	const struct sonde_watcher *watcher;
	struct topology_input *list; /* owned: those that are to be placed first */
	unsigned nr;
	struct arena names;
	struct seen {
		const struct trace *trace;
		struct clock_model to_l0; /* owned */
	} * seen;			  /* owned, [in->nr_traces]: apart, but L0 saw them run */
	unsigned nr_seen;
	bool every_tree; /* none is left out */
};

static bool topology_progress(double done, void *data)
{
	return watcher_progress(data, "aligning clocks", done);
}

/* ---- leaving out ----------------------------------------------------------------------------- */

/* The reason without what stands beside it in every list: the path, and that it is left out. */
static char *bare_reason(const char *why, const char *path)
{
	static const char *const ends[] = {"; it is left out", "; they are left out"};
	size_t len = strlen(path);
	char *reason = strdup(strncmp(why, path, len) || why[len] != ' ' ? why : why + len + 1);

	for (size_t i = 0; i < ARRAY_SIZE(ends) && reason; i++) {
		char *end = strstr(reason, ends[i]);

		if (end && !end[strlen(ends[i])])
			*end = '\0';
	}
	return reason;
}

int inputs_note_left_out(struct inputs *in, const char *name, const char *path, const char *why)
{
	struct inputs_left_out *more =
		reallocarray(in->left_out, in->nr_left_out + 1, sizeof(*more));
	struct inputs_left_out *one;

	if (!more)
		return -ENOMEM;
	in->left_out = more;
	one = &more[in->nr_left_out];
	*one = (struct inputs_left_out){.path = strdup(path), .why = bare_reason(why, path)};
	snprintf(one->name, sizeof(one->name), "%s", name);
	if (!one->path || !one->why) {
		free(one->path);
		free(one->why);
		return -ENOMEM;
	}
	in->nr_left_out++;
	return 0;
}

static void drop_trace(struct inputs *in, struct trace *t)
{
	unsigned kept = 0;

	for (unsigned o = 0; o < in->nr_origins; o++) {
		if (in->origins[o].trace == t)
			in->origins[o].trace = NULL;
	}
	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (in->traces[i] != t)
			in->traces[kept++] = in->traces[i];
	}
	in->nr_traces = kept;
	trace_release(t);
}

/* Its damage may be why it has no place. */
static void keep_faults(struct placing *p, const struct trace *t)
{
	bool told = false;

	for (unsigned i = 0; i < t->problems.nr; i++) {
		const struct problem *fault = &t->problems.list[i];
		char text[512];

		if (fault->note)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", strstr(fault->text, t->path) ? "" : t->path,
			 strstr(fault->text, t->path) ? "" : ": ", fault->text);
		if (!told)
			watcher_notice(p->watcher, "%s", text);
		told = true;
		problems_add(p->problems, "%s", text);
	}
}

static int leave_out(struct placing *p, struct trace *t, const struct topology_apart *a)
{
	int ret = inputs_note_left_out(p->in, a->name, t->path, a->why);

	if (ret)
		return ret;
	watcher_notice(p->watcher, "%s (%s) is left out: %s", a->name, t->path, a->why);
	problems_add(p->problems, "%s is left out: %s", a->name, a->why);
	keep_faults(p, t);
	drop_trace(p->in, t);
	return 0;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Each keeps the name that it has among all. */
static int pin_names(struct placing *p, const struct topology_apart *apart, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		p->list[i].guessed |= !p->list[i].name;
		p->list[i].name = arena_strndup(&p->names, apart[i].name, strlen(apart[i].name));
		if (!p->list[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* What L0 saw of one that is apart, while L0 is the run's own. */
static void keep_seen(struct placing *p, const struct trace *t, struct topology_apart *apart)
{
	if (apart->to_l0.nr_pieces && !p->in->topology.nr_machines &&
	    p->nr_seen < p->in->nr_traces) {
		p->seen[p->nr_seen++] = (struct seen){t, apart->to_l0};
		memset(&apart->to_l0, 0, sizeof(apart->to_l0));
	}
}

/* Its relation to L0's clock, which becomes the caller's. */
static struct clock_model take_seen(struct placing *p, const struct trace *t)
{
	struct clock_model found = {0};

	for (unsigned i = 0; i < p->nr_seen; i++) {
		if (p->seen[i].trace != t)
			continue;
		found = p->seen[i].to_l0;
		memset(&p->seen[i].to_l0, 0, sizeof(found));
	}
	return found;
}

/* Of the first *@nr of the list, those that are apart come behind the rest, which is *@nr then, if
 * they are wanted, or L0 saw them run; else they are left out. */
static int set_apart(struct placing *p, struct topology_apart *apart, unsigned *nr)
{
	struct topology_input *behind = calloc(*nr, sizeof(*behind));
	unsigned kept = 0, moved = 0;
	int ret = behind ? 0 : -ENOMEM;

	if (!ret && p->every_tree)
		ret = pin_names(p, apart, *nr);
	for (unsigned i = 0; i < *nr && !ret; i++) {
		if (!apart[i].apart) {
			p->list[kept++] = p->list[i];
		} else if (p->every_tree || apart[i].to_l0.nr_pieces) {
			keep_seen(p, p->list[i].trace, &apart[i]);
			behind[moved++] = p->list[i];
		} else {
			ret = leave_out(p, p->list[i].trace, &apart[i]);
		}
	}
	if (!ret) {
		memcpy(p->list + kept, behind, moved * sizeof(*behind));
		memmove(p->list + kept + moved, p->list + *nr, (p->nr - *nr) * sizeof(*behind));
		p->nr -= *nr - kept - moved;
	}
	free(behind);
	*nr = kept;
	return ret;
}

/* The run's tree among what is in the list, and how many of it are in that: *@nr. */
static int find_tree(struct placing *p, struct topology *out, unsigned *nr, struct error *err)
{
	const struct topology_options opt = {
		.threads = p->told->threads,
		.tsc_khz = p->told->tsc_khz,
		.progress = topology_progress,
		.progress_data = (void *)(uintptr_t)p->watcher,
	};
	int ret;

	*nr = p->nr;
	while ((ret = topology_find(out, p->list, *nr, &opt, err)) == -EXDEV) {
		ret = set_apart(p, out->apart, nr);
		topology_release(out);
		if (ret)
			return fail(err, ret, "out of memory");
		if (err)
			*err = (struct error){0};
	}
	if (ret)
		topology_release(out);
	return ret;
}

/* The VM of L0 through which its recorder reached it; "": not known. */
static const char *host_of(const struct placing *p, const struct topology_input *of)
{
	const struct rundir *run = of->recording ? &p->in->runs[of->recording - 1] : NULL;

	for (unsigned i = 0; run && of->parent && i < run->nr; i++) {
		const struct rundir_machine *m = &run->machines[i];

		if (m->parent && !strcmp(m->name, of->parent) &&
		    !strcmp(m->parent, p->in->topology.machines[0].name))
			return m->name;
	}
	return "";
}

/* What is left of the list, tree by tree. */
static int add_trees(struct placing *p, unsigned done, struct error *err)
{
	struct topology_input *all = p->list;
	unsigned nr_all = p->nr;
	int ret = 0;

	for (unsigned nr; done < nr_all && !ret; done += nr) {
		struct topology tree;

		p->list = all + done;
		/* Of those that L0 saw run, each alone: what they are to each other is not
		 * known. */
		p->nr = p->every_tree ? nr_all - done : 1;
		ret = find_tree(p, &tree, &nr, err);
		if (!ret) {
			struct clock_model to_l0 = take_seen(p, tree.machines[0].trace);

			ret = inputs_graft(&p->in->topology, &tree, &to_l0,
					   p->every_tree ? NULL : host_of(p, p->list), err);
			clock_model_release(&to_l0);
		}
		topology_release(&tree);
	}
	p->list = all;
	p->nr = nr_all;
	if (ret)
		topology_release(&p->in->topology);
	return ret;
}

int inputs_place(struct inputs *in, const struct sonde_inputs *told, struct problems *problems,
		 const struct sonde_watcher *watcher, struct error *err)
{
	struct placing p = {.in = in,
			    .told = told,
			    .problems = problems,
			    .watcher = watcher,
			    .nr = in->nr_traces,
			    .every_tree = in->every_tree};
	unsigned nr = 0;
	int ret;

	p.list = calloc(p.nr + 1, sizeof(*p.list));
	p.seen = calloc(p.nr + 1, sizeof(*p.seen));
	memset(&in->topology, 0, sizeof(in->topology));
	for (unsigned i = 0; i < p.nr && p.list; i++)
		p.list[i].trace = in->traces[i];
	ret = p.list && p.seen ? inputs_apply_told(in, told, p.list, &p.names, err)
			       : fail(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = find_tree(&p, &in->topology, &nr, err);
	if (!ret)
		ret = add_trees(&p, nr, err);
	arena_release(&p.names);
	for (unsigned i = 0; i < p.nr_seen; i++)
		clock_model_release(&p.seen[i].to_l0);
	free(p.seen);
	free(p.list);
	return ret;
}
