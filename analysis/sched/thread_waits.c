/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/thread_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/longest.h"
#include "analysis/sched/thread_scan.h"
#include "analysis/sched/wait_sweep.h"
#include "base/grow.h"
#include "base/key_sort.h"

static ns_t wait_from(const struct thread_wait *wait, ns_t begin)
{
	return wait->begin > begin ? wait->begin : begin;
}

static ns_t wait_to(const struct thread_wait *wait, ns_t end)
{
	return wait->end < end ? wait->end : end;
}

/* ---- the sums ------------------------------------------------------------------------------ */

struct sums {
	struct thread_waits *w;
	struct sonde_history *history;
	struct cpu_users *users;
	struct culprit_sums *threads; /* owned, by row: what each one's waits were made of */
	struct sort_item *order;      /* owned: of one thread's parts */
	size_t order_room;
	ns_t long_ns;  /* so long is one of the longest */
	ns_t from;     /* of the part of the window at hand */
	bool too_many; /* in it */
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

/* Of one of the longest waits. */
static int keep_parts(const struct swept_wait *swept, const struct culprit_sums *culprits,
		      void *data)
{
	struct thread_waits *w = ((struct sums *)data)->w;
	struct thread_wait *wait = &w->list[swept->id];

	if (w->nr_parts >= WAIT_PARTS_MAX)
		return 0;
	wait->parts = (uint32_t)w->nr_parts;
	for (uint32_t i = 0; i < culprits->nr && i < WAIT_PARTS_EACH; i++) {
		const struct culprit_sum *part = &culprits->parts[i];

		if (!room_for_one(&w->parts, w->nr_parts, &w->parts_room))
			return -ENOMEM;
		w->parts[w->nr_parts++] =
			(struct wait_part){culprit_sums_culprit(part),
					   (int32_t)culprit_sums_on(part), part->use.time_ns};
	}
	wait->nr_parts = (uint32_t)w->nr_parts - wait->parts;
	return 0;
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
		swept[i] = (struct swept_wait){
			.from = wait_from(wait, w->begin),
			.to = wait_to(wait, w->end),
			.machine = wait->machine,
			.cpu = wait->cpu,
			.id = (uint32_t)i,
			.told = wait->end - wait->begin >= s->long_ns,
			.sum = &s->threads[wait->thread],
		};
	}
	ret = wait_sweep(s->users, swept, w->nr, keep_parts, s);
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
	ret = thread_scan(s->history, from, to, keep_wait, s);
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

/* Adds what a culprit had on one more CPU. */
static void add_part(struct cpu_use *use, const struct culprit_sum *part)
{
	const struct use_sum *more = &part->use;

	use->several_cpus |= use->on != culprit_sums_on(part);
	use->count += more->count;
	use->time_ns += more->time_ns;
	if (more->longest_ns > use->longest_ns ||
	    (more->longest_ns == use->longest_ns && more->longest_at < use->longest_at)) {
		use->longest_ns = more->longest_ns;
		use->longest_at = more->longest_at;
		use->on = culprit_sums_on(part);
	}
}

/* The use by the part's culprit of the thread whose first one is @first; NULL: no memory.
 * @by_culprit: where its last one is. */
static struct cpu_use *use_of(struct thread_waits *w, size_t first, size_t *by_culprit,
			      const struct culprit_sum *part)
{
	uint32_t culprit = culprit_sums_culprit(part);
	size_t *at = &by_culprit[culprit];

	if (*at >= first && *at < w->nr_uses && w->uses[*at].number == culprit)
		return &w->uses[*at];
	if (!room_for_one(&w->uses, w->nr_uses, &w->uses_room))
		return NULL;
	*at = w->nr_uses++;
	w->uses[*at] = (struct cpu_use){.on = culprit_sums_on(part), .number = culprit};
	return &w->uses[*at];
}

/* In the order in which they were met: waits came CPU by CPU, not in the order of time. */
static bool sort_parts(struct sums *s, const struct culprit_sums *culprits)
{
	while (s->order_room < 2 * (size_t)culprits->nr) { /* key_sort() wants room, too */
		if (!grow_array(&s->order, &s->order_room, sizeof(*s->order)))
			return false;
	}
	for (uint32_t i = 0; i < culprits->nr; i++)
		s->order[i] = (struct sort_item){sort_key(culprits->parts[i].met), i};
	key_sort(s->order, culprits->nr);
	return true;
}

/* Keeps what a thread's waits were made of, in the order in which each culprit was met. */
static int keep_thread(struct sums *s, int64_t row, size_t *by_culprit)
{
	const struct culprit_sums *culprits = &s->threads[row];
	struct waiter *waiter = &s->w->waiters[row];

	waiter->first = s->w->nr_uses;
	if (!sort_parts(s, culprits))
		return -ENOMEM;
	for (uint32_t i = 0; i < culprits->nr; i++) {
		const struct culprit_sum *part = &culprits->parts[s->order[i].at];
		struct cpu_use *use = use_of(s->w, waiter->first, by_culprit, part);

		if (!use)
			return -ENOMEM;
		add_part(use, part);
	}
	waiter->nr = s->w->nr_uses - waiter->first;
	return 0;
}

static int keep_uses(struct sums *s)
{
	size_t *by_culprit = calloc(s->users->culprits->nr, sizeof(*by_culprit));
	int ret = by_culprit ? 0 : -ENOMEM;

	for (int64_t row = 0; row < sonde_nr_threads(s->history) && !ret; row++) {
		if (s->threads[row].nr)
			ret = keep_thread(s, row, by_culprit);
	}
	free(by_culprit);
	return ret;
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
	int64_t nr_threads = sonde_nr_threads(s->history);
	int ret = cpu_users_hold(s->users, w->begin, w->end);

	w->waiters = calloc((size_t)nr_threads + 1, sizeof(*w->waiters));
	s->threads = calloc((size_t)nr_threads + 1, sizeof(*s->threads));
	if (!ret)
		ret = w->waiters && s->threads ? sum_window(s, w->begin, w->end) : -ENOMEM;
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

static void release_sums(struct sums *s)
{
	for (int64_t row = 0; s->threads && row < sonde_nr_threads(s->history); row++)
		culprit_sums_release(&s->threads[row]);
	free(s->threads);
	free(s->order);
}

static int failed(struct error *err, int ret)
{
	return fail(err, ret, "cannot follow a thread's states: %s", error_reason(ret));
}

static void release(struct kept *kept)
{
	struct thread_waits *w = (struct thread_waits *)kept;

	free(w->waiters);
	free(w->uses);
	free(w->parts);
	free(w->list);
	free(w);
}

static const struct kept_kind kind = {release};

int thread_waits_get(const struct thread_waits **out, struct sonde_history *history, ns_t begin,
		     ns_t end, struct error *err)
{
	struct thread_waits *w = kept_find(history, &kind);
	struct sums s = {.history = history};
	int ret;

	*out = w;
	if (w && w->begin == begin && w->end == end)
		return 0;
	kept_drop(history, &kind);
	*out = NULL;
	w = calloc(1, sizeof(*w));
	ret = w ? cpu_users_get(&s.users, history) : -ENOMEM;
	if (ret) {
		free(w);
		return fail(err, ret, "out of memory");
	}
	query_threads(history); /* without the memory for all of them each costs more */
	w->begin = begin;
	w->end = end;
	s.w = w;
	ret = sum_up(&s);
	release_sums(&s);
	if (ret) {
		release(&w->kept);
		return failed(err, ret);
	}
	kept_set(history, &kind, &w->kept);
	*out = w;
	return 0;
}

/* ---- one by one ---------------------------------------------------------------------------- */

int thread_waits_scan(const struct thread_waits *w, struct sonde_history *history,
		      void (*each)(const struct thread_wait *wait, void *data), void *data,
		      struct error *err)
{
	int ret = w->too_many ? thread_scan(history, w->begin, w->end, each, data) : 0;

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

int thread_wait_parts(const struct thread_waits *w, struct sonde_history *history,
		      const struct thread_wait *wait,
		      bool (*each)(const struct wait_part *part, void *data), void *data)
{
	struct telling t = {each, data};
	struct cpu_users *users;
	int ret = cpu_users_get(&users, history);

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
