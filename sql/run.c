/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/run.h"
#include "query/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const cost_names[COST_NR] = {
	[COST_ATTRIBUTES] = "attributes", [COST_INTERVALS] = "intervals",  [COST_EVENTS] = "events",
	[COST_ANALYSES] = "analyses",	  [COST_ANALYSED] = "analysed_ns",
};

const char *sql_cost_name(enum sql_cost cost)
{
	return cost_names[cost];
}

bool sql_run_goes_on(const struct sql_run *r)
{
	return !r->go_on || r->go_on(r->data);
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool index_machines(struct sql_run *r)
{
	for (int64_t row = 0; row < sonde_nr_machines(r->run); row++) {
		struct sonde_machine m;
		attr_t dir;

		sonde_machine_get(r->run, row, &m);
		dir = history_child(r->run->history, ATTR_ROOT, m.name);
		if (dir != ATTR_NONE && map_put(&r->machine_dirs, dir, (uint32_t)row))
			return false;
	}
	return true;
}

/* A CPU's attributes stand in one directory, wherever that is. */
static bool index_cpus(struct sql_run *r)
{
	for (int64_t row = 0; row < sonde_nr_cpus(r->run); row++) {
		const attr_t *attrs = r->run->cpu_attrs[row];

		for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
			if (attrs[i] == ATTR_NONE)
				continue;
			if (map_put(&r->cpu_dirs, history_parent(r->run->history, attrs[i]),
				    (uint32_t)row))
				return false;
			break;
		}
	}
	return true;
}

int sql_run_new(struct sql_run **out, struct sonde_run *run, struct error *err)
{
	struct sql_run *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r) {
		sonde_run_close(run);
		return fail(err, -ENOMEM, "out of memory");
	}
	r->run = run;
	r->users = 1;
	sonde_run_traced(run, &r->begin, &r->end);
	r->all_begin = sonde_run_begin(run);
	r->all_end = sonde_run_end(run);
	r->path = strdup(sonde_run_path(run));
	if (!r->path || !index_machines(r) || !index_cpus(r)) {
		sql_run_put(r);
		return fail(err, -ENOMEM, "out of memory");
	}
	*out = r;
	return 0;
}

int sql_run_open(struct sql_run **out, const char *path, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_run *run;
	int ret = sonde_run_open(&run, path, &why);

	*out = NULL;
	return ret ? fail(err, ret, "%s", why.text) : sql_run_new(out, run, err);
}

static void facts_free(struct sql_facts *f)
{
	sonde_facts_free(f->facts);
	free(f);
}

void sql_run_put(struct sql_run *r)
{
	if (!r || --r->users)
		return;
	for (unsigned i = 0; i < FACTS_KEPT && r->kept[i]; i++)
		facts_free(r->kept[i]);
	map_release(&r->cpu_dirs);
	map_release(&r->machine_dirs);
	sonde_run_close(r->run);
	free(r->path);
	free(r);
}

/* ---- facts --------------------------------------------------------------------------------- */

static bool is_kept(const struct sql_run *r, const struct sql_facts *f)
{
	for (unsigned i = 0; i < FACTS_KEPT; i++) {
		if (r->kept[i] == f)
			return true;
	}
	return false;
}

/* Puts @f first; what falls off the end goes when nobody reads it any more. */
static void keep_first(struct sql_run *r, struct sql_facts *f)
{
	struct sql_facts *last = f;

	for (unsigned i = 0; i < FACTS_KEPT; i++) {
		struct sql_facts *here = r->kept[i];

		r->kept[i] = last;
		last = here;
		if (!here || here == f)
			return;
	}
	if (!last->users)
		facts_free(last);
}

static struct sql_facts *find_kept(const struct sql_run *r, const struct sonde_analysis *analysis,
				   int64_t begin, int64_t end)
{
	for (unsigned i = 0; i < FACTS_KEPT && r->kept[i]; i++) {
		struct sql_facts *f = r->kept[i];

		if (sonde_facts_analysis(f->facts) == analysis && f->begin == begin &&
		    f->end == end)
			return f;
	}
	return NULL;
}

static int compute(struct sql_facts **out, struct sql_run *r, const struct sonde_analysis *analysis,
		   int64_t begin, int64_t end, struct error *err)
{
	struct sql_facts *f = calloc(1, sizeof(*f));
	struct sonde_error why = {0};
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->begin = begin;
	f->end = end;
	ret = sonde_facts_get(&f->facts, r->run, analysis->name, begin, end, &why);
	if (ret) {
		free(f);
		return fail(err, ret, "%s", why.text);
	}
	r->cost[COST_ANALYSES]++;
	r->cost[COST_ANALYSED] += (uint64_t)(end - begin);
	*out = f;
	return 0;
}

int sql_facts_get(struct sql_facts **out, struct sql_run *r, const struct sonde_analysis *analysis,
		  int64_t begin, int64_t end, struct error *err)
{
	struct sql_facts *f = find_kept(r, analysis, begin, end);
	int ret = f ? 0 : compute(&f, r, analysis, begin, end, err);

	if (ret)
		return ret;
	f->users++;
	keep_first(r, f);
	*out = f;
	return 0;
}

void sql_facts_put(struct sql_run *r, struct sql_facts *f)
{
	if (f && !--f->users && !is_kept(r, f))
		facts_free(f);
}
