/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/quality/unknown_time.h"
#include "query/losses.h"

#include <errno.h>
#include <stdlib.h>

/* Of one physical CPU. */
struct unseen_cpu {
	struct sonde_history *history;
	uint32_t runs; /* its attribute of that name */
	int number;
	ns_t begin, end; /* of the window */
	ns_t to;	 /* until then nothing is known */
};

static bool is_known(const struct sonde_history *history, uint32_t value)
{
	struct sonde_context c;

	return !sonde_context_get(history, (int64_t)value - 1, &c) && c.mode != SONDE_MODE_UNKNOWN;
}

static bool go_on(const struct sonde_interval *i, void *data)
{
	struct unseen_cpu *c = data;

	if (is_known(c->history, i->value))
		return false;
	c->to = i->end;
	return true;
}

/* How far from @from on nothing is known: @from when something is. */
static ns_t unknown_until(struct unseen_cpu *c, ns_t from)
{
	c->to = from;
	sonde_interval_walk(c->history, c->runs, from, sonde_history_end(c->history), go_on, c);
	return c->to;
}

/* From where on nothing is known up to @to: @to when something is. */
static ns_t unknown_since(const struct unseen_cpu *c, ns_t to)
{
	ns_t from = to;
	struct sonde_interval i;

	while (from > sonde_history_begin(c->history) &&
	       !sonde_interval_at(c->history, c->runs, from - 1, &i) && i.begin < from &&
	       !is_known(c->history, i.value))
		from = i.begin;
	return from;
}

/* Of [@from, @to), what is in the window. */
static ns_t within(const struct unseen_cpu *c, ns_t from, ns_t to)
{
	from = from > c->begin ? from : c->begin;
	to = to < c->end ? to : c->end;
	return to > from ? to - from : 0;
}

/* Between @from and @to, where something is known. */
static ns_t unknown_by_losses(struct unseen_cpu *c, const struct losses *losses, ns_t from, ns_t to)
{
	struct sonde_loss l;
	ns_t sum = 0;

	for (size_t i = 0; i < losses->nr; i++) {
		ns_t at;

		sonde_loss_get(c->history, losses->list[i].at, &l);
		at = l.begin > from ? l.begin : from;
		if (at >= to)
			break;
		if ((l.cpu >= 0 && l.cpu != c->number) || l.end < from)
			continue;
		from = unknown_until(c, at);
		/* The event behind it may have left something open. */
		if (from == at && l.end > at && l.end < to)
			from = unknown_until(c, at = l.end);
		sum += within(c, at, from);
	}
	return sum;
}

/* Of [@from, @to), in which nothing is known, what a place is said to last in which events were
 * lost. */
static ns_t lost_within(const struct unseen_cpu *c, const struct losses *losses, ns_t from, ns_t to)
{
	struct sonde_loss l;
	ns_t sum = 0;

	for (size_t i = 0; i < losses->nr && from < to; i++) {
		sonde_loss_get(c->history, losses->list[i].at, &l);
		if ((l.cpu >= 0 && l.cpu != c->number) || l.end <= from || l.begin >= to)
			continue;
		from = l.begin > from ? l.begin : from;
		sum += within(c, from, l.end < to ? l.end : to);
		from = l.end;
	}
	return sum;
}

/* Adds such time to @way, and to what was lost. */
static void divide(struct unseen *out, ns_t *way, const struct unseen_cpu *c,
		   const struct losses *losses, ns_t from, ns_t to)
{
	ns_t lost = lost_within(c, losses, from, to);

	*way += within(c, from, to) - lost;
	out->lost += lost;
}

static void add_cpu(struct unseen *out, struct unseen_cpu *c, const struct losses *losses)
{
	ns_t run_begin = sonde_history_begin(c->history), run_end = sonde_history_end(c->history);
	ns_t seen = unknown_until(c, run_begin);
	ns_t gone = unknown_since(c, run_end);
	ns_t from = unknown_since(c, c->begin);

	if (seen >= run_end) {
		divide(out, &out->never, c, losses, run_begin, run_end);
		return;
	}
	divide(out, &out->before, c, losses, run_begin, seen);
	divide(out, &out->after, c, losses, gone, run_end);
	out->lost += unknown_by_losses(c, losses, from > seen ? from : seen,
				       gone < c->end ? gone : c->end);
}

int unseen_find(struct unseen *out, struct sonde_history *history, ns_t begin, ns_t end,
		ns_t unknown_ns)
{
	struct losses losses;
	int ret = losses_init(&losses, history, 0);

	*out = (struct unseen){0};
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++) {
		struct unseen_cpu c = {.history = history, .begin = begin, .end = end};
		struct sonde_cpu cpu;

		sonde_cpu_get(history, row, &cpu);
		c.runs = sonde_attr_of_cpu(history, row, "runs");
		c.number = cpu.number;
		if (cpu.machine == 0)
			add_cpu(out, &c, &losses);
	}
	losses_release(&losses);
	out->other = unknown_ns - out->before - out->after - out->lost - out->never;
	if (out->other < 0)
		out->other = 0;
	return ret;
}
