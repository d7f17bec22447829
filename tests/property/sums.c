/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sums: no row has more than all rows of the whole history together that it may stand
 * for. */
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

static bool is_shorter(const struct sheet *s, const struct grid *f, size_t row, size_t cut)
{
	return s->is_spread && cell(f, row, s->from).i < cell(&s->cut, cut, s->from).i;
}

/* With those that took longer, in a table of how they spread. */
static int64_t summed(const struct sheet *s, size_t row, int column)
{
	int64_t sum = cell(&s->cut, row, column).i;

	for (size_t i = 0; s->is_spread && i < s->cut.nr; i++) {
		if (i != row && same_keys(s, i, row) && !is_shorter(s, &s->cut, i, row))
			sum += cell(&s->cut, i, column).i;
	}
	return sum;
}

/* The machine whose vCPU a row of the whole history is about; -1 it is not known. */
static int64_t machine_of(const struct pair *p, const struct grid *g, size_t row, int vcpu)
{
	int64_t cpu = cell(g, row, vcpu).i;

	return cpu < 0 ? -1 : (int64_t)p->whole.cpus[cpu].machine;
}

/* Rows of a list of the whole history, of a VM and cause, in which a thread slept. */
static int64_t count_of(const struct pair *p, const struct grid *f, int64_t vm, const char *cause)
{
	int of = grid_column(f, "cause"), vcpu = grid_column(f, "vcpu");
	int polled = grid_column(f, "polled");
	int64_t nr = 0;

	for (size_t i = 0; i < f->nr; i++) {
		nr += machine_fits(p, vm, machine_of(p, f, i, vcpu)) &&
		      causes_fit(cause, cell(f, i, of).s) && (polled < 0 || !cell(f, i, polled).i);
	}
	return nr;
}

/*
 * Wake-ups in which a guest lost events are not told; without its trace they are, until the guest
 * goes on.  And of one that was awake still the guest tells what woke it again.  There are never
 * more than waits, of that VM and cause.
 */
static int64_t untold_wakeups(const struct pair *p, const struct sheet *s, size_t row)
{
	int64_t vm = cell(&s->cut, row, 0).i, nr;
	const char *cause;

	if (strcmp(s->of->name, "wakeup") != 0 && strcmp(s->of->name, "wakeup_histogram") != 0)
		return 0;
	cause = cell(&s->cut, row, grid_column(&s->cut, "cause")).s;
	nr = count_of(p, &s->waits, vm, cause) - count_of(p, &s->wakeups, vm, cause);
	return nr > 0 ? nr : 0;
}

/* Of a row's time, what is known: time of which less is known may have been another row's. */
static int64_t known_of(const struct sheet *s, size_t row, int column)
{
	static const char *const less[] = {"unknown", "guest"};
	int64_t value = cell(&s->cut, row, column).i;

	for (size_t i = 0; i < 2 && !strcmp(s->of->columns[column].name, "total"); i++) {
		int at = grid_column(&s->cut, less[i]);

		if (at >= 0 && s->of->columns[at].type == SONDE_COL_NS)
			value -= cell(&s->cut, row, at).i;
	}
	return value;
}

/* Of several rows of the whole history. */
struct limits {
	int64_t sums[COLUMNS_MAX], most[COLUMNS_MAX];
	int64_t nr;
};

static void add_row(const struct sheet *s, size_t row, struct limits *out)
{
	out->nr++;
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		int64_t value;

		if (s->rules[c] != RULE_SUM && s->rules[c] != RULE_EXTREME)
			continue;
		value = cell(&s->whole, row, c).i;
		out->sums[c] += value > 0 ? value : 0;
		out->most[c] = value > out->most[c] ? value : out->most[c];
	}
}

static int64_t limit_of(const struct sheet *s, const struct limits *l, int column)
{
	return s->rules[column] == RULE_SUM ? l->sums[column] : l->most[column];
}

/* In a table of the whole history, of all exits of that machine's code for that reason. */
static void add_exits(const struct pair *p, const struct sheet *s, size_t row, const struct grid *g,
		      const char *machine, struct limits *out)
{
	int of = grid_column(g, machine), why = grid_column(g, "reason");
	int64_t reason = cell(&s->cut, row, grid_column(&s->cut, "reason")).i;

	for (size_t i = 0; i < g->nr; i++) {
		if (cell(g, i, why).i != reason ||
		    !machine_fits(p, cell(&s->cut, row, 0).i, cell(g, i, of).i))
			continue;
		for (int c = 0; c < (int)s->of->nr_columns; c++) {
			int at = s->rules[c] == RULE_KEY ? -1
							 : grid_column(g, s->of->columns[c].name);
			int64_t value = at < 0 ? 0 : cell(g, i, at).i;

			out->sums[c] += value;
			out->most[c] = value > out->most[c] ? value : out->most[c];
		}
	}
}

/* Exits of which the whole history does not know the guest's thread have no row: all less those
 * that have one.  None of these is longer than they are together. */
static void add_exits_of_nobody(const struct pair *p, const struct sheet *s, size_t row,
				struct limits *more)
{
	struct limits all = {0}, told = {0};
	int total = grid_column(&s->cut, "total");
	int64_t most;

	add_exits(p, s, row, &s->exits, "from", &all);
	add_exits(p, s, row, &s->whole, "machine", &told);
	most = all.sums[total] - told.sums[total];
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		int64_t longest = all.most[c] < most ? all.most[c] : most;

		more->sums[c] += all.sums[c] - told.sums[c];
		more->most[c] = longest > more->most[c] ? longest : more->most[c];
	}
}

/* What a thread that is not known to be a vCPU's does is its own: see context_fits().  What is told
 * as its hypervisor's is not told twice. */
static int64_t told_as_own(const struct sheet *s, size_t row, const struct limits *l, int column)
{
	const char *name = s->of->columns[column].name;
	int hypervisor = grid_column(&s->whole, "hypervisor");
	int64_t rest;

	if (hypervisor < 0 || (strcmp(name, "syscall") && strcmp(name, "user")))
		return 0;
	rest = l->sums[hypervisor] - cell(&s->cut, row, hypervisor).i;
	return rest > 0 ? rest : 0;
}

/* Between the readings of a guest's own count, which may be others than those of the whole history:
 * what that has of the row's time. */
static int64_t stolen(const struct pair *p, const struct sheet *s, size_t row, int column)
{
	const struct grid *all = &s->preemptions;
	int at = grid_column(all, "at"), length = grid_column(all, "length");
	int vcpu = grid_column(all, "vcpu"), why = grid_column(all, "why");
	int64_t from = time_in_whole(p, cell(&s->cut, row, s->from).i), sum = 0;
	int64_t to = from + cell(&s->cut, row, grid_column(&s->cut, "length")).i;
	const char *name = s->of->columns[column].name;

	for (size_t i = 0; i < all->nr; i++) {
		int64_t begin = cell(all, i, at).i, end = begin + cell(all, i, length).i;

		begin = begin > from ? begin : from;
		end = end < to ? end : to;
		if (begin < end && cpu_fits(p, cell(&s->cut, row, 0).i, cell(all, i, vcpu).i) &&
		    (!strcmp(name, "steal") || !strcmp(name, cell(all, i, why).s)))
			sum += end - begin;
	}
	return sum;
}

/* Without the trace of the VM that the guest is in, the longest of its wake-ups is one all the
 * same, as that VM's host saw it. */
static bool longest_is_from_outside(const struct pair *p, const struct sheet *s, size_t row,
				    int64_t length)
{
	int64_t machine = cell(&s->cut, row, 0).i;

	return lacks_host_trace(p, machine) &&
	       is_wakeup_from_outside(
		       p, s, machine, cell(&s->cut, row, grid_column(&s->cut, "cause")).s,
		       cell(&s->cut, row, grid_column(&s->cut, "longest_at")).i, length);
}

/*
 * The guest's own trace, where it is there, may not tell of the longest one, or tell of it as a
 * wake-up for something else: see untold_wakeups().  Without it that one ends a wait all the same,
 * of that VM and cause.
 */
static bool longest_ends_a_wait(const struct pair *p, const struct sheet *s, size_t row,
				int64_t length)
{
	const struct grid *waits = &s->waits;
	int at = grid_column(waits, "at"), until = grid_column(waits, "until");
	int of = grid_column(waits, "cause"), vcpu = grid_column(waits, "vcpu");
	const char *cause = cell(&s->cut, row, grid_column(&s->cut, "cause")).s;
	int64_t begin = cell(&s->cut, row, grid_column(&s->cut, "longest_at")).i;
	int64_t from = time_in_whole(p, begin), to = time_in_whole(p, begin + length);

	for (size_t i = 0; i < waits->nr; i++) {
		if (cell(waits, i, at).i <= from + s->slack &&
		    llabs(cell(waits, i, until).i - to) <= s->slack &&
		    machine_fits(p, cell(&s->cut, row, 0).i, machine_of(p, waits, i, vcpu)) &&
		    causes_fit(cause, cell(waits, i, of).s))
			return true;
	}
	return false;
}

/* What the row is taken to say more, if that is the lie. */
static int64_t lie_of(const struct pair *p, const struct sheet *s, size_t row, int column)
{
	bool extreme = s->rules[column] == RULE_EXTREME;

	switch (p->lie) {
	case LIE_WAITS:
		return extreme && s->waits.of && !p->cut.machines[cell(&s->cut, row, 0).i].traced
			       ? LATE_NS
			       : 0;
	case LIE_EXITS:
		return !strcmp(s->of->columns[column].name, "exits") &&
				       lacks_host_trace(p, cell(&s->cut, row, 0).i)
			       ? cell(&s->cut, row, column).i
			       : 0;
	default:
		return 0;
	}
}

/* All rows of the whole history that the row may stand for, and what else it may have. */
struct bounds {
	struct limits limits, more, threads;
	bool joined;
	int64_t untold;
};

static void find_bounds(const struct pair *p, struct sheet *s, size_t row, struct bounds *b)
{
	*b = (struct bounds){
		.joined = is_less_specific(s, row),
		.untold = untold_wakeups(p, s, row),
	};
	for (size_t i = 0; i < s->whole.nr; i++) {
		unsigned fits = is_shorter(s, &s->whole, i, row)
					? 0
					: keys_fit(p, s, row, i, FIT | FIT_MORE | FIT_THREADS);

		if (fits & FIT)
			add_row(s, i, &b->limits);
		if (fits & FIT_MORE)
			add_row(s, i, &b->more);
		if (fits & FIT_THREADS)
			add_row(s, i, &b->threads);
	}
	if (s->exits.of)
		add_exits_of_nobody(p, s, row, &b->more);
}

/* Each piece of time may have grown by what its ends may have moved. */
static int64_t most_of(const struct pair *p, struct sheet *s, size_t row, const struct bounds *b,
		       int column)
{
	int64_t most =
		s->preemptions.of ? stolen(p, s, row, column) : limit_of(s, &b->limits, column);
	int64_t beside = told_beside(p, s, row, column);

	if (s->rules[column] == RULE_SUM)
		most += beside;
	else if (beside > most)
		most = beside;
	if (s->of->columns[column].type != SONDE_COL_NS)
		return most + most / 50 + 1 + b->untold;
	most += told_as_own(s, row, &b->limits, column);
	if (s->rules[column] == RULE_SUM)
		return most + most / 20 + 20 * s->slack;
	return most + s->slack;
}

/* The longest of something is that of another row; or, of a wake-up, the end of a wait. */
static bool is_another_longest(const struct pair *p, const struct sheet *s, size_t row,
			       const struct bounds *b, int column, int64_t value)
{
	if (s->rules[column] != RULE_EXTREME)
		return false;
	if ((b->untold && longest_ends_a_wait(p, s, row, value)) ||
	    (s->waits.of && longest_is_from_outside(p, s, row, value)))
		return true;
	/* At the edge between two threads it is the clocks' bound that tells whose it is. */
	return s->slack && value <= b->threads.most[column] + s->slack;
}

void check_summed(struct pair *p, struct sheet *s, size_t row)
{
	struct bounds b;
	char words[512];

	find_bounds(p, s, row, &b);
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		int64_t value = more_if(p, s->is_spread ? summed(s, row, c) : known_of(s, row, c));
		int64_t known = limit_of(s, &b.more, c), most;

		if (s->rules[c] != RULE_SUM && (s->rules[c] != RULE_EXTREME || b.joined))
			continue;
		p->moments++;
		value += lie_of(p, s, row, c);
		most = most_of(p, s, row, &b, c);
		if (value <= most || is_another_longest(p, s, row, &b, c, value))
			continue;
		/* Where the whole history's clocks are not exact enough it knows less. */
		if (value <= most - limit_of(s, &b.limits, c) + known) {
			p->more++;
			continue;
		}
		word_row(p, s, row, words, sizeof(words));
		say_wrong(p, s->of->name, words, 0, 0, s->of->columns[c].name,
			  "%lld, not %lld of %lld rows", (long long)value, (long long)most,
			  (long long)b.limits.nr);
		return;
	}
}

static int64_t sum_of(const struct grid *f, const char *column)
{
	int at = grid_column(f, column);
	int64_t sum = 0;

	for (size_t row = 0; at >= 0 && row < f->nr; row++)
		sum += cell(f, row, at).i;
	return sum;
}

static int64_t physical_cpus(const struct side *s)
{
	int64_t nr = 0;

	for (int64_t i = 0; i < s->nr_cpus; i++)
		nr += !s->cpus[i].machine;
	return nr;
}

void check_total(struct pair *p, const struct sheet *s)
{
	int64_t all = sum_of(&s->cut, "total"), known = all - sum_of(&s->cut, "unknown");
	int64_t whole = sum_of(&s->whole, "total") - sum_of(&s->whole, "unknown");
	int64_t window = sonde_history_end(p->cut.history) - sonde_history_begin(p->cut.history);

	if (strcmp(s->of->name, "machine_time") && strcmp(s->of->name, "level_time"))
		return;
	p->moments++;
	if (all != window * physical_cpus(&p->cut))
		say_wrong(p, s->of->name, "sum", 0, 0, "total", "%lld, not %lld", (long long)all,
			  (long long)(window * physical_cpus(&p->cut)));
	if (known > whole + whole / 1000 + s->slack + p->gain_ns)
		say_wrong(p, s->of->name, "sum", 0, 0, "known", "%lld, not %lld", (long long)known,
			  (long long)whole);
}
