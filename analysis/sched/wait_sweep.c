/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/wait_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/key_sort.h"

struct sweep {
	struct cpu_users *users;
	int (*done)(const struct swept_wait *wait, const struct culprit_sums *culprits, void *data);
	void *data;
	struct use_sums segment; /* since somebody began to wait last, on one physical CPU */
	uint32_t first_who;	 /* in it */
	int64_t on;
	struct sweeping {
		const struct swept_wait *wait;
		uint32_t last_who;	    /* of the piece that was added last: culprits.who */
		struct culprit_sums *sum;   /* that it is added to: the wait's, or .alone */
		struct culprit_sums *alone; /* owned; NULL: none that is told has stood here */
	} * now; /* owned: those who wait, and behind them what the next ones will use */
	size_t nr_now, nr_made, room;
	const struct swept_wait *waits;
	const struct sort_item *next, *end; /* who has not begun yet */
	ns_t event;			    /* when the next of them begins or ends */
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
	struct sweeping *w;

	if (s->nr_now == s->nr_made) {
		if (!room_for_one(&s->now, s->nr_made, &s->room))
			return false;
		s->now[s->nr_made++].alone = NULL;
	}
	w = &s->now[s->nr_now];
	if (wait->told && !w->alone)
		w->alone = calloc(1, sizeof(*w->alone));
	w->wait = wait;
	w->last_who = UINT32_MAX;
	w->sum = wait->told ? w->alone : wait->sum;
	s->nr_now += !!w->sum;
	return w->sum;
}

/* What was kept apart counts in the sum, too. */
static int tell_wait(struct sweep *s, const struct sweeping *w)
{
	int ret = s->done(w->wait, w->alone, s->data);

	for (uint32_t i = 0; i < w->alone->nr && !ret; i++) {
		const struct culprit_sum *part = &w->alone->parts[i];

		if (!culprit_sums_add(w->wait->sum, part->key, &part->use, part->met))
			ret = -ENOMEM;
	}
	culprit_sums_clear(w->alone);
	return ret;
}

/* Its place is taken by the last one. */
static void end_wait(struct sweep *s, size_t at)
{
	struct sweeping *last = &s->now[--s->nr_now], ended = s->now[at];
	int ret = ended.wait->told ? tell_wait(s, &ended) : 0;

	s->now[at] = *last;
	*last = ended;
	s->ret = s->ret ? s->ret : ret;
}

/* When the next one begins. */
static ns_t next_begin(const struct sweep *s)
{
	return s->next < s->end ? s->waits[s->next->at].from : NS_MAX;
}

static void begin_waits(struct sweep *s, ns_t before)
{
	for (; next_begin(s) < before && !s->ret; s->next++) {
		if (!begin_wait(s, &s->waits[s->next->at]))
			s->ret = -ENOMEM;
	}
}

/* ---- what the CPU did ---------------------------------------------------------------------- */

static void add_segment(struct sweep *s, struct sweeping *w)
{
	const struct use_sums segment = s->segment;
	const struct use_met *end = segment.met + segment.nr;
	unsigned goes_on = w->last_who == s->first_who; /* with the stretch that the wait was in */
	uint64_t base = culprit_sums_key(s->on, 0);
	struct culprit_sums *sum = w->sum;
	struct use_sum *first;

	if (!segment.nr)
		return;
	first = &segment.uses[segment.met->number];
	first->count -= goes_on;
	for (const struct use_met *met = segment.met; met < end; met++) {
		if (!culprit_sums_add(sum, base + met->number, &segment.uses[met->number], met->at))
			s->ret = -ENOMEM;
	}
	first->count += goes_on;
	w->last_who = segment.last_who;
}

/* All who wait have waited for all of the segment; the next one begins. */
static void close_segment(struct sweep *s)
{
	for (size_t i = 0; i < s->nr_now && !s->ret; i++)
		add_segment(s, &s->now[i]);
	use_sums_clear(&s->segment);
}

/* Pieces in which nobody begins or ends to wait. */
static void add_pieces(struct sweep *s, struct cpu_run *run)
{
	const struct culprits *culprits = s->users->culprits;

	if (!s->segment.nr) {
		s->first_who = culprits->who[culprit_number(culprits, run->list.values[0])];
		s->segment.last_who = UINT32_MAX;
	}
	cpu_run_skip(run, cpu_run_add(run, s->event, culprits, &s->segment));
}

/* What a wait has of the first piece of @run. */
static void add_piece(struct sweep *s, struct sweeping *w, const struct cpu_run *run)
{
	uint32_t number = culprit_number(s->users->culprits, run->list.values[0]);
	uint32_t who = s->users->culprits->who[number];
	ns_t at = later(run->from, w->wait->from);
	ns_t length = earlier(cpu_run_to(run, 0), w->wait->to) - at;
	const struct use_sum use = {length, length, at, w->last_who != who, who};

	if (length <= 0)
		return;
	if (!culprit_sums_add(w->sum, culprit_sums_key(s->on, number), &use, at))
		s->ret = -ENOMEM;
	w->last_who = who;
}

/* Ends those who do not wait longer than until @t, and finds out when the next event is.  Who goes
 * on to wait need not be looked at: the segment does.  @run: they wait for a part of its first
 * piece, too. */
static void end_waits(struct sweep *s, ns_t t, const struct cpu_run *run)
{
	s->event = next_begin(s);
	for (size_t i = 0; i < s->nr_now;) {
		struct sweeping *w = &s->now[i];

		if (w->wait->to > t) {
			s->event = earlier(s->event, w->wait->to);
			i++;
			continue;
		}
		add_segment(s, w);
		if (run)
			add_piece(s, w, run);
		end_wait(s, i);
	}
}

/* Somebody begins or ends to wait just when the first piece of @run begins. */
static void pass_event(struct sweep *s, const struct cpu_run *run)
{
	end_waits(s, run->from, NULL);
	if (s->event > run->from)
		return;
	close_segment(s);
	begin_waits(s, run->from + 1);
	end_waits(s, run->from, NULL);
}

/* The same within it. */
static void pass_event_within(struct sweep *s, struct cpu_run *run)
{
	ns_t to = cpu_run_to(run, 0);

	if (next_begin(s) >= to) {
		end_waits(s, s->event, run);
		return;
	}
	close_segment(s);
	begin_waits(s, to);
	for (size_t i = 0; i < s->nr_now && !s->ret; i++)
		add_piece(s, &s->now[i], run);
	end_waits(s, to, NULL);
	cpu_run_skip(run, 1);
}

static bool sweep_run(const struct cpu_run *run, void *data)
{
	struct sweep *s = data;
	struct cpu_run rest = *run;

	if (s->on != run->on)
		close_segment(s);
	s->on = run->on;
	while (rest.list.nr && !s->ret) {
		if (s->event <= rest.from)
			pass_event(s, &rest);
		add_pieces(s, &rest);
		if (rest.list.nr && rest.from < s->event)
			pass_event_within(s, &rest);
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

	begin_waits(s, first->from + 1);
	end_waits(s, first->from, NULL);
	ret = cpu_users_runs(s->users, first->machine, first->cpu, first->from, to, sweep_run, s);
	if (!ret)
		ret = s->ret;
	if (!ret)
		end_waits(s, to, NULL);
	s->nr_now = 0;
	use_sums_clear(&s->segment);
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

/* By CPU, as they are by time. */
static void sort_by_cpu(const struct sweep *s, struct sort_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct swept_wait *wait = &s->waits[items[i].at];

		items[i].key = (uint64_t)wait->machine << 32 | (uint32_t)(wait->cpu + 1);
	}
	key_sort(items, nr);
}

/* As much of the time as can be held at once is gone through for all CPUs before what comes next;
 * who waits longer than until then is looked at in the end.  @all are by time, and have room for
 * three times as many behind them. */
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
	       int (*done)(const struct swept_wait *wait, const struct culprit_sums *culprits,
			   void *data),
	       void *data)
{
	struct sweep s = {.users = users, .waits = waits, .done = done, .data = data};
	struct sort_item *items = malloc((4 * nr + 1) * sizeof(*items));
	int ret = items ? use_sums_init(&s.segment, users->culprits) : -ENOMEM;

	for (size_t i = 0; i < nr && !ret; i++)
		items[i] = (struct sort_item){sort_key(waits[i].from), (uint32_t)i};
	if (!ret) {
		key_sort(items, nr);
		ret = sweep_in_parts(&s, items, nr);
	}
	for (size_t i = 0; i < s.nr_made; i++) {
		if (s.now[i].alone)
			culprit_sums_release(s.now[i].alone);
		free(s.now[i].alone);
	}
	free(s.now);
	free(items);
	use_sums_release(&s.segment);
	return ret;
}
