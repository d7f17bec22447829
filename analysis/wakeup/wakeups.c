/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wakeup/wakeups.h"
#include "analysis/sched/cpu_users.h"
#include "analysis/keyed.h"
#include "query/losses.h"
#include "analysis/sched/thread_tracks.h"
#include "base/grow.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A vCPU's thread made ready to run, and when the wake-up had begun that led to it. */
struct chain {
	int64_t thread;
	ns_t runnable, begin;
};

struct scan {
	struct sonde_history *history;
	struct cpu_users *users;
	struct interval_cache *cache; /* its: of CPUs */
	const struct sonde_context *contexts;
	const struct sonde_thread *threads;
	int64_t nr_contexts, nr_threads;
	struct thread_tracks *tracks;
	struct keyed wakes;   /* struct sonde_wake, per vCPU and number of its interrupt */
	struct chain *chains; /* owned */
	size_t nr, room;
	struct map by_runnable; /* thread and time -> index of chains */
	bool awake;
	ns_t begin, end;
	int64_t vcpu;			       /* the one at hand */
	struct sonde_cpu cpu;		       /* ... and its row */
	struct track task;		       /* ... what its guest runs there */
	struct losses losses;		       /* ... of its guest; read when first asked for */
	struct losses above[SONDE_LAYERS_MAX]; /* ... of the machines around its host */
	unsigned level;
	bool traced;
	bool (*each)(const struct wakeup *w, void *data);
	void *data;
	bool stop;
	int ret;
};

static uint64_t chain_key(int64_t thread, ns_t runnable)
{
	return (uint64_t)runnable * 0x9e3779b97f4a7c15ull ^ (uint64_t)thread;
}

/* Remembers what wakes a vCPU's thread, for the vCPU's own wake-up. */
static int keep_chain(struct scan *s, const struct wakeup *w)
{
	if (w->runnable < 0 || s->threads[w->thread].vcpu < 0)
		return 0;
	if (!room_for_one(&s->chains, s->nr, &s->room))
		return -ENOMEM;
	s->chains[s->nr] = (struct chain){w->thread, w->runnable, w->begin};
	return map_put(&s->by_runnable, chain_key(w->thread, w->runnable), (uint32_t)s->nr++);
}

static ns_t chain_begin(const struct scan *s, ns_t woken)
{
	int64_t thread = s->cpu.host_thread;
	const uint32_t *at;

	if (thread < 0)
		return woken;
	at = map_get(&s->by_runnable, chain_key(thread, woken));
	if (!at || s->chains[*at].thread != thread || s->chains[*at].runnable != woken)
		return woken;
	return s->chains[*at].begin;
}

/* So is what is no thread that there is. */
static bool is_idle(const struct scan *s, uint32_t task)
{
	return !task || task > s->nr_threads || !s->threads[task - 1].tid;
}

/* What stands behind a value of a CPU's `runs`, or of `waker`, if it is code of the vCPU at hand;
 * else NULL. */
static const struct sonde_context *code_of(const struct scan *s, uint32_t value)
{
	const struct sonde_context *c =
		value && value <= s->nr_contexts ? &s->contexts[value - 1] : NULL;

	return c && c->machine == s->cpu.machine && c->cpu == s->cpu.number ? c : NULL;
}

/* Whether the vCPU's machine lost events then. */
static bool has_losses(struct scan *s, ns_t from, ns_t to)
{
	if (!s->losses.list)
		s->ret = losses_init(&s->losses, s->history, (int)s->cpu.machine);
	return !s->ret && losses_touch(&s->losses, from, to);
}

/* A thread of a nested vCPU's host is woken by code of that host, which had to be woken itself,
 * maybe where its own host lost events.  That wake-up lasts until the thread has a CPU. */
static bool may_have_begun_before(struct scan *s, const struct wait *w)
{
	struct sonde_machine m;
	int machine = (int)s->cpu.machine;

	if (s->level < 2 || s->cpu.host_thread < 0 || sonde_machine_get(s->history, machine, &m) ||
	    sonde_machine_get(s->history, m.parent, &m))
		return false;
	for (unsigned i = 0; i < SONDE_LAYERS_MAX && m.parent >= 0 && !s->ret; i++) {
		if (!s->above[i].list)
			s->ret = losses_init(&s->above[i], s->history, m.parent);
		if (s->ret || losses_touch(&s->above[i], w->begin, w->ran) ||
		    sonde_machine_get(s->history, m.parent, &m))
			return true;
	}
	return false;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	bool *hidden = data;

	*hidden |= i->value == VCPU_UNKNOWN;
	return !*hidden;
}

/* What the vCPU at hand did then may not be seen: it is not known where it was. */
static bool is_hidden(struct scan *s, ns_t from, ns_t to)
{
	attr_t state = s->history->cpu_attrs[s->vcpu][CPU_STATE];
	bool hidden = false;

	if (state != ATTR_NONE && from < to && !s->ret)
		s->ret = interval_cache_walk(s->cache, state, from, to, each_state, &hidden);
	return hidden;
}

/* Whether the thread became ready to run then.  Where nothing was known of it before, and nobody is
 * seen to wake it, it may have been ready for long. */
static bool is_known_since(struct scan *s, int64_t thread, ns_t runnable)
{
	struct sonde_interval before, waker;

	return thread_state_at(s->tracks, thread, runnable - 1, &before) ||
	       before.value != THREAD_UNKNOWN ||
	       (!thread_waker_at(s->tracks, thread, runnable, &waker) && waker.value &&
		waker.begin == runnable);
}

/* The first thread that the guest runs after the entry, unless it halts before.  Where nothing is
 * known of the guest yet, the first that shows is not known to be that.  False: events were lost,
 * of its trace or its host's: it is not known what it did first, so neither what it was woken for.
 */
static bool find_thread(struct scan *s, struct wakeup *w)
{
	attr_t woken = s->history->cpu_attrs[s->vcpu][CPU_WOKEN];
	struct sonde_interval task, awake, state;
	ns_t t = w->wait->entry;

	if (track_at(&s->task, s->cache, t, &task))
		return true;
	if (!task.value && s->traced)
		return !has_losses(s, t, task.end);
	if (!is_idle(s, task.value) || interval_cache_at(s->cache, woken, t, &awake) ||
	    task.end >= awake.end || track_at(&s->task, s->cache, task.end, &task))
		return true;
	if (!task.value && s->traced)
		return !has_losses(s, task.begin, task.end);
	if (is_idle(s, task.value))
		return true;
	if (is_hidden(s, t, task.begin)) /* it may have halted in between */
		return false;
	w->thread = (int64_t)task.value - 1;
	w->running = task.begin;
	if (thread_state_at(s->tracks, w->thread, w->running - 1, &state))
		return true;
	if (state.value <= THREAD_UNKNOWN) /* what woke it was not seen */
		return false;
	if (state.value != THREAD_RUNNABLE || state.begin < w->wait->woken)
		return true;
	w->runnable = state.begin;
	return is_known_since(s, w->thread, w->runnable);
}

/* ---- what woke the thread ----------------------------------------------------------------------
 */

/* The interrupts that the vCPU at hand handled in a stretch of time. */
struct handlers {
	struct scan *s;
	unsigned nr;
	bool seen;		       /* any of the vCPU's own code */
	bool under_way;		       /* the last one: its own code did nothing else since */
	ns_t begin;		       /* of the last one */
	uint32_t context;	       /* ... its value */
	int64_t number;		       /* of its line, or vector */
	bool whole;		       /* its begin was seen */
	bool hole;		       /* at some time in it nothing is known of what the CPU ran */
	const struct sonde_wake *wake; /* what the vCPU was woken for; NULL: that is not asked */
	bool own, own_before;	       /* the last one is that; one before it was */
};

static bool is_own(const struct handlers *h, int64_t number)
{
	const char *line = query_irq_name(h->s->history, h->s->cpu.machine, number);

	return *line ? !strcmp(line, h->wake->irq) : number == h->wake->vector;
}

/* The CPU's own code runs from @from on. */
static void add_piece(struct handlers *h, uint32_t value, const struct sonde_context *c, ns_t from)
{
	bool is_irq = c->mode == SONDE_MODE_IRQ;

	if (is_irq && !(h->under_way && h->context == value)) {
		h->nr++;
		h->whole = h->seen;
		h->begin = from;
		h->context = value;
		h->number = c->detail;
		h->own_before |= h->own;
		h->own = h->wake && is_own(h, c->detail);
	}
	h->under_way = is_irq;
	h->seen = true;
}

static bool is_unknown(const struct scan *s, uint32_t value)
{
	return value && value <= s->nr_contexts &&
	       s->contexts[value - 1].mode == SONDE_MODE_UNKNOWN;
}

static bool each_run(const struct cpu_run *run, void *data)
{
	struct handlers *h = data;

	for (unsigned i = 0; i < run->list.nr; i++) {
		uint32_t value = run->list.values[i];
		const struct sonde_context *c = code_of(h->s, value);

		h->hole |= is_unknown(h->s, value);
		/* What is not its own came in between: it goes on where it was. */
		if (c)
			add_piece(h, value, c, i ? run->list.begins[i] : run->from);
	}
	return true;
}

#define SOFTIRQ_TIMER 1
#define SOFTIRQ_HRTIMER 8

/* Whether an interrupt on the vCPU at hand woke the thread, by itself or in the soft interrupt in
 * which timers expire.  What another thread or soft interrupt does may be due to any interrupt
 * before. */
static bool woken_by_interrupt(struct scan *s, int64_t thread, ns_t runnable)
{
	struct sonde_interval i;
	const struct sonde_context *c;

	if (thread_waker_at(s->tracks, thread, runnable, &i))
		return false;
	c = code_of(s, i.value);
	return c && (c->mode == SONDE_MODE_IRQ ||
		     (c->mode == SONDE_MODE_SOFTIRQ &&
		      (c->detail == SOFTIRQ_TIMER || c->detail == SOFTIRQ_HRTIMER)));
}

static struct sonde_wake wake_by(const struct sonde_history *history, int64_t vcpu,
				 unsigned machine, int64_t number)
{
	const char *line = query_irq_name(history, machine, number);
	struct sonde_wake wake = {.vcpu = vcpu,
				  .vector = -1,
				  .from = -1,
				  .by = -1,
				  .irq = line,
				  .evidence = "the handler that woke the thread"};
	struct sonde_vector v;

	for (int64_t row = 0; !sonde_vector_get(history, row, &v); row++) {
		if (v.vcpu != vcpu || (*line ? strcmp(v.irq, line) != 0 : v.number != number))
			continue;
		wake.vector = v.number;
		wake.cause = v.cause;
		wake.irq = v.irq;
		break;
	}
	return wake;
}

/* What the interrupt was for that the guest calls line @number, or that has this vector.  A vCPU
 * gets few different ones, so each is looked for once. */
static void set_wake(struct scan *s, struct wakeup *w, int64_t number)
{
	struct sonde_wake *wake = keyed_sum(&s->wakes, (int64_t[]){s->vcpu, number});

	if (!wake) {
		s->ret = -ENOMEM;
		return;
	}
	if (!wake->evidence)
		*wake = wake_by(s->history, s->vcpu, s->cpu.machine, number);
	w->wake = *wake;
}

/* The first interrupt after the entry, or else the first of its kind, is what the vCPU was woken
 * for.  Another one came when it was awake already.  False: events were lost that may tell of one.
 */
static bool find_interrupt(struct scan *s, struct wakeup *w)
{
	struct handlers h = {.s = s, .wake = &w->wake};

	if (w->runnable <= w->wait->entry || !woken_by_interrupt(s, w->thread, w->runnable))
		return true;
	s->ret = cpu_users_runs(s->users, s->cpu.machine, s->cpu.number, w->wait->entry,
				w->runnable, each_run, &h);
	if (s->ret || h.hole || is_hidden(s, w->wait->entry, w->runnable))
		return false;
	if (h.nr < 2 || (h.own && !h.own_before))
		return true;
	w->late = true;
	w->begin = w->woken = w->ran = w->entry = h.begin;
	set_wake(s, w, h.number);
	return true;
}

static bool each_wait(const struct wait *wait, void *data)
{
	struct scan *s = data;
	struct wakeup w = {.wait = wait, .level = s->level, .thread = -1, .runnable = -1};

	if (!wait->ended || wait->polled || wait->unseen || wait->entry >= s->end)
		return true;
	wait_wake(s->history, wait, &w.wake);
	w.begin = chain_begin(s, wait->woken);
	w.woken = wait->woken;
	if (w.begin == w.woken && may_have_begun_before(s, wait))
		return !s->ret;
	w.ran = wait->ran;
	w.entry = w.running = wait->entry;
	if (!find_thread(s, &w) || (s->traced && has_losses(s, w.woken, w.running)) ||
	    !find_interrupt(s, &w))
		return !s->ret;
	s->ret = s->ret ? s->ret : keep_chain(s, &w);
	s->stop = s->ret || !s->each(&w, s->data);
	return !s->stop;
}

/* ---- nobody had to be woken but the thread ------------------------------------------------- */

/* The interrupt that woke it is looked for in so much time before that, first and at most. */
#define LOOK_BACK_NS 200000
#define LOOK_BACK_MAX_NS 20000000

/* What was handled in @h's stretch and in the one just before it: of the last one. */
static void put_before(struct handlers *h, const struct handlers *before)
{
	bool goes_on = before->under_way && before->context == h->context;

	if (!h->nr) {
		*h = *before;
	} else if (!h->whole && before->seen) {
		h->begin = goes_on ? before->begin : h->begin;
		h->whole = goes_on ? before->whole : true;
	}
}

/* The interrupt whose handler, or soft interrupt for timers, made the thread ready that goes on
 * later.  It came while another thread ran, from @since on. */
static bool find_handler(struct scan *s, ns_t since, ns_t runnable, struct handlers *h)
{
	ns_t to = runnable;

	*h = (struct handlers){.s = s};
	for (ns_t back = LOOK_BACK_NS; back <= LOOK_BACK_MAX_NS && !s->ret; back *= 10) {
		ns_t from = runnable - back > since ? runnable - back : since;
		struct handlers before = {.s = s, .seen = from == since};

		s->ret = cpu_users_runs(s->users, s->cpu.machine, s->cpu.number, from, to, each_run,
					&before);
		if (before.hole)
			return false;
		put_before(h, &before);
		if (h->whole || from == since)
			return h->whole && !s->ret;
		to = from;
	}
	return false;
}

/* A thread that runs from @running on: was it woken while another one had the vCPU?  Then when, and
 * by what.  What rules out most, and costs least, comes first. */
static bool find_awake(struct scan *s, int64_t thread, ns_t running, ns_t *runnable,
		       struct handlers *h)
{
	struct sonde_interval state, before, task;

	if (thread_state_at(s->tracks, thread, running - 1, &state) ||
	    state.value != THREAD_RUNNABLE || state.begin <= s->begin ||
	    thread_state_at(s->tracks, thread, state.begin - 1, &before) ||
	    (before.value != THREAD_SLEEPING && before.value != THREAD_BLOCKED) ||
	    !woken_by_interrupt(s, thread, state.begin) ||
	    track_at(&s->task, s->cache, state.begin - 1, &task) || is_idle(s, task.value))
		return false;
	*runnable = state.begin;
	return find_handler(s, task.begin, *runnable, h) && !is_hidden(s, h->begin, *runnable);
}

static void tell_awake(struct scan *s, int64_t thread, ns_t running)
{
	struct wait awake = {.vcpu = s->vcpu, .wake = -1, .ended = true};
	struct wakeup w = {.wait = &awake, .level = s->level, .thread = thread, .late = true};
	struct handlers h;

	if (!find_awake(s, thread, running, &w.runnable, &h) || has_losses(s, h.begin, running))
		return;
	w.begin = w.woken = w.ran = w.entry = h.begin;
	w.running = running;
	set_wake(s, &w, h.number);
	s->stop = s->ret || !s->each(&w, s->data);
}

/* All threads that begin to run in the window. */
static int scan_awake(struct scan *s)
{
	ns_t begin = sonde_history_begin(s->history), end = sonde_history_end(s->history);
	struct sonde_interval task = {.end = s->begin > begin ? s->begin : begin};
	int ret;

	if (s->task.attr == ATTR_NONE)
		return 0;
	ret = track_hold(&s->task, s->cache, s->begin, s->end);
	end = s->end < end ? s->end : end;
	while (task.end < end && !ret && !s->ret && !s->stop) {
		ret = track_at(&s->task, s->cache, task.end, &task);
		if (!ret && task.begin > s->begin && !is_idle(s, task.value))
			tell_awake(s, (int64_t)task.value - 1, task.begin);
	}
	return ret;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int scan_level(struct scan *s, unsigned level, ns_t begin, ns_t end, bool *found)
{
	int ret = 0;

	s->level = level;
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(s->history) && !ret && !s->stop; vcpu++) {
		struct sonde_machine m;

		sonde_cpu_get(s->history, vcpu, &s->cpu);
		if (sonde_machine_get(s->history, s->cpu.machine, &m) || m.level != level)
			continue;
		*found = true;
		s->traced = m.traced;
		s->vcpu = vcpu;
		s->task = (struct track){.attr = s->history->cpu_attrs[vcpu][CPU_TASK]};
		ret = s->awake ? scan_awake(s)
			       : waits_scan(s->cache, vcpu, begin, end, each_wait, s);
		losses_release(&s->losses);
		for (unsigned i = 0; i < SONDE_LAYERS_MAX; i++)
			losses_release(&s->above[i]);
	}
	return ret ? ret : s->ret;
}

static int read_tables(struct scan *s)
{
	s->nr_contexts = sonde_nr_contexts(s->history);
	s->nr_threads = sonde_nr_threads(s->history);
	s->contexts = query_contexts(s->history);
	s->threads = query_threads(s->history);
	if (!s->contexts || !s->threads ||
	    thread_tracks_get(&s->tracks, s->history, s->begin, s->end))
		return -ENOMEM;
	return cpu_users_get(&s->users, s->history);
}

int wakeups_scan(struct sonde_history *history, bool awake, ns_t begin, ns_t end,
		 bool (*each)(const struct wakeup *w, void *data), void *data)
{
	struct scan s = {.history = history,
			 .wakes = {.nr_cells = 2, .sum_bytes = sizeof(struct sonde_wake)},
			 .awake = awake,
			 .begin = begin,
			 .end = end,
			 .each = each,
			 .data = data};
	bool found = true;
	int ret = read_tables(&s);

	s.cache = ret ? NULL : &s.users->cache;
	for (unsigned level = 1; found && !ret && !s.stop; level++) {
		found = false;
		ret = scan_level(&s, level, begin, end, &found);
	}
	thread_tracks_put(s.tracks);
	map_release(&s.by_runnable);
	keyed_release(&s.wakes);
	free(s.chains);
	return ret;
}
