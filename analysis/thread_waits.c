/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/thread_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/keyed.h"
#include "analysis/longest.h"
#include "base/grow.h"
#include "model/context.h"

struct scan {
	struct sonde_run *run;
	ns_t begin, end;
	int first_cpu;	      /* where the thread was first, -1 unknown */
	attr_t cpu;	      /* where it is or was last, ATTR_NONE: it never moved */
	struct strips strips; /* of the thread's own attributes */
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
	attr_t state;
	int ret;

	sonde_thread(s->run, row, &t);
	if (!t.tid || t.vcpu >= 0 || t.begin >= s->end || (t.end >= 0 && t.end <= s->begin))
		return 0;
	state = sonde_attr_of_thread(s->run, row, "state");
	if (state == ATTR_NONE)
		return 0;
	s->cpu = sonde_attr_of_thread(s->run, row, "cpu");
	s->first_cpu = run_first_cpu(s->run, row);
	s->wait.thread = row;
	s->wait.machine = t.machine;
	s->strips.run = s->run;
	ret = strip_scan(&s->strips, state, s->begin, s->end, each_state, s);
	strips_release(&s->strips);
	return ret ? ret : s->ret;
}

/* All waits that touch the window. */
static int scan_threads(struct sonde_run *run, ns_t begin, ns_t end,
			void (*each)(const struct thread_wait *wait, void *data), void *data)
{
	struct scan s = {.run = run, .begin = begin, .end = end, .each = each, .data = data};
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_threads(run) && !ret; row++)
		ret = scan_thread(&s, row);
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

struct sums {
	struct thread_waits *w;
	struct cpu_users *users;
	struct use_sums of_thread; /* what is being summed up for the thread at hand */
	struct thread_wait *wait;  /* the long one at hand */
	struct memo memo;	   /* the last of its parts that was made, by culprit */
	uint8_t before[WAIT_PARTS_EACH]; /* by its part: the one made before for this culprit, + 1; 0 none */
	ns_t long_ns;		   /* so long is one of the longest */
	bool no_memory;
	int ret;
};

static void keep_wait(const struct thread_wait *wait, void *data)
{
	struct thread_waits *w = data;

	if (w->too_many)
		return;
	w->too_many = w->nr == THREAD_WAITS_MAX || !room_for_one(&w->list, w->nr, &w->room);
	if (!w->too_many)
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

static bool keep_use(const struct cpu_use *use, void *data)
{
	struct thread_waits *w = data;

	if (!room_for_one(&w->uses, w->nr_uses, &w->uses_room))
		return false;
	w->uses[w->nr_uses++] = *use;
	return true;
}

static struct waiter *last_waiter(const struct thread_waits *w)
{
	return w->nr_waiters ? &w->waiters[w->nr_waiters - 1] : NULL;
}

/* The thread at hand has no more waits. */
static int close_waiter(struct sums *s)
{
	struct thread_waits *w = s->w;
	struct waiter *waiter = last_waiter(w);

	if (!waiter)
		return 0;
	waiter->first = w->nr_uses;
	if (!use_sums_take(&s->of_thread, keep_use, w))
		return -ENOMEM;
	waiter->nr = w->nr_uses - waiter->first;
	return 0;
}

static struct waiter *waiter_of(struct sums *s, int64_t thread)
{
	struct thread_waits *w = s->w;
	struct waiter *last = last_waiter(w);

	if (last && last->thread == thread)
		return last;
	if (close_waiter(s) || !room_for_one(&w->waiters, w->nr_waiters, &w->waiters_room))
		return NULL;
	w->waiters[w->nr_waiters] = (struct waiter){.thread = thread};
	return &w->waiters[w->nr_waiters++];
}

/* The part of the wait at hand that @use belongs to; NULL: there is no room for another. */
static struct wait_part *find_part(struct sums *s, const struct cpu_use *use)
{
	struct thread_waits *w = s->w;
	struct wait_part *parts;
	uint64_t owner = s->wait->parts;
	size_t nr = w->nr_parts - owner, last, at;

	last = memo_get(&s->memo, use->number, owner, &at) ? at + 1 : 0;
	for (at = last; at; at = s->before[at - 1]) {
		parts = w->parts + owner;
		if (parts[at - 1].on == use->on)
			return &parts[at - 1];
	}
	if (nr == WAIT_PARTS_EACH)
		return NULL;
	s->no_memory = !room_for_one(&w->parts, w->nr_parts, &w->parts_room);
	if (s->no_memory)
		return NULL;
	s->before[nr] = (uint8_t)last;
	memo_put(&s->memo, use->number, owner, nr);
	parts = w->parts + owner;
	parts[nr] = (struct wait_part){use->number, (int32_t)use->on, 0};
	w->nr_parts++;
	return &parts[nr];
}

static bool keep_part(const struct cpu_use *use, void *data)
{
	struct sums *s = data;
	struct wait_part *part = find_part(s, use);

	use_sums_add(&s->of_thread, use);
	if (part)
		part->time_ns += use->time_ns;
	return !s->no_memory;
}

static int sum_long_wait(struct sums *s, struct thread_wait *wait, ns_t from, ns_t to)
{
	struct thread_waits *w = s->w;
	int ret;

	s->wait = wait;
	wait->parts = (uint32_t)w->nr_parts;
	ret = cpu_users_sum(s->users, wait->machine, wait->cpu, from, to, keep_part, s);
	wait->nr_parts = (uint32_t)w->nr_parts - wait->parts;
	return s->no_memory ? -ENOMEM : ret;
}

static void add_wait(struct sums *s, struct thread_wait *wait)
{
	ns_t from = wait_from(wait, s->w->begin), to = wait_to(wait, s->w->end);
	struct waiter *waiter = waiter_of(s, wait->thread);

	if (!waiter) {
		s->ret = -ENOMEM;
		return;
	}
	waiter->count++;
	waiter->total_ns += to - from;
	waiter->last_begin = wait->begin;
	if (wait->end - wait->begin > waiter->worst_end - waiter->worst_begin) {
		waiter->worst_begin = wait->begin;
		waiter->worst_end = wait->end;
	}
	s->ret = wait->end - wait->begin >= s->long_ns && s->w->nr_parts < WAIT_PARTS_MAX
			 ? sum_long_wait(s, wait, from, to)
			 : cpu_users_add(s->users, wait->machine, wait->cpu, from, to,
					 &s->of_thread);
}

/* One of too many to be kept. */
static void add_passing(const struct thread_wait *wait, void *data)
{
	struct sums *s = data;
	struct thread_wait copy = *wait;

	if (!s->ret)
		add_wait(s, &copy);
}

static int sum_waits(struct sums *s, struct sonde_run *run)
{
	struct thread_waits *w = s->w;
	int ret = 0;

	if (w->too_many)
		ret = scan_threads(run, w->begin, w->end, add_passing, s);
	for (size_t i = 0; i < w->nr && !w->too_many && !s->ret; i++)
		add_wait(s, &w->list[i]);
	ret = ret ? ret : s->ret;
	return ret ? ret : close_waiter(s);
}

static int sum_up(struct thread_waits *w, struct sonde_run *run, struct cpu_users *users)
{
	struct sums s = {.w = w, .users = users, .long_ns = NS_MAX};
	int ret = cpu_users_hold(users, w->begin, w->end);

	if (!ret)
		ret = scan_threads(run, w->begin, w->end, keep_wait, w);
	if (w->too_many) {
		free(w->list);
		w->list = NULL;
		w->nr = w->room = 0;
	} else {
		s.long_ns = find_long(w);
	}
	if (!ret)
		ret = use_sums_init(&s.of_thread, users->culprits);
	if (!ret)
		ret = memo_init(&s.memo, users->culprits->nr);
	if (!ret)
		ret = sum_waits(&s, run);
	use_sums_release(&s.of_thread);
	memo_release(&s.memo);
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
	struct cpu_users *users;
	int ret;

	*out = w;
	if (w && w->begin == begin && w->end == end)
		return 0;
	thread_waits_free(w);
	*out = run->thread_waits = NULL;
	w = calloc(1, sizeof(*w));
	ret = w ? cpu_users_get(&users, run) : -ENOMEM;
	if (ret) {
		free(w);
		return fail(err, ret, "out of memory");
	}
	run_threads(run); /* without the memory for all of them each costs more */
	w->begin = begin;
	w->end = end;
	ret = sum_up(w, run, users);
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
