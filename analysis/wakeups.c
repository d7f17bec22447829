/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wakeups.h"
#include "analysis/cpu_users.h"
#include "base/grow.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_ATTR_YET (ATTR_NONE - 1)

/* A vCPU's thread made ready to run, and when the wake-up had begun that led to it. */
struct chain {
	int64_t thread;
	ns_t runnable, begin;
};

struct scan {
	struct sonde_run *run;
	struct cpu_users *users;
	struct strips *strips; /* its: of CPUs */
	struct strips threads; /* of threads: there may be very many, for whom the run's have no room */
	attr_t *states;	      /* owned, per thread row: its `state` */
	struct chain *chains; /* owned */
	size_t nr, room;
	struct map by_runnable; /* thread and time -> index of chains */
	bool awake;
	ns_t begin, end;
	int64_t vcpu; /* the one at hand */
	unsigned level;
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
	struct sonde_thread th;

	if (w->runnable < 0 || sonde_thread(s->run, w->thread, &th) || th.vcpu < 0)
		return 0;
	if (!room_for_one(&s->chains, s->nr, &s->room))
		return -ENOMEM;
	s->chains[s->nr] = (struct chain){w->thread, w->runnable, w->begin};
	return map_put(&s->by_runnable, chain_key(w->thread, w->runnable), (uint32_t)s->nr++);
}

static ns_t chain_begin(const struct scan *s, int64_t vcpu, ns_t woken)
{
	const uint32_t *at;
	struct sonde_cpu cpu;

	if (sonde_cpu(s->run, vcpu, &cpu) || cpu.host_thread < 0)
		return woken;
	at = map_get(&s->by_runnable, chain_key(cpu.host_thread, woken));
	if (!at || s->chains[*at].thread != cpu.host_thread || s->chains[*at].runnable != woken)
		return woken;
	return s->chains[*at].begin;
}

static attr_t thread_state(struct scan *s, int64_t thread)
{
	if (s->states[thread] == NO_ATTR_YET)
		s->states[thread] = sonde_attr_of_thread(s->run, thread, "state");
	return s->states[thread];
}

static bool is_idle(const struct scan *s, uint32_t task)
{
	struct sonde_thread th;

	return !task || sonde_thread(s->run, (int64_t)task - 1, &th) || !th.tid;
}

/* The first thread that the guest runs after the entry, unless it halts before.  Where nothing is
 * known of the guest yet, as before its own trace begins, the first that shows is not known to be
 * that. */
static void find_thread(struct scan *s, struct wakeup *w)
{
	const attr_t *attrs = s->run->cpu_attrs[w->wait->vcpu];
	struct sonde_interval task, awake, state;
	ns_t t = w->wait->entry;

	if (strip_at(s->strips, attrs[CPU_TASK], t, &task) || !task.value ||
	    !is_idle(s, task.value) || strip_at(s->strips, attrs[CPU_WOKEN], t, &awake) ||
	    task.end >= awake.end || strip_at(s->strips, attrs[CPU_TASK], task.end, &task) ||
	    is_idle(s, task.value))
		return;
	w->thread = (int64_t)task.value - 1;
	w->running = task.begin;
	if (w->thread >= sonde_nr_threads(s->run) ||
	    strip_at(&s->threads, thread_state(s, w->thread), w->running - 1, &state))
		return;
	if (state.value == THREAD_RUNNABLE && state.begin >= w->wait->woken)
		w->runnable = state.begin;
}

/* ---- what woke the thread ----------------------------------------------------------------------
 */

/* The interrupts that a CPU handled, up to some moment. */
struct handlers {
	struct scan *s;
	struct sonde_cpu cpu;
	unsigned nr;
	ns_t begin;	 /* of the last one */
	int64_t context; /* ... its row; -1: the CPU's own code did something else since */
	int64_t number;	 /* of its line, or vector */
	bool whole;	 /* its begin was seen */
	bool own_code;	 /* the CPU's other code was seen before it */
	const struct sonde_wake *wake; /* what the vCPU was woken for */
	bool own, own_before; /* the last one is that; one before it was */
};

static bool is_own(const struct handlers *h, int64_t number)
{
	const char *line = run_irq_name(h->s->run, h->cpu.machine, number);

	return *line ? !strcmp(line, h->wake->irq) : number == h->wake->vector;
}

static bool each_piece(const struct cpu_user *user, void *data)
{
	struct handlers *h = data;
	struct sonde_context c;

	/* What is not its own came in between: it goes on where it was. */
	if (sonde_context(h->s->run, user->context, &c) || c.machine != h->cpu.machine ||
	    c.cpu != h->cpu.number)
		return true;
	if (c.mode != SONDE_MODE_IRQ) {
		h->context = -1;
		h->own_code = true;
	} else if (h->context != user->context) {
		h->whole = h->nr++ || h->own_code;
		h->begin = user->from;
		h->context = user->context;
		h->number = c.detail;
		h->own_before |= h->own;
		h->own = is_own(h, c.detail);
	}
	return true;
}

#define SOFTIRQ_TIMER 1
#define SOFTIRQ_HRTIMER 8

/* Whether an interrupt on @vcpu woke the thread, by itself or in the soft interrupt in which timers
 * expire.  What another thread or soft interrupt does may be due to any interrupt before. */
static bool woken_by_interrupt(struct scan *s, const struct wakeup *w, const struct sonde_cpu *vcpu)
{
	attr_t waker = sonde_attr_of_thread(s->run, w->thread, "waker");
	struct sonde_interval i;
	struct sonde_context c;

	if (waker == ATTR_NONE || strip_at(&s->threads, waker, w->runnable, &i) || !i.value ||
	    sonde_context(s->run, (int64_t)i.value - 1, &c) || c.machine != vcpu->machine ||
	    c.cpu != vcpu->number)
		return false;
	return c.mode == SONDE_MODE_IRQ ||
	       (c.mode == SONDE_MODE_SOFTIRQ &&
		(c.detail == SOFTIRQ_TIMER || c.detail == SOFTIRQ_HRTIMER));
}

/* What the interrupt was for that the guest calls line @number, or that has this vector. */
static void set_wake(const struct sonde_run *run, struct wakeup *w, unsigned machine,
		     int64_t number)
{
	const char *line = run_irq_name(run, machine, number);
	struct sonde_vector v;

	w->wake = (struct sonde_wake){.vcpu = w->wait->vcpu,
				      .vector = -1,
				      .from = -1,
				      .by = -1,
				      .irq = line,
				      .evidence = "the handler that woke the thread"};
	for (int64_t row = 0; !sonde_vector(run, row, &v); row++) {
		if (v.vcpu != w->wait->vcpu ||
		    (*line ? strcmp(v.irq, line) != 0 : v.number != number))
			continue;
		w->wake.vector = v.number;
		w->wake.cause = v.cause;
		w->wake.irq = v.irq;
		return;
	}
}

/* The first interrupt after the entry, or else the first of its kind, is what the vCPU was woken for.  Another one
 * came when it was awake already. */
static void find_interrupt(struct scan *s, struct wakeup *w)
{
	struct handlers h = {.s = s, .context = -1, .wake = &w->wake};

	if (w->runnable <= w->wait->entry || sonde_cpu(s->run, w->wait->vcpu, &h.cpu) ||
	    !woken_by_interrupt(s, w, &h.cpu))
		return;
	s->ret = cpu_users_walk(s->users, h.cpu.machine, h.cpu.number, w->wait->entry, w->runnable,
				each_piece, &h);
	if (s->ret || h.nr < 2 || (h.own && !h.own_before))
		return;
	w->late = true;
	w->begin = w->woken = w->ran = w->entry = h.begin;
	set_wake(s->run, w, h.cpu.machine, h.number);
}

static bool each_wait(const struct wait *wait, void *data)
{
	struct scan *s = data;
	struct wakeup w = {.wait = wait, .level = s->level, .thread = -1, .runnable = -1};

	if (!wait->ended || wait->polled || wait->entry >= s->end)
		return true;
	wait_wake(s->run, wait, &w.wake);
	w.begin = chain_begin(s, wait->vcpu, wait->woken);
	w.woken = wait->woken;
	w.ran = wait->ran;
	w.entry = w.running = wait->entry;
	find_thread(s, &w);
	find_interrupt(s, &w);
	s->ret = s->ret ? s->ret : keep_chain(s, &w);
	s->stop = s->ret || !s->each(&w, s->data);
	return !s->stop;
}

/* ---- nobody had to be woken but the thread ------------------------------------------------- */

/* The interrupt that woke it is looked for in so much time before that, first and at most. */
#define LOOK_BACK_NS 200000
#define LOOK_BACK_MAX_NS 20000000

/* The interrupt whose handler, or soft interrupt for timers, made the thread ready that goes on later.  It came while
 * another thread ran, that one's @task. */
static bool find_handler(struct scan *s, struct wakeup *w, const struct sonde_cpu *vcpu,
			 const struct sonde_interval *task, struct handlers *h)
{
	for (ns_t back = LOOK_BACK_NS; back <= LOOK_BACK_MAX_NS && !s->ret; back *= 10) {
		ns_t from = w->runnable - back > task->begin ? w->runnable - back : task->begin;

		*h = (struct handlers){.s = s,
				       .cpu = *vcpu,
				       .context = -1,
				       .own_code = from == task->begin,
				       .wake = &w->wake};
		s->ret = cpu_users_walk(s->users, vcpu->machine, vcpu->number, from, w->runnable,
					each_piece, h);
		if (h->whole || from == task->begin)
			return h->whole && !s->ret;
	}
	return false;
}

/* @i: a thread runs from its begin on.  Was it woken while another one had the vCPU? */
static bool each_task(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	struct wait awake = {.vcpu = s->vcpu, .wake = -1, .ended = true};
	struct wakeup w = {.wait = &awake, .level = s->level, .late = true, .wake = {.irq = "", .vector = -1}};
	struct sonde_interval state, before, task;
	struct sonde_cpu cpu;
	struct handlers h;

	if (i->begin <= s->begin || i->begin >= s->end || is_idle(s, i->value))
		return true;
	w.thread = (int64_t)i->value - 1;
	w.running = i->begin;
	if (w.thread >= sonde_nr_threads(s->run) ||
	    strip_at(&s->threads, thread_state(s, w.thread), w.running - 1, &state) ||
	    state.value != THREAD_RUNNABLE || state.begin <= s->begin ||
	    strip_at(&s->threads, thread_state(s, w.thread), state.begin - 1, &before) ||
	    (before.value != THREAD_SLEEPING && before.value != THREAD_BLOCKED))
		return true;
	w.runnable = state.begin;
	if (strip_at(s->strips, s->run->cpu_attrs[s->vcpu][CPU_TASK], w.runnable - 1, &task) ||
	    is_idle(s, task.value) || sonde_cpu(s->run, s->vcpu, &cpu) ||
	    !woken_by_interrupt(s, &w, &cpu) || !find_handler(s, &w, &cpu, &task, &h))
		return !s->ret;
	set_wake(s->run, &w, cpu.machine, h.number);
	w.begin = w.woken = w.ran = w.entry = h.begin;
	s->stop = !s->each(&w, s->data);
	return !s->stop;
}

static int scan_awake(struct scan *s)
{
	attr_t task = s->run->cpu_attrs[s->vcpu][CPU_TASK];

	return task == ATTR_NONE ? 0
				 : strip_scan(s->strips, task, s->begin, s->end, each_task, s);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int scan_level(struct scan *s, unsigned level, ns_t begin, ns_t end, bool *found)
{
	int ret = 0;

	s->level = level;
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(s->run) && !ret && !s->stop; vcpu++) {
		struct sonde_machine m;
		struct sonde_cpu cpu;

		sonde_cpu(s->run, vcpu, &cpu);
		if (sonde_machine(s->run, cpu.machine, &m) || m.level != level)
			continue;
		*found = true;
		s->vcpu = vcpu;
		ret = s->awake ? scan_awake(s)
			       : waits_scan(s->strips, vcpu, begin, end, each_wait, s);
	}
	return ret ? ret : s->ret;
}

int wakeups_scan(struct sonde_run *run, bool awake, ns_t begin, ns_t end,
		 bool (*each)(const struct wakeup *w, void *data), void *data)
{
	struct scan s = {.run = run,
			 .threads.run = run,
			 .awake = awake,
			 .begin = begin,
			 .end = end,
			 .each = each,
			 .data = data};
	size_t nr_threads = (size_t)sonde_nr_threads(run);
	bool found = true;
	int ret = -ENOMEM;

	run_threads(run); /* without the memory for all of them each costs more */
	s.states = malloc((nr_threads + 1) * sizeof(*s.states));
	if (s.states) {
		for (size_t i = 0; i < nr_threads; i++)
			s.states[i] = NO_ATTR_YET;
		ret = cpu_users_get(&s.users, run);
	}
	s.strips = ret ? NULL : &s.users->strips;
	for (unsigned level = 1; found && !ret && !s.stop; level++) {
		found = false;
		ret = scan_level(&s, level, begin, end, &found);
	}
	strips_release(&s.threads);
	map_release(&s.by_runnable);
	free(s.chains);
	free(s.states);
	return ret;
}
