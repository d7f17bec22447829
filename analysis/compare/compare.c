/* SPDX-License-Identifier: Apache-2.0 */
/* What changed from one history to another. */
#include "analysis/compare/compare.h"
#include "analysis/compare/places.h"
#include "base/figure.h"
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smaller than this in both histories, a share or a rate is not looked at. */
#define SHARE_MIN 0.001
#define RATE_MIN 1.0

struct pair {
	const struct measure *measure; /* either history's */
	struct series before, after;
	const char *absent; /* "before" or "after": that history has no such machine or vCPU; "" */
	unsigned known[2];  /* slices, of either history */
	bool told;	    /* what changed can be told */
	bool hidden;	    /* ... and may be in what is unknown of either */
	struct difference d;
};

struct comparison {
	struct measures before, after;
	const struct match *match;
	struct places places;
	bool same_unit, is_ns;
	unsigned nr_cpus;   /* physical ones of the second history */
	struct pair *pairs; /* owned */
	unsigned nr;
	double *p; /* owned, of those pairs that are told, in their order */
	unsigned nr_told;
};

static bool matters(const struct pair *p)
{
	double least = p->measure->is_share ? SHARE_MIN : RATE_MIN;

	return p->before.mean >= least || p->after.mean >= least;
}

/* Of the values in those slices that count. */
static struct series known_series(const struct measure *m, uint32_t slices, unsigned *nr)
{
	double values[COMPARE_SLICES];

	*nr = 0;
	for (unsigned i = 0; i < COMPARE_SLICES; i++) {
		if (slices >> i & 1)
			values[(*nr)++] = m ? m->values[i] : 0;
	}
	return *nr > 1 ? series_of(values, *nr) : (struct series){.nr = *nr};
}

/* In the busiest slice of either: what is not known is taken to be no more. */
static double most_of(const struct measure *before, const struct measure *after)
{
	double most = 0;

	for (unsigned i = 0; i < COMPARE_SLICES; i++) {
		if (before && before->values[i] > most)
			most = before->values[i];
		if (after && after->values[i] > most)
			most = after->values[i];
	}
	return most;
}

/* Whether what is unknown can make both means the same: slices are no sample drawn by chance, so
 * those that are known need not be like the others. */
static bool may_be_hidden(const struct pair *p, double most)
{
	double low[2], high[2];

	for (unsigned i = 0; i < 2; i++) {
		double known = (double)p->known[i] / COMPARE_SLICES;

		low[i] = known * (i ? p->after.mean : p->before.mean);
		high[i] = low[i] + (1 - known + known * KNOWN_LACKS) * most;
	}
	return p->known[0] + p->known[1] < 2 * COMPARE_SLICES && p->before.mean != p->after.mean &&
	       low[0] <= high[1] && low[1] <= high[0];
}

static enum measure_needs needs_of(const struct comparison *c, const struct measure *m)
{
	if (m->or_state && !known_slices(&c->before, m, m->needs) &&
	    !known_slices(&c->after, m, m->needs))
		return NEEDS_STATE;
	return m->needs;
}

static unsigned nr_cpus_of(const struct sonde_history *history, int64_t machine)
{
	struct sonde_cpu cpu;
	unsigned nr = 0;

	for (int64_t row = 0; !sonde_cpu_get(history, row, &cpu); row++)
		nr += cpu.machine == machine;
	return nr;
}

static bool has(const struct sonde_history *history, int64_t machine, int cpu)
{
	return machine >= 0 && (cpu < 0 || sonde_find_cpu(history, (unsigned)machine, cpu) >= 0);
}

/* The history that has no such machine or vCPU: there its values are not 0, there are none. */
static const char *absent_in(const struct match *m, const struct place *at, int cpu)
{
	if (!has(m->before, at->before, cpu))
		return "before";
	return has(m->after, at->after, cpu) ? "" : "after";
}

static void add_pair(struct comparison *c, const struct measure *of, const struct measure *before,
		     const struct measure *after)
{
	const struct place *at = places_find(&c->places, of->machine);
	struct pair *p = &c->pairs[c->nr];
	enum measure_needs needs = needs_of(c, of);

	*p = (struct pair){.measure = of, .absent = absent_in(c->match, at, of->cpu)};
	p->before = known_series(before, known_slices(&c->before, of, needs), &p->known[0]);
	p->after = known_series(after, known_slices(&c->after, of, needs), &p->known[1]);
	p->told = !*p->absent && p->known[0] >= COMPARE_SLICES_MIN &&
		  p->known[1] >= COMPARE_SLICES_MIN && (of->is_share || c->same_unit) &&
		  (!of->by || places_find(&c->places, of->by)->same_view) && at->same_place &&
		  (of->cpu >= 0 || at->is_whole);
	if (*p->absent)
		p->known[!strcmp(p->absent, "after")] = 0;
	if (p->told && !matters(p))
		return;
	if (p->told) {
		p->d = series_compare(&p->before, &p->after);
		p->hidden = may_be_hidden(p, most_of(before, after));
		c->p[c->nr_told++] = p->d.p;
	}
	c->nr++;
}

static int compare(struct comparison *c, struct error *err)
{
	size_t room = c->before.nr + c->after.nr + 1;

	c->pairs = calloc(room, sizeof(*c->pairs));
	c->p = calloc(room, sizeof(*c->p));
	if (!c->pairs || !c->p || places_make(&c->places, c->match))
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
	return stats_holm(c->p, c->nr_told) ? fail(err, -ENOMEM, "out of memory") : 0;
}

static int64_t scaled(const struct pair *p, double value)
{
	double by = p->measure->is_share ? 1e6 : 1e3;
	double v = value * by;

	return fabs(v) < 9e18 ? figure_round(v) : 0;
}

/* Few and scattered values leave limits beyond what is possible: less than nothing afterwards, or
 * more than all. */
static int64_t limit(const struct comparison *c, const struct pair *p, double value)
{
	double least = -p->before.mean;
	double most = (p->measure->in_cpus ? c->nr_cpus : 1) - p->before.mean;

	if (!p->told)
		return 0;
	if (value < least)
		value = least;
	if (p->measure->is_share && value > most)
		value = most > p->d.change ? most : p->d.change;
	return scaled(p, value);
}

static const char *unit_of(const struct comparison *c, const struct measure *m)
{
	if (m->is_share)
		return "ppm";
	if (!c->same_unit)
		return "per 1000 s or 10^12 cycles";
	return c->is_ns ? "per 1000 s" : "per 10^12 cycles";
}

static void add_rows(struct sonde_rows *out, const struct comparison *c)
{
	unsigned told = 0;

	for (unsigned i = 0; i < c->nr; i++) {
		const struct pair *p = &c->pairs[i];
		char *machine = arena_strdup(&out->arena, p->measure->machine);
		char *what = arena_strdup(&out->arena, p->measure->what);
		int64_t change = scaled(p, p->d.change);

		out->no_memory |= !machine || !what;
		if (out->no_memory)
			return;
		rows_add(out, (union sonde_cell[]){
				      cell_str(machine),
				      cell_int(p->measure->cpu),
				      cell_str(what),
				      cell_str(unit_of(c, p->measure)),
				      cell_int(scaled(p, p->before.mean)),
				      cell_int(scaled(p, p->after.mean)),
				      cell_int(change),
				      cell_int(limit(c, p, p->d.low)),
				      cell_int(limit(c, p, p->d.high)),
				      cell_int(p->told ? figure_round(c->p[told] * 1e6) : -1),
				      cell_int(change < 0 ? -change : change),
				      cell_int(p->known[0]),
				      cell_int(p->known[1]),
				      cell_str(p->absent),
				      cell_int(p->hidden),
			      });
		told += p->told;
	}
	rows_sort(out, "size");
}

static const struct sonde_column columns[] = {
	{"machine", "MACHINE", SONDE_COL_STRING, "whose"},
	{"cpu", "VCPU", SONDE_COL_INT, "its vCPU, -1: of the whole machine"},
	{"what", "WHAT", SONDE_COL_STRING, "what was measured"},
	{"unit", "UNIT", SONDE_COL_STRING,
	 "of all that follows: ppm of time, or events per 1000 s (where the unit is cycles: "
	 "per "
	 "10^12 of them)"},
	{"before", "BEFORE", SONDE_COL_SIGNED, "in the first history"},
	{"after", "AFTER", SONDE_COL_SIGNED, "in the second"},
	{"change", "CHANGE", SONDE_COL_SIGNED, "after - before"},
	{"low", "LOW", SONDE_COL_SIGNED, "the change is this at least, with a probability of 95%"},
	{"high", "HIGH", SONDE_COL_SIGNED, "and this at most"},
	{"chance", "CHANCE", SONDE_COL_PPM,
	 "probability that chance alone makes any of all measures look so different; -1: what "
	 "changed is not known, and change, low and high are 0"},
	{"size", "SIZE", SONDE_COL_INT, "of the change"},
	{"known_before", "KNOWN BEFORE", SONDE_COL_INT,
	 "parts of the window of the first history, of 24, in which it is known; the others do not count"},
	{"known_after", "KNOWN AFTER", SONDE_COL_INT, "of the second's"},
	{"absent", "ABSENT", SONDE_COL_STRING,
	 "before or after: that history has no such machine or vCPU, and its value is none"},
	{"hidden", "HIDDEN", SONDE_COL_BOOL,
	 "yes: it is not known that they differ, however small the chance is: both are the same if "
	 "there was enough in parts that are not known, and in none of them more than in the busiest "
	 "of the others"},
};

static const struct sonde_table comparison = {
	"compare", "What changed",
	"measures of two histories, each in 24 equal parts of its window", columns,
	ARRAY_SIZE(columns)};

int compare_windows(struct sonde_rows **out, const struct compare_window *before,
		    const struct compare_window *after, const struct match *match,
		    struct error *err)
{
	struct sonde_rows *f = calloc(1, sizeof(*f));
	struct comparison c = {.match = match};
	int ret;

	*out = NULL;
	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->table = &comparison;
	c.nr_cpus = nr_cpus_of(after->history, 0);
	c.is_ns = sonde_history_ticks_are_ns(after->history);
	c.same_unit = c.is_ns == sonde_history_ticks_are_ns(before->history);
	ret = measures_take(&c.before, before->history, NULL, before->begin, before->end, err);
	if (!ret)
		ret = measures_take(&c.after, after->history, match->names, after->begin,
				    after->end, err);
	if (!ret)
		ret = compare(&c, err);
	if (!ret)
		add_rows(f, &c);
	if (!ret && f->no_memory)
		ret = fail(err, -ENOMEM, "out of memory");
	free(c.pairs);
	free(c.p);
	places_release(&c.places);
	measures_release(&c.before);
	measures_release(&c.after);
	if (ret)
		sonde_rows_free(f);
	else
		*out = f;
	return ret;
}

int sonde_compare(struct sonde_rows **out, struct sonde_history *before, int64_t before_begin,
		  int64_t before_end, struct sonde_history *after, int64_t after_begin,
		  int64_t after_end, struct sonde_error *err)
{
	const struct compare_window windows[2] = {{before, before_begin, before_end},
						  {after, after_begin, after_end}};
	struct error inner = {0};
	struct match match;
	int ret = match_make(&match, before, after, NULL, 0, &inner);

	*out = NULL;
	if (ret)
		return query_error(err, ret, &inner);
	query_begin(before, "compare");
	query_begin(after, "compare");
	ret = compare_windows(out, &windows[0], &windows[1], &match, &inner);
	ret = query_end(before, ret, &inner);
	ret = query_end(after, ret, &inner);
	match_release(&match);
	if (ret) {
		sonde_rows_free(*out);
		*out = NULL;
	}
	return query_error(err, ret, &inner);
}
