/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/thread_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key_sort.h"
#include "analysis/longest.h"
#include "analysis/thread_tracks.h"
#include "analysis/wait_sweep.h"
#include "base/grow.h"
#include "model/context.h"

struct scan {
	struct sonde_run *run;
	ns_t begin, end;
	int first_cpu;	      /* where the thread was first, -1 unknown */
	attr_t cpu;	      /* where it is or was last, ATTR_NONE: it never moved */
	struct thread_tracks *tracks;
	struct strips strips; /* of what CPU the thread is on */
	struct thread_wait wait;
	void (*each)(const struct thread_wait *wait, void *data);
	void *data;
	int ret;
};

/* The CPU it waits for is the one that it then runs on. */
static int cpu_waited_for(struct scan *s, ns_t end)
{
	struct sonde_interval i = {0};
	int ret;

	if (s->cpu == ATTR_NONE)
		return s->first_cpu;
	if (end >= sonde_run_end(s->run))
		end = sonde_run_end(s->run) - 1;
	if (end >= s->end)
		ret = sonde_at(s->run, s->cpu, end, &i);
	else
		ret = strip_hold(&s->strips, s->cpu, s->begin, s->end);
	if (!ret && end < s->end)
		ret = strip_at(&s->strips, s->cpu, end, &i);
	s->ret = ret;
	return i.value ? (int)i.value - 1 : s->first_cpu;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;

	if (i->value != THREAD_RUNNABLE)
		return true;
	if (i->begin >= s->end || i->end <= s->begin)
		return true;
	s->wait.begin = i->begin;
	s->wait.end = i->end;
	s->wait.cpu = cpu_waited_for(s, i->end);
	if (!s->ret)
		s->each(&s->wait, s->data);
	return !s->ret;
}

static int scan_thread(struct scan *s, int64_t row)
{
	struct sonde_thread t;
	int ret;

	sonde_thread(s->run, row, &t);
	if (!t.tid || t.vcpu >= 0 || t.begin >= s->end || (t.end >= 0 && t.end <= s->begin))
		return 0;
	s->cpu = sonde_attr_of_thread(s->run, row, "cpu");
	s->first_cpu = run_first_cpu(s->run, row);
	s->wait.thread = row;
	s->wait.machine = t.machine;
	s->strips.run = s->run;
	ret = thread_states_scan(s->tracks, row, each_state, s);
	strips_release(&s->strips);
	return ret ? ret : s->ret;
}

/* All waits that touch the window. */
static int scan_threads(struct sonde_run *run, ns_t begin, ns_t end,
			void (*each)(const struct thread_wait *wait, void *data), void *data)
{
	struct scan s = {.run = run, .begin = begin, .end = end, .each = each, .data = data};
	int ret = thread_tracks_get(&s.tracks, run, begin, end);

	for (int64_t row = 0; row < sonde_nr_threads(run) && !ret; row++)
		ret = scan_thread(&s, row);
	thread_tracks_put(s.tracks);
	return ret;
}

static ns_t wait_from(const struct thread_wait *wait, ns_t begin)
{
	return wait->begin > begin ? wait->begin : begin;
}

static ns_t wait_to(const struct thread_wait *wait, ns_t end)
{
	return wait->end < end ? wait->end : end;
}

/* ---- the sums ------------------------------------------------------------------------------ */

/* What one culprit had of all waits of a thread. */
struct thread_use {
	struct cpu_use use;
	int64_t thread;
	ns_t met;	/* begin of the wait in which it was met first */
	uint32_t place; /* among those that were met in that */
};

struct sums {
	struct thread_waits *w;
	struct sonde_run *run;
	struct cpu_users *users;
	struct thread_use *uses; /* owned */
	size_t nr_uses, uses_room;
	struct map by_key; /* of those, by thread and culprit's number */
	ns_t long_ns;	   /* so long is one of the longest */
	ns_t from;	   /* of the part of the window at hand */
	bool too_many;	   /* in it */
};

/* A wait counts where it begins, or in the first part of the window. */
static void keep_wait(const struct thread_wait *wait, void *data)
{
	struct sums *s = data;
	struct thread_waits *w = s->w;

	if (s->too_many || (wait->begin < s->from && s->from > w->begin))
		return;
	s->too_many = w->nr == THREAD_WAITS_MAX || !room_for_one(&w->list, w->nr, &w->room);
	if (!s->too_many)
		w->list[w->nr++] = *wait;
}

/* The length of the shortest of the longest waits. */
static ns_t find_long(const struct thread_waits *w)
{
	struct longest *longest = calloc(1, sizeof(*longest));
	ns_t found;

	if (!longest)
		return NS_MAX; /* what such a wait was made of is then summed up when it is asked
				  for */
	for (size_t i = 0; i < w->nr; i++)
		longest_add(longest, w->list[i].end - w->list[i].begin);
	found = longest_least(longest);
	free(longest);
	return found;
}

static int keep_parts(struct thread_waits *w, struct thread_wait *wait, const struct tally *tally)
{
	wait->parts = (uint32_t)w->nr_parts;
	for (uint32_t i = 0; i < tally->nr && i < WAIT_PARTS_EACH; i++) {
		const struct tally_part *part = &tally->parts[i];

		if (!room_for_one(&w->parts, w->nr_parts, &w->parts_room))
			return -ENOMEM;
		w->parts[w->nr_parts++] =
			(struct wait_part){part->culprit, part->on, part->time_ns};
	}
	wait->nr_parts = (uint32_t)w->nr_parts - wait->parts;
	return 0;
}

static struct thread_use *new_use(struct sums *s, uint64_t key, int64_t thread,
				  const struct tally_part *part)
{
	struct thread_use *sum;

	if (s->nr_uses == UINT32_MAX || !room_for_one(&s->uses, s->nr_uses, &s->uses_room) ||
	    map_put(&s->by_key, key, (uint32_t)s->nr_uses))
		return NULL;
	sum = &s->uses[s->nr_uses++];
	*sum = (struct thread_use){.thread = thread, .met = NS_MAX};
	sum->use = (struct cpu_use){.on = part->on,
				    .by = &s->users->culprits->list[part->culprit],
				    .number = part->culprit};
	return sum;
}

/* Waits come CPU by CPU, not in the order of time. */
static int add_part(struct sums *s, const struct thread_wait *wait, const struct tally_part *part,
		    uint32_t place)
{
	uint64_t key = (uint64_t)wait->thread << 32 | part->culprit;
	const uint32_t *at = map_get(&s->by_key, key);
	struct thread_use *sum = at ? &s->uses[*at] : new_use(s, key, wait->thread, part);
	struct cpu_use *use;

	if (!sum)
		return -ENOMEM;
	use = &sum->use;
	use->several_cpus |= use->on != part->on;
	use->count += part->count;
	use->time_ns += part->time_ns;
	if (part->longest_ns > use->longest_ns ||
	    (part->longest_ns == use->longest_ns && part->longest_at < use->longest_at)) {
		use->longest_ns = part->longest_ns;
		use->longest_at = part->longest_at;
		use->on = part->on;
	}
	if (wait->begin < sum->met || (wait->begin == sum->met && place < sum->place)) {
		sum->met = wait->begin;
		sum->place = place;
	}
	return 0;
}

static int add_tally(const struct swept_wait *swept, const struct tally *tally, void *data)
{
	struct sums *s = data;
	struct thread_wait *wait = &s->w->list[swept->id];
	int ret = 0;

	for (uint32_t i = 0; i < tally->nr && !ret; i++)
		ret = add_part(s, wait, &tally->parts[i], i);
	if (!ret && wait->end - wait->begin >= s->long_ns && s->w->nr_parts < WAIT_PARTS_MAX)
		ret = keep_parts(s->w, wait, tally);
	return ret;
}

static void add_wait(struct thread_waits *w, const struct thread_wait *wait)
{
	struct waiter *waiter = &w->waiters[wait->thread];

	waiter->thread = wait->thread;
	waiter->count++;
	waiter->total_ns += wait_to(wait, w->end) - wait_from(wait, w->begin);
	waiter->last_begin = wait->begin;
	if (wait->end - wait->begin > waiter->worst_end - waiter->worst_begin) {
		waiter->worst_begin = wait->begin;
		waiter->worst_end = wait->end;
	}
}

/* Adds all waits of the list. */
static int sum_list(struct sums *s)
{
	struct thread_waits *w = s->w;
	struct swept_wait *swept = malloc((w->nr + 1) * sizeof(*swept));
	int ret;

	if (!swept)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++) {
		const struct thread_wait *wait = &w->list[i];

		add_wait(w, wait);
		swept[i] = (struct swept_wait){wait_from(wait, w->begin), wait_to(wait, w->end),
					       wait->machine, wait->cpu, (uint32_t)i};
	}
	ret = wait_sweep(s->users, swept, w->nr, add_tally, s);
	free(swept);
	return ret;
}

/* When there are too many in a part of the window, half of it at a time. */
static int sum_window(struct sums *s, ns_t from, ns_t to)
{
	struct thread_waits *w = s->w;
	ns_t middle = from + (to - from) / 2;
	int ret;

	w->nr = 0;
	s->from = from;
	s->too_many = false;
	ret = scan_threads(s->run, from, to, keep_wait, s);
	if (ret)
		return ret;
	w->too_many |= s->too_many;
	s->long_ns = w->too_many ? NS_MAX : find_long(w);
	if (!s->too_many)
		return sum_list(s);
	if (middle == from)
		return -ENOMEM;
	ret = sum_window(s, from, middle);
	return ret ? ret : sum_window(s, middle, to);
}

/* By thread, and in the order in which they were met. */
static void sort_uses(const struct sums *s, struct sort_item *items)
{
	for (size_t i = 0; i < s->nr_uses; i++)
		items[i] = (struct sort_item){s->uses[i].place, (uint32_t)i};
	key_sort(items, s->nr_uses);
	for (size_t i = 0; i < s->nr_uses; i++)
		items[i].key = (uint64_t)s->uses[items[i].at].met ^ 1ull << 63;
	key_sort(items, s->nr_uses);
	for (size_t i = 0; i < s->nr_uses; i++)
		items[i].key = (uint64_t)s->uses[items[i].at].thread;
	key_sort(items, s->nr_uses);
}

/* Keeps what each thread's waits were made of. */
static int keep_uses(const struct sums *s)
{
	struct sort_item *items = malloc((2 * s->nr_uses + 1) * sizeof(*items));
	struct thread_waits *w = s->w;

	w->uses = malloc((s->nr_uses + 1) * sizeof(*w->uses));
	if (!items || !w->uses) {
		free(items);
		return -ENOMEM;
	}
	sort_uses(s, items);
	for (size_t i = 0; i < s->nr_uses; i++) {
		const struct thread_use *use = &s->uses[items[i].at];
		struct waiter *waiter = &w->waiters[use->thread];

		if (!waiter->nr++)
			waiter->first = i;
		w->uses[i] = use->use;
	}
	free(items);
	return 0;
}

/* Leaves out the threads that did not wait. */
static void keep_waiters(struct thread_waits *w, int64_t nr_threads)
{
	for (int64_t i = 0; i < nr_threads; i++) {
		if (w->waiters[i].count)
			w->waiters[w->nr_waiters++] = w->waiters[i];
	}
}

static int sum_up(struct sums *s)
{
	struct thread_waits *w = s->w;
	int64_t nr_threads = sonde_nr_threads(s->run);
	int ret = cpu_users_hold(s->users, w->begin, w->end);

	w->waiters = calloc((size_t)nr_threads + 1, sizeof(*w->waiters));
	if (!ret)
		ret = w->waiters ? sum_window(s, w->begin, w->end) : -ENOMEM;
	if (!ret)
		ret = keep_uses(s);
	if (!ret)
		keep_waiters(w, nr_threads);
	if (w->too_many) {
		free(w->list);
		w->list = NULL;
		w->nr = w->room = 0;
	}
	return ret;
}

static int failed(struct error *err, int ret)
{
	return fail(err, ret, "cannot follow a thread's states: %s", strerror(-ret));
}

int thread_waits_get(const struct thread_waits **out, struct sonde_run *run, ns_t begin, ns_t end,
		     struct error *err)
{
	struct thread_waits *w = run->thread_waits;
	struct sums s = {.run = run};
	int ret;

	*out = w;
	if (w && w->begin == begin && w->end == end)
		return 0;
	thread_waits_free(w);
	*out = run->thread_waits = NULL;
	w = calloc(1, sizeof(*w));
	ret = w ? cpu_users_get(&s.users, run) : -ENOMEM;
	if (ret) {
		free(w);
		return fail(err, ret, "out of memory");
	}
	run_threads(run); /* without the memory for all of them each costs more */
	w->begin = begin;
	w->end = end;
	s.w = w;
	ret = sum_up(&s);
	free(s.uses);
	map_release(&s.by_key);
	if (ret) {
		thread_waits_free(w);
		return failed(err, ret);
	}
	*out = run->thread_waits = w;
	return 0;
}

/* ---- one by one ---------------------------------------------------------------------------- */

int thread_waits_scan(const struct thread_waits *w, struct sonde_run *run,
		      void (*each)(const struct thread_wait *wait, void *data), void *data,
		      struct error *err)
{
	int ret = w->too_many ? scan_threads(run, w->begin, w->end, each, data) : 0;

	for (size_t i = 0; i < w->nr; i++)
		each(&w->list[i], data);
	return ret ? failed(err, ret) : 0;
}

struct telling {
	bool (*each)(const struct wait_part *part, void *data);
	void *data;
};

static bool tell_part(const struct cpu_use *use, void *data)
{
	const struct telling *t = data;
	const struct wait_part part = {use->number, (int32_t)use->on, use->time_ns};

	return t->each(&part, t->data);
}

int thread_wait_parts(const struct thread_waits *w, struct sonde_run *run,
		      const struct thread_wait *wait,
		      bool (*each)(const struct wait_part *part, void *data), void *data)
{
	struct telling t = {each, data};
	struct cpu_users *users;
	int ret = cpu_users_get(&users, run);

	if (ret || !wait->nr_parts)
		return ret ? ret
			   : cpu_users_sum(users, wait->machine, wait->cpu,
					   wait_from(wait, w->begin), wait_to(wait, w->end),
					   tell_part, &t);
	for (uint32_t i = 0; i < wait->nr_parts; i++) {
		if (!each(&w->parts[wait->parts + i], data))
			break;
	}
	return 0;
}

void thread_waits_free(struct thread_waits *w)
{
	if (!w)
		return;
	free(w->waiters);
	free(w->uses);
	free(w->parts);
	free(w->list);
	free(w);
}
