/* SPDX-License-Identifier: Apache-2.0 */
/* Time of which nothing is known since events are missing, or were not recorded: each gap is told
 * once. */
#include "analysis/by_machine.h"
#include "query/losses.h"
#include "analysis/quality/unknown_time.h"
#include "analysis/sched/usage.h"
#include "analysis/why/why.h"
#include "base/figure.h"
#include "base/units.h"

#include <string.h>

/* An unknown part of the CPU time that is worth a word: one in a hundred. */
#define UNKNOWN_PPM 10000

struct verdict why_not_known(const struct why *w, const char *what, int64_t machine)
{
	struct verdict v = why_verdict(w, "unknown", machine);

	v.cause = what;
	return v;
}

/* Places where events of a machine are missing, in the window. */
struct lost {
	int64_t events;	 /* that a tracer counted */
	int64_t counted; /* places where one did */
	int64_t gaps;	 /* the others */
	ns_t begin, end; /* of the longest there, as far as it is, or may be, in the window */
	ns_t latest_end; /* of all of it, at most */
	struct sonde_loss longest;
};

static void take_loss(struct lost *lost, const struct why *w, const struct sonde_loss *l)
{
	ns_t latest = loss_latest_end(w->history, l);
	ns_t from = l->begin > w->begin ? l->begin : w->begin,
	     to = latest < w->end ? latest : w->end;

	if (!loss_is_in(w->history, l, w->begin, w->end))
		return;
	if (!(lost->counted + lost->gaps) || to - from > lost->end - lost->begin) {
		lost->begin = from;
		lost->end = to;
		lost->longest = *l;
		lost->latest_end = latest;
	}
	lost->counted += l->events > 0;
	lost->gaps += l->events <= 0;
	lost->events += l->events > 0 ? l->events : 0;
}

static struct lost lost_of(const struct why *w, const struct by_machine *losses, int64_t machine)
{
	struct lost lost = {0};
	struct sonde_loss l;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(losses, machine, &nr);

	for (uint32_t i = 0; i < nr && !sonde_loss_get(w->history, rows[i], &l); i++)
		take_loss(&lost, w, &l);
	return lost;
}

/* "host0's trace has 3 gaps, the longest of 2 ms on CPU 1 from 1.5": all of it, as the table of
 * losses has it, also what is outside the window. */
static void say_places(struct sentence *s, const char *whose, const struct lost *lost)
{
	const struct sonde_loss *longest = &lost->longest;
	int64_t nr = lost->counted + lost->gaps;
	char text[UNIT_TEXT];

	if (lost->counted)
		say(s, "%s's tracer lost %s%s event%s in %lld place%s", whose,
		    lost->gaps ? "at least " : "", unit_count(text, lost->events),
		    lost->events == 1 ? "" : "s", (long long)nr, nr == 1 ? "" : "s");
	else
		say(s, "%s's trace has %lld gap%s", whose, (long long)nr, nr == 1 ? "" : "s");
	if (lost->latest_end > longest->begin) {
		say(s, nr > 1 ? ", the longest of " : lost->counted ? ", for " : " of ");
		say(s, longest->end > longest->begin ? "" : "at most ");
		say_length(s, ns_since(lost->latest_end, longest->begin));
	} else if (nr > 1) {
		say(s, ", the first");
	}
	if (longest->cpu >= 0)
		say(s, " on CPU %d", longest->cpu);
	say(s, " from ");
	say_time(s, longest->begin);
}

/* Only what a tracer counted was lost in its buffers. */
static void say_advice(struct sentence *s, const struct lost *lost)
{
	if (lost->counted)
		say(s, " Larger buffers, or fewer events, avoid what its tracer counted.");
	if (lost->gaps)
		say(s, " sonde check of the trace says what its files lack.");
}

static void span(struct verdict *v, const struct lost *lost)
{
	v->begin = lost->begin;
	v->end = lost->end;
	v->count = lost->events;
}

static void gaps_of(struct why *w, const struct by_machine *losses, int64_t machine)
{
	struct verdict v = why_not_known(w, "lost", machine);
	struct lost lost = lost_of(w, losses, machine);
	struct sonde_machine m;

	if (!lost.counted && !lost.gaps)
		return;
	sonde_machine_get(w->history, machine, &m);
	say_places(&v.says, m.name, &lost);
	say(&v.says, ": nothing is known of %s.", lost.counted + lost.gaps == 1 ? "it" : "these");
	say_advice(&v.says, &lost);
	span(&v, &lost);
	why_add(w, &v);
}

/* Which of the ways not to know it are there, how much each is, and what avoids those that are a
 * tenth of it or more. */
static void say_unseen(struct sentence *s, const struct unseen *u, const struct lost *lost)
{
	const struct {
		ns_t time;
		const char *what, *advice;
	} ways[] = {
		{u->before, "the host's trace had no event of them yet",
		 " Let its recording begin before what is looked for."},
		{u->after, "it had no event of them any more",
		 " Let its recording end after what is looked for."},
		{u->never, "the host's trace should have events of CPUs and has none",
		 " sonde info says what its files lack."},
		{u->other, "it has no switch",
		 " sonde check counts, in the trace, the switches that it leaves out."},
	};
	ns_t sum = u->before + u->after + u->lost + u->never + u->other;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!ways[i].time)
			continue;
		say(s, " For ");
		say_length(s, ways[i].time);
		say(s, " %s.%s", ways[i].what, ways[i].time >= sum / 10 ? ways[i].advice : "");
	}
	if (!u->lost)
		return;
	say(s, " For ");
	say_length(s, u->lost);
	say(s, " events are missing: ");
	say_places(s, "the host", lost);
	say(s, ".");
	say_advice(s, lost);
}

/* A trace of processes alone is not one of which something is missing. */
static bool is_of_user_space(const struct why *w, struct sonde_machine *m)
{
	return !sonde_machine_get(w->history, 0, m) && !strncmp(m->tracer, "lttng-ust", 9);
}

/* Of the physical CPUs' time. */
static int unknown_cpu_time(struct why *w, const struct by_machine *losses, bool *told,
			    struct error *err)
{
	struct verdict v = why_not_known(w, "cpus", 0);
	struct lost lost = lost_of(w, losses, 0);
	const struct usages *u;
	struct sonde_machine m;
	struct unseen unseen;
	char share[UNIT_TEXT];
	ns_t time = 0;
	int ret = usages_get(&u, w->history, w->begin, w->end, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < u->nr; i++) {
		if (u->list[i].context->mode == SONDE_MODE_UNKNOWN)
			time += u->list[i].time_ns;
	}
	if (share_ppm(time, u->total_ns) < UNKNOWN_PPM)
		return 0;
	ret = unseen_find(&unseen, w->history, w->begin, w->end, time);
	if (ret)
		return fail(err, ret, "out of memory");
	/* A gap that began before the window may still be felt in it. */
	if (!lost.counted && !lost.gaps) {
		unseen.other += unseen.lost;
		unseen.lost = 0;
	}
	say(&v.says, "What CPUs did is not known for %s of their time.",
	    unit_share(share, share_ppm(time, u->total_ns)));
	if (is_of_user_space(w, &m))
		say(&v.says,
		    " The trace of %s is of user space only: it does not tell what CPUs ran, nor "
		    "who waited for one. Record its kernel, too: lttng enable-event --kernel, or "
		    "sonde record.",
		    m.name);
	else
		say_unseen(&v.says, &unseen, &lost);
	*told = unseen.lost;
	if (*told)
		span(&v, &lost);
	why_add(w, &v);
	return 0;
}

int why_gaps(struct why *w, struct error *err)
{
	struct by_machine losses;
	bool told = false;
	int ret = by_machine_init(&losses, w->history, QUERY_LOSS);

	if (ret)
		return fail(err, ret, "out of memory");
	ret = unknown_cpu_time(w, &losses, &told, err);
	for (int64_t machine = told; machine < sonde_nr_machines(w->history) && !ret; machine++)
		gaps_of(w, &losses, machine);
	by_machine_release(&losses);
	return ret;
}
