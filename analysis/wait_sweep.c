/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wait_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/key_sort.h"

struct sweep {
	struct cpu_users *users;
	int (*done)(const struct swept_wait *wait, const struct tally *tally, void *data);
	void *data;
	struct use_sums segment; /* since somebody began or ended to wait last, on one physical CPU */
	uint32_t first_who, last_who; /* in it */
	int64_t on;
	struct sweeping {
		struct swept_wait wait;
		struct tally tally;
	} *now; /* owned: those who wait, and behind them what the next ones will use */
	size_t nr_now, nr_made, room;
	const struct swept_wait *waits;
	const struct sort_item *next, *end; /* who has not begun yet */
	ns_t event;			     /* when the next of them begins or ends */
	int ret;
};

static ns_t later(ns_t a, ns_t b)
{
	return a > b ? a : b;
}

static ns_t earlier(ns_t a, ns_t b)
{
	return a < b ? a : b;
}

/* ---- who waits ----------------------------------------------------------------------------- */

static bool begin_wait(struct sweep *s, const struct swept_wait *wait)
{
	if (s->nr_now == s->nr_made) {
		if (!room_for_one(&s->now, s->nr_made, &s->room))
			return false;
		s->now[s->nr_made++].tally = (struct tally){0};
	}
	s->now[s->nr_now].wait = *wait;
	tally_clear(&s->now[s->nr_now++].tally);
	return true;
}

/* Its place is taken by the last one. */
static void end_wait(struct sweep *s, size_t at)
{
	struct sweeping *last = &s->now[--s->nr_now], ended = s->now[at];
	int ret = s->done(&ended.wait, &ended.tally, s->data);

	s->now[at] = *last;
	*last = ended;
	s->ret = s->ret ? s->ret : ret;
}

static void begin_waits(struct sweep *s, ns_t before)
{
	for (; s->next < s->end && !s->ret; s->next++) {
		const struct swept_wait *wait = &s->waits[s->next->at];

		if (wait->from >= before)
			return;
		if (!begin_wait(s, wait))
			s->ret = -ENOMEM;
	}
}

/* Ends those who do not wait longer than until @t, and finds out when the next event is. */
static void end_waits(struct sweep *s, ns_t t)
{
	ns_t event = s->next < s->end ? s->waits[s->next->at].from : NS_MAX;

	for (size_t i = 0; i < s->nr_now;) {
		if (s->now[i].wait.to <= t) {
			end_wait(s, i);
		} else {
			event = earlier(event, s->now[i].wait.to);
			i++;
		}
	}
	s->event = event;
}

/* ---- what the CPU did ---------------------------------------------------------------------- */

static bool add_use(struct sweep *s, struct tally *t, const struct cpu_use *use, uint32_t count)
{
	struct tally_part *part = tally_part(t, use->number, (int32_t)s->on);

	if (part)
		tally_add(part, count, use->time_ns, use->longest_ns, use->longest_at);
	else
		s->ret = -ENOMEM;
	return part;
}

static void add_segment(struct sweep *s, struct tally *t)
{
	const struct use_sums *segment = &s->segment;
	const struct cpu_use *first = &segment->uses[segment->met[0]];

	if (!add_use(s, t, first, first->count - (t->last_who == s->first_who)))
		return;
	for (unsigned i = 1; i < segment->nr; i++) {
		const struct cpu_use *use = &segment->uses[segment->met[i]];

		if (!add_use(s, t, use, use->count))
			return;
	}
	t->last_who = s->last_who;
}

/* All who wait have waited for all of the segment; the next one begins. */
static void close_segment(struct sweep *s)
{
	for (size_t i = 0; i < s->nr_now && s->segment.nr && !s->ret; i++)
		add_segment(s, &s->now[i].tally);
	use_sums_clear(&s->segment);
}

/* Pieces in which nobody begins or ends to wait. */
static void add_pieces(struct sweep *s, const struct cpu_run *run)
{
	const struct culprits *culprits = s->users->culprits;

	if (!s->segment.nr) {
		s->first_who = culprits->who[culprit_number(culprits, run->list.values[0])];
		s->last_who = UINT32_MAX;
	}
	s->last_who = cpu_run_add(run, culprits, &s->segment, s->last_who);
}

/* A piece in which somebody does. */
static void add_piece(struct sweep *s, uint32_t value, ns_t from, ns_t to)
{
	uint32_t number = culprit_number(s->users->culprits, value);
	uint32_t who = s->users->culprits->who[number];

	close_segment(s);
	begin_waits(s, to);
	for (size_t i = 0; i < s->nr_now && !s->ret; i++) {
		struct sweeping *w = &s->now[i];
		ns_t at = later(from, w->wait.from), length = earlier(to, w->wait.to) - at;
		struct tally_part *part;

		if (length <= 0)
			continue;
		part = tally_part(&w->tally, number, (int32_t)s->on);
		if (part)
			tally_add(part, w->tally.last_who != who, length, length, at);
		else
			s->ret = -ENOMEM;
		w->tally.last_who = who;
	}
	end_waits(s, to);
}

/* How many of the pieces from @first on end before the next event or with it. */
static unsigned count_undisturbed(const struct sweep *s, const struct cpu_run *run, unsigned first)
{
	const ns_t *ends = run->list.begins + 1;
	unsigned low = first, step = 1;

	if (run->to <= s->event)
		return run->list.nr - first;
	/* The last one ends behind it. */
	while (low + step < run->list.nr && ends[low + step - 1] <= s->event) {
		low += step;
		step *= 2;
	}
	for (; step; step /= 2) {
		if (low + step < run->list.nr && ends[low + step - 1] <= s->event)
			low += step;
	}
	return low - first;
}

static bool sweep_run(const struct cpu_run *run, void *data)
{
	struct sweep *s = data;
	struct cpu_run rest = *run;
	unsigned i = 0;

	if (s->on != run->on)
		close_segment(s);
	s->on = run->on;
	while (i < run->list.nr && !s->ret) {
		unsigned nr = count_undisturbed(s, run, i);

		if (nr) {
			rest.list.nr = nr;
			rest.list.begins = run->list.begins + i;
			rest.list.values = run->list.values + i;
			i += nr;
			rest.to = cpu_run_to(run, i - 1);
			add_pieces(s, &rest);
			rest.from = rest.to;
		}
		if (i < run->list.nr) {
			rest.to = cpu_run_to(run, i);
			add_piece(s, run->list.values[i++], rest.from, rest.to);
			rest.from = rest.to;
		}
	}
	return !s->ret;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool is_same_cpu(const struct swept_wait *a, const struct swept_wait *b)
{
	return a->machine == b->machine && a->cpu == b->cpu;
}

/* Waits from s->next to s->end, of which each touches one before it. */
static int sweep_together(struct sweep *s, ns_t to)
{
	const struct swept_wait *first = &s->waits[s->next->at];
	int ret;

	s->event = first->from;
	ret = cpu_users_runs(s->users, first->machine, first->cpu, first->from, to, sweep_run, s);
	close_segment(s);
	if (!ret)
		end_waits(s, to);
	return ret ? ret : s->ret;
}

static int sweep_all(struct sweep *s, const struct sort_item *order, size_t nr)
{
	int ret = 0;

	for (size_t i = 0; i < nr && !ret;) {
		const struct swept_wait *first = &s->waits[order[i].at];
		ns_t to = first->to;

		s->next = &order[i];
		for (i++; i < nr; i++) {
			const struct swept_wait *wait = &s->waits[order[i].at];

			if (!is_same_cpu(wait, first) || wait->from >= to)
				break;
			to = later(to, wait->to);
		}
		s->end = &order[i];
		ret = sweep_together(s, to);
	}
	return ret;
}

static uint64_t rising(ns_t t)
{
	return (uint64_t)t ^ 1ull << 63;
}

/* By CPU, as they are by time. */
static void sort_by_cpu(const struct sweep *s, struct sort_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct swept_wait *wait = &s->waits[items[i].at];

		items[i].key = (uint64_t)wait->machine << 32 | (uint32_t)(wait->cpu + 1);
	}
	key_sort(items, nr);
}

/* As much of the time as can be held at once is gone through for all CPUs before what comes next; who waits longer than
 * until then is looked at in the end.  @all are by time, and have room for three times as many behind them. */
static int sweep_in_parts(struct sweep *s, struct sort_item *all, size_t nr)
{
	struct sort_item *now = all + nr, *late = now + 2 * nr; /* key_sort() wants room, too */
	size_t nr_late = 0;
	ns_t end = NS_MIN;
	int ret = 0;

	for (size_t i = 0; i < nr; i++)
		end = later(end, s->waits[all[i].at].to);
	for (size_t i = 0; i < nr && !ret;) {
		ns_t from = s->waits[all[i].at].from, held;
		size_t nr_now = 0;

		ret = cpu_users_hold(s->users, from, end);
		held = cpu_users_held(s->users, from);
		do {
			if (s->waits[all[i].at].to <= held)
				now[nr_now++] = all[i];
			else
				late[nr_late++] = all[i];
		} while (++i < nr && s->waits[all[i].at].from < held);
		sort_by_cpu(s, now, nr_now);
		if (!ret)
			ret = sweep_all(s, now, nr_now);
	}
	memcpy(all, late, nr_late * sizeof(*late));
	sort_by_cpu(s, all, nr_late);
	return ret ? ret : sweep_all(s, all, nr_late);
}

int wait_sweep(struct cpu_users *users, const struct swept_wait *waits, size_t nr,
	       int (*done)(const struct swept_wait *wait, const struct tally *tally, void *data),
	       void *data)
{
	struct sweep s = {.users = users, .waits = waits, .done = done, .data = data};
	struct sort_item *items = malloc((4 * nr + 1) * sizeof(*items));
	int ret = items ? use_sums_init(&s.segment, users->culprits) : -ENOMEM;

	for (size_t i = 0; i < nr && !ret; i++)
		items[i] = (struct sort_item){rising(waits[i].from), (uint32_t)i};
	if (!ret) {
		key_sort(items, nr);
		ret = sweep_in_parts(&s, items, nr);
	}
	for (size_t i = 0; i < s.nr_made; i++)
		tally_release(&s.now[i].tally);
	free(s.now);
	free(items);
	use_sums_release(&s.segment);
	return ret;
}
