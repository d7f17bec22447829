/* SPDX-License-Identifier: Apache-2.0 */
/* What changed from one run to another. */
#include "analysis/compare.h"
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Smaller than this in both runs, a share or a rate is not looked at. */
#define SHARE_MIN 0.001
#define RATE_MIN 1.0

struct pair {
	const struct measure *measure; /* either run's */
	struct series before, after;
	struct difference d;
};

struct comparison {
	struct measures before, after;
	struct pair *pairs; /* owned */
	unsigned nr;
	double *p; /* owned, per pair */
};

static bool matters(const struct pair *p)
{
	double least = p->measure->is_share ? SHARE_MIN : RATE_MIN;

	return p->before.mean >= least || p->after.mean >= least;
}

static void add_pair(struct comparison *c, const struct measure *of, const struct measure *before,
		     const struct measure *after)
{
	static const double none[COMPARE_SLICES];
	struct pair *p = &c->pairs[c->nr];

	p->measure = of;
	p->before = series_of(before ? before->values : none, COMPARE_SLICES);
	p->after = series_of(after ? after->values : none, COMPARE_SLICES);
	p->d = series_compare(&p->before, &p->after);
	c->p[c->nr] = p->d.p;
	c->nr += matters(p);
}

static int compare(struct comparison *c, struct error *err)
{
	size_t room = c->before.nr + c->after.nr + 1;

	c->pairs = calloc(room, sizeof(*c->pairs));
	c->p = calloc(room, sizeof(*c->p));
	if (!c->pairs || !c->p)
		return fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->before.nr; i++) {
		const struct measure *m = &c->before.list[i];

		add_pair(c, m, m, measures_find(&c->after, m));
	}
	for (size_t i = 0; i < c->after.nr; i++) {
		const struct measure *m = &c->after.list[i];

		if (!measures_find(&c->before, m))
			add_pair(c, m, NULL, m);
	}
	return stats_holm(c->p, c->nr) ? fail(err, -ENOMEM, "out of memory") : 0;
}

static int64_t scaled(const struct pair *p, double value)
{
	double by = p->measure->is_share ? 1e6 : 1e3;
	double v = value * by;

	if (!(v > -9e18 && v < 9e18))
		return 0;
	return llround(v);
}

static void add_rows(struct sonde_facts *out, const struct comparison *c)
{
	for (unsigned i = 0; i < c->nr; i++) {
		const struct pair *p = &c->pairs[i];
		char *machine = arena_strdup(&out->arena, p->measure->machine);
		char *what = arena_strdup(&out->arena, p->measure->what);
		int64_t change = scaled(p, p->d.change);

		out->no_memory |= !machine || !what;
		if (out->no_memory)
			return;
		facts_add(out, (union sonde_cell[]){
				       cell_str(machine),
				       cell_int(p->measure->cpu),
				       cell_str(what),
				       cell_str(p->measure->is_share ? "ppm" : "per 1000 s"),
				       cell_int(scaled(p, p->before.mean)),
				       cell_int(scaled(p, p->after.mean)),
				       cell_int(change),
				       cell_int(scaled(p, p->d.low)),
				       cell_int(scaled(p, p->d.high)),
				       cell_int(llround(c->p[i] * 1e6)),
				       cell_int(change < 0 ? -change : change),
			       });
	}
	facts_sort(out, "size");
}

static const struct sonde_column columns[] = {
	{"machine", "MACHINE", SONDE_COL_STRING, "whose"},
	{"cpu", "VCPU", SONDE_COL_INT, "its vCPU, -1: of the whole machine"},
	{"what", "WHAT", SONDE_COL_STRING, "what was measured"},
	{"unit", "UNIT", SONDE_COL_STRING,
	 "of all that follows: ppm of time, or events per 1000 s"},
	{"before", "BEFORE", SONDE_COL_SIGNED, "in the first run"},
	{"after", "AFTER", SONDE_COL_SIGNED, "in the second"},
	{"change", "CHANGE", SONDE_COL_SIGNED, "after - before"},
	{"low", "LOW", SONDE_COL_SIGNED, "the change is this at least, with a probability of 95%"},
	{"high", "HIGH", SONDE_COL_SIGNED, "and this at most"},
	{"chance", "CHANCE", SONDE_COL_PPM,
	 "probability that chance alone makes any of all measures look so different"},
	{"size", "SIZE", SONDE_COL_INT, "of the change"},
};

static const struct sonde_analysis comparison = {
	"compare", "What changed", "measures of two runs, each in 24 equal parts of its window",
	columns, ARRAY_SIZE(columns)};

int sonde_compare(struct sonde_facts **out, struct sonde_run *before, int64_t before_begin,
		  int64_t before_end, struct sonde_run *after, int64_t after_begin,
		  int64_t after_end, struct sonde_error *err)
{
	struct sonde_facts *f = calloc(1, sizeof(*f));
	struct comparison c = {0};
	struct error inner = {0};
	int ret;

	*out = NULL;
	if (!f)
		return run_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	f->analysis = &comparison;
	ret = measures_take(&c.before, before, before_begin, before_end, &inner);
	if (!ret)
		ret = measures_take(&c.after, after, after_begin, after_end, &inner);
	if (!ret)
		ret = compare(&c, &inner);
	if (!ret)
		add_rows(f, &c);
	if (!ret && f->no_memory)
		ret = fail(&inner, -ENOMEM, "out of memory");
	free(c.pairs);
	free(c.p);
	measures_release(&c.before);
	measures_release(&c.after);
	if (ret) {
		sonde_facts_free(f);
		return run_error(err, ret, &inner);
	}
	*out = f;
	return 0;
}
