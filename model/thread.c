/* SPDX-License-Identifier: Apache-2.0 */
#include "model/thread.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "model/contexts.h"
#include "model/contradict.h"
#include "model/cpu.h"
#include "model/fuse.h"
#include "model/group.h"
#include "model/machine.h"
#include "model/mute.h"
#include "model/nested.h"
#include "model/namespace.h"
#include "model/peers.h"
#include "model/throttle.h"
#include "model/vcpu.h"
#include "source/trace.h"

static void make_attrs(struct thread *th)
{
	struct machine_state *mc = th->machine;
	struct history_writer *w = mc->model->w;
	char name[16];

	if (mc->threads_dir == ATTR_NONE)
		mc->threads_dir = history_writer_attr(w, mc->dir, "threads", ATTR_DIR, 0);
	snprintf(name, sizeof(name), "%u", th->row);
	th->dir = history_writer_attr(w, mc->threads_dir, name, ATTR_DIR, 0);
	th->state_attr = history_writer_attr(w, th->dir, "state", ATTR_ENUM, 0);
}

struct thread *thread_new(struct machine_state *mc, int32_t tid)
{
	struct model *m = mc->model;
	struct thread *th = arena_alloc(&m->arena, sizeof(*th));

	if (!th || model_grow(m, (void **)&m->threads, m->nr_threads, &m->threads_room,
			      sizeof(*m->threads))) {
		model_no_memory(m);
		return NULL;
	}
	th->machine = mc;
	th->row = m->nr_threads;
	th->tid = tid;
	for (unsigned i = 0; i < NR_PEERS; i++)
		th->peers[i].number = -1;
	th->pid = tid >= 0 && tid <= 2 ? tid : -1; /* idle, init and kthreadd */
	th->ppid = -1;
	th->maker = -1;
	th->first_cpu = th->queued_on = -1;
	th->losses = thread_known_since(mc);
	th->begin = m->now;
	th->end = NS_MAX;
	th->process_since = NS_MIN;
	th->woken_at = th->ran_at = NS_MIN;
	th->state = THREAD_NONE;
	th->kind = tid == 0 || tid == 2 ? KIND_KERNEL : KIND_UNKNOWN; /* 2 is kthreadd */
	th->dir = th->state_attr = th->cpu_attr = th->comm_attr = th->waker_attr = ATTR_NONE;
	if (tid > 0 && map_put(&m->by_tid, pair_key(mc, (uint32_t)tid), th->row)) {
		model_no_memory(m);
		return NULL;
	}
	m->threads[m->nr_threads++] = th;
	th->next_of_machine = mc->threads;
	mc->threads = th;
	if (th->pid > 0)
		peers_set_process(th, th->pid);
	if (tid > 0) {
		make_attrs(th);
		thread_set_state(th, THREAD_UNKNOWN);
	}
	return th;
}

struct thread *thread_find(struct machine_state *mc, int32_t tid)
{
	uint32_t *row = tid > 0 ? map_get(&mc->model->by_tid, pair_key(mc, (uint32_t)tid)) : NULL;

	return row ? mc->model->threads[*row] : NULL;
}

/* The living thread with this TID, made when it is new.  TID 0 is the idle task of @cpu; without
 * a CPU, and for TIDs that cannot be, NULL. */
struct thread *thread_get(struct machine_state *mc, int32_t tid, struct cpu *cpu)
{
	struct thread *th;

	if (unlikely(tid <= 0)) {
		if (tid < 0 || !cpu)
			return NULL;
		if (!cpu->idle)
			cpu->idle = thread_new(mc, 0);
		return cpu->idle;
	}
	th = thread_find(mc, tid);
	return likely(th) ? th : thread_new(mc, tid);
}

static enum vcpu_state vcpu_state_of(enum thread_state state)
{
	switch (state) {
	case THREAD_RUNNING:
		return VCPU_ON_CPU;
	case THREAD_RUNNABLE:
		return VCPU_PREEMPTED;
	case THREAD_SLEEPING:
	case THREAD_BLOCKED:
	case THREAD_STOPPED:
		return VCPU_WAITING;
	case THREAD_DEAD:
		return VCPU_GONE;
	default:
		return VCPU_UNKNOWN;
	}
}

/*
 * That it runs, or is ready to, is its own kernel's word.  Where nothing is known of the CPU that
 * this kernel itself has, it is not known whether anything runs there.  Neither is it known where
 * a thread is that was last seen to leave a CPU, while the trace lacks one of the machine's CPUs:
 * it may run on that one.
 */
static enum vcpu_state visible_state(const struct thread *th)
{
	enum vcpu_state state = vcpu_state_of(th->state);

	if ((state == VCPU_ON_CPU || state == VCPU_PREEMPTED) &&
	    (!th->last_on || !th->last_on->known))
		return VCPU_UNKNOWN;
	if ((state == VCPU_WAITING || state == VCPU_PREEMPTED) && th->machine->nr_uncovered)
		return VCPU_UNKNOWN;
	return state;
}

void thread_show_vcpu_state(struct thread *th)
{
	struct cpu *vcpu = th->vcpu;
	enum vcpu_state state;

	if (!vcpu)
		return;
	state = visible_state(th);
	if (vcpu->vcpu_state != state) {
		vcpu->vcpu_state = state;
		model_set(th->machine->model, vcpu->state, state);
	}
	cpu_reveal(vcpu);
}

static void keep_off(struct thread *th)
{
	struct machine_state *mc = th->machine;

	th->offed = &mc->off;
	th->next_off = mc->off;
	if (mc->off)
		mc->off->offed = &th->next_off;
	mc->off = th;
}

static void drop_off(struct thread *th)
{
	*th->offed = th->next_off;
	if (th->next_off)
		th->next_off->offed = th->offed;
	th->offed = NULL;
}

static bool waits_or_sleeps(enum thread_state state)
{
	return state == THREAD_RUNNABLE || state == THREAD_SLEEPING || state == THREAD_BLOCKED ||
	       state == THREAD_STOPPED;
}

/* What it does for its vCPU, or waits for, ends unseen. */
static void doubt_vcpu(struct thread *th)
{
	if (!th->vcpu)
		return;
	wake_lost(th->vcpu);
	vcpu_forget(th->vcpu);
}

/* While events of a CPU are lost, whoever sleeps may be woken by it.  Whoever is ready may have it,
 * until an event tells who does.  So it is with a CPU that the trace does not cover. */
void thread_set_state(struct thread *th, enum thread_state state)
{
	bool off = waits_or_sleeps(state);

	if (unlikely(thread_may_run_unseen(th->machine)) && off) {
		state = THREAD_UNKNOWN;
		off = false;
		doubt_vcpu(th);
	} else if (unlikely(th->machine->nr_lost) && state == THREAD_RUNNABLE) {
		state = THREAD_UNKNOWN;
	}
	if (off != (th->offed != NULL)) {
		if (off)
			keep_off(th);
		else
			drop_off(th);
	}
	if (th->state == state)
		return;
	if (th->state == THREAD_DEAD && th->vcpu)
		nested_outer_is_up(th->vcpu);
	th->state = state;
	model_set(th->machine->model, th->state_attr, state);
	thread_show_vcpu_state(th);
}

void thread_forget_waker(struct thread *th)
{
	th->woken_by = NULL;
	th->woken_in = NS_MIN;
	if (th->waker_attr != ATTR_NONE)
		model_set(th->machine->model, th->waker_attr, 0);
}

void thread_doubt_all(struct machine_state *mc)
{
	while (mc->off) {
		thread_forget_waker(mc->off);
		doubt_vcpu(mc->off);
		thread_set_state(mc->off, THREAD_UNKNOWN);
	}
}

void thread_doubt_waker(struct thread *th)
{
	if (unlikely(th->losses != th->machine->losses) && th->woken_at <= th->ran_at)
		thread_forget_waker(th);
}

/* Most threads never leave the CPU they start on: that one is in the table. */
static void show_cpu(struct thread *th)
{
	struct model *m = th->machine->model;

	if (th->cpu_attr == ATTR_NONE)
		th->cpu_attr = history_writer_attr(m->w, th->dir, "cpu", ATTR_NUMBER, 0);
	model_set(m, th->cpu_attr, (uint32_t)th->last_on->number + 1);
}

/* Its vCPU's attributes show its state: called when either is new to the other. */
void thread_show_vcpu(struct thread *th)
{
	struct model *m = th->machine->model;

	thread_show_vcpu_state(th);
	model_set(m, th->vcpu->on, th->on ? (uint32_t)th->on->number + 1 : 0);
	if (th->last_on)
		show_cpu(th);
}

static void unlist(struct thread *th)
{
	if (!th->listed)
		return;
	*th->listed = th->next_left;
	if (th->next_left)
		th->next_left->listed = th->listed;
	th->listed = NULL;
}

static void list(struct thread *th, struct cpu *cpu)
{
	unlist(th);
	th->listed = &cpu->left;
	th->next_left = cpu->left;
	if (cpu->left)
		cpu->left->listed = &th->next_left;
	cpu->left = th;
}

void thread_leave_list(struct thread *th, enum thread_state state)
{
	unlist(th);
	thread_set_state(th, state);
}

/* Keeps thread and CPU consistent: one of them each. */
void thread_set_on(struct thread *th, struct cpu *cpu)
{
	struct model *m = th->machine->model;

	assert(!cpu || cpu->machine == th->machine);
	th->on = cpu;
	if (cpu)
		unlist(th);
	else if (th->last_on)
		list(th, th->last_on);
	if (cpu && th->last_on != cpu) {
		bool moves = th->last_on;

		th->last_on = cpu;
		if (!moves)
			th->first_cpu = cpu->number;
		if (th->tid && (moves || th->vcpu))
			show_cpu(th);
	}
	if (th->vcpu)
		model_set(m, th->vcpu->on, cpu ? (uint32_t)cpu->number + 1 : 0);
	if (cpu)
		thread_show_vcpu_state(th);
}

void thread_set_comm(struct thread *th, const char *comm)
{
	struct model *m = th->machine->model;
	size_t len_bytes;
	uint32_t id;

	if (!comm || likely(!strncmp(comm, th->comm, COMM_LEN)))
		return;
	len_bytes = strnlen(comm, COMM_LEN);
	memset(th->comm, 0, COMM_LEN);
	memcpy(th->comm, comm, len_bytes);
	id = history_writer_string(m->w, comm, len_bytes);
	th->comm_id = id;
	if (!th->first_comm_id) {
		th->first_comm_id = id;
		return;
	}
	if (!th->tid)
		return;
	if (th->comm_attr == ATTR_NONE)
		th->comm_attr = history_writer_attr(m->w, th->dir, "comm", ATTR_STRING, 0);
	model_set(m, th->comm_attr, id);
}

void thread_forget(struct thread *th)
{
	th->where = WHERE_UNKNOWN;
	th->in_softirq = false;
	th->acts_for = 0; /* it may have slept since */
	th->losses = thread_known_since(th->machine);
	if (th->vcpu)
		vcpu_forget(th->vcpu);
}

void thread_end(struct thread *th)
{
	struct model *m = th->machine->model;
	uint32_t *row = map_get(&m->by_tid, pair_key(th->machine, (uint32_t)th->tid));

	if (th->on) {
		struct cpu *cpu = th->on;

		thread_set_on(th, NULL);
		cpu_lose_thread(cpu);
	}
	if (th->vcpu) {
		wake_gone(th->vcpu);
		vcpu_forget(th->vcpu);
	}
	if (row && *row == th->row)
		map_del(&m->by_tid, pair_key(th->machine, (uint32_t)th->tid));
	if (th->machine->block.open &&
	    map_put(&m->ended, pair_key(th->machine, (uint32_t)th->tid), th->machine->nr_blocks))
		model_no_memory(m);
	if (th->end == NS_MAX)
		th->end = m->now;
	for (unsigned i = 0; i < NR_PEERS; i++)
		peers_put(th, i, -1);
	thread_leave_list(th, THREAD_DEAD);
}

/*
 * prev_state of sched_switch.  The low bits are the same in all kernels and in both tracers;
 * above them, 0x100 (0x400, 0x800 ... in kernels before 4.14) means "was preempted", and 0x80 is
 * "idle" (alone, since 4.14) or "wakes on fatal signals" (beside 2, before).
 */
enum thread_state thread_state_of(int64_t prev_state)
{
	if (prev_state & 0x30)
		return THREAD_DEAD;
	if (prev_state & 0x2)
		return THREAD_BLOCKED;
	if (prev_state & 0xc)
		return THREAD_STOPPED;
	return prev_state & 0xc1 ? THREAD_SLEEPING : THREAD_RUNNABLE;
}

/* A vCPU's thread wakes another vCPU's, by itself and not for an interrupt that it happened to
 * handle: see group.c. */
static void note_wakeup(struct cpu *cpu, const struct thread *woken)
{
	const struct thread *waker = cpu->thread;

	if (waker && waker->vcpu && woken->vcpu && waker != woken && !cpu->nr_irqs &&
	    cpu->machine->sees_interrupts && waker->vcpu->vcpu.reason >= 0)
		group_note_wakeup(waker->vcpu, woken->vcpu);
}

/* Whether this CPU is the one that wakes.  sched_waking is recorded there; sched_wakeup may be on
 * the CPU that the thread is to run on, which puts into its queue whom others have woken: for
 * traces without the first it tells where it names another CPU. */
static bool wakes_here(const struct cpu *cpu, const struct event *e)
{
	return e->kind != EV_SCHED_WAKEUP ||
	       (!cpu->machine->sees_waking && e->arg[1] >= 0 && e->arg[1] != cpu->number);
}

/* Who woke it: what this CPU does, as its own kernel sees it. */
static void show_waker(struct cpu *cpu, struct thread *th, const struct event *e)
{
	struct machine_state *mc = cpu->machine;
	struct context waker;

	if (e->kind == EV_SCHED_WAKEUP && mc->sees_waking)
		return;
	if (th->waker_attr == ATTR_NONE)
		th->waker_attr = history_writer_attr(mc->model->w, th->dir, "waker", ATTR_ROW, 0);
	/* While events are lost, it may have run since, and been woken by another. */
	if (!wakes_here(cpu, e) || cpu_handler_unknown(cpu) ||
	    unlikely(thread_may_run_unseen(mc))) {
		thread_forget_waker(th);
		return;
	}
	waker = cpu_own_context(cpu);
	model_set(mc->model, th->waker_attr, context_row(mc->model, &waker));
}

/* Who woke it before is not who did now. */
void thread_goes_on(struct thread *th)
{
	bool may_have_slept = th->state != THREAD_RUNNABLE && th->state != THREAD_RUNNING;

	if (may_have_slept && th->woken_at <= th->ran_at && th->waker_attr != ATTR_NONE)
		model_set(th->machine->model, th->waker_attr, 0);
}

/* Waking starts the wait for a CPU.  A thread that still runs on its way to sleep may be woken,
 * too: it then simply does not sleep. */
void thread_wake(struct cpu *cpu, const struct event *e)
{
	struct thread *th = thread_get(cpu->machine, (int32_t)e->arg[0], NULL);

	if (!th)
		return;
	thread_set_comm(th, event_str(e, 2));
	cpu->machine->sees_waking |= e->kind == EV_SCHED_WAKING;
	show_waker(cpu, th, e);
	if (e->kind == EV_SCHED_WAKING)
		note_wakeup(cpu, th);
	if (e->kind == EV_SCHED_WAKING || (!cpu->machine->sees_waking && wakes_here(cpu, e)))
		wake_thread(cpu, th);
	else if (e->kind == EV_SCHED_WAKEUP)
		thread_goes_on(th);
	if (e->kind != EV_SCHED_WAKING) /* which comes before a CPU is chosen */
		contradict_queued(cpu, e->arg[1]);
	if (th->on)
		return;
	if (th->last_on && !th->listed)
		list(th, th->last_on);
	if (th->state != THREAD_RUNNABLE)
		throttle_queued(th, e->arg[1]);
	thread_set_state(th, mute_woken(th, e->arg[1]) ? THREAD_UNKNOWN : THREAD_RUNNABLE);
}

#define CLONE_THREAD 0x10000

/* What ftrace's fork event lacks: is it a thread or a process that is being made? */
void thread_new_task(struct machine_state *mc, const struct event *e)
{
	mc->new_tid = (int32_t)e->arg[0];
	mc->new_is_thread = e->arg[1] & CLONE_THREAD;
}

static int32_t process_of_child(const struct thread *parent, const struct event *e)
{
	const struct machine_state *mc = parent->machine;

	if (e->arg[3] >= 0)
		return (int32_t)e->arg[3];
	if (mc->new_tid != (int32_t)e->arg[1])
		return -1;
	return mc->new_is_thread ? parent->pid : mc->new_tid;
}

void thread_set_parent(struct thread *th, int64_t ppid)
{
	if (th->ppid < 0 && !th->machine->losses)
		th->ppid = (int32_t)ppid;
}

bool thread_same_process(const struct thread *a, const struct thread *b)
{
	return machine_process_of(a) == machine_process_of(b) && a->begin >= b->process_since &&
	       b->begin >= a->process_since;
}

/* A new thread starts inside the system call that made it. */
static void inherit(struct thread *parent, struct thread *child, const struct event *e)
{
	peers_set_process(child, process_of_child(parent, e));
	if (child->pid == child->tid)
		child->process_since = child->begin;
	else if (child->pid >= 0 && child->pid == parent->pid)
		child->process_since = parent->process_since;
	child->kind = parent->tid == 2 ? KIND_KERNEL : parent->kind;
	child->where = parent->where;
	child->syscall = parent->syscall;
	child->cgroup = parent->cgroup;
	if (child->pid == child->tid)
		child->ppid = parent->pid;
	else if (child->pid >= 0)
		child->ppid = parent->ppid;
}

void thread_fork(struct machine_state *mc, const struct event *e)
{
	struct thread *parent = thread_get(mc, (int32_t)e->arg[0], NULL);
	struct thread *child = thread_find(mc, (int32_t)e->arg[1]);

	/* The TID can only be free: who had it before is gone. */
	if (child)
		thread_end(child);
	machine_process_gone(mc, (int32_t)e->arg[1]);
	child = e->arg[1] > 0 ? thread_new(mc, (int32_t)e->arg[1]) : NULL;
	if (!child)
		return;
	thread_set_comm(child, event_str(e, 2));
	child->maker = (int32_t)e->arg[0];
	if (parent)
		inherit(parent, child, e);
	namespace_fork(parent, child, e);
	thread_set_state(child, THREAD_RUNNABLE);
}

/* The kernel names a thread that executes a file after the file. */
static void name_after_file(struct thread *th, const struct event *e)
{
	char comm[COMM_LEN] = "";
	struct field_value file;
	size_t begin;

	if (trace_event_field(th->machine->model->stream, e, "filename", &file) || !file.text)
		return;
	file.len = strnlen(file.text, file.len);
	for (begin = file.len; begin > 0 && file.text[begin - 1] != '/'; begin--)
		;
	for (size_t i = 0; i + 1 < COMM_LEN && begin + i < file.len; i++)
		comm[i] = file.text[begin + i];
	if (*comm)
		thread_set_comm(th, comm);
}

/* All other threads of the process end at an exec; the one that did it takes the process's TID. */
static void end_old_tid(struct thread *th, const struct event *e)
{
	struct field_value old;
	struct thread *was;

	if (trace_event_field(th->machine->model->stream, e, "old_tid", &old) &&
	    trace_event_field(th->machine->model->stream, e, "old_pid", &old))
		return;
	was = old.i != th->tid ? thread_find(th->machine, (int32_t)old.i) : NULL;
	if (was && !was->on)
		thread_end(was);
}

void thread_exec(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[0], NULL);

	if (!th)
		return;
	if (th->pid < 0 && th->maker >= 0) {
		struct thread *maker = thread_find(mc, th->maker);

		th->ppid = maker ? maker->pid : -1;
	}
	peers_set_process(th, th->tid);
	if (th->kind == KIND_KERNEL) {
		th->where = WHERE_UNKNOWN;
		th->kind = KIND_USER;
	}
	name_after_file(th, e);
	end_old_tid(th, e);
}

void thread_exit(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[0], NULL);

	if (th) {
		thread_set_comm(th, event_str(e, 2));
		th->exiting = true;
	}
}

void thread_free(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_find(mc, (int32_t)e->arg[0]);

	/* Freeing may be traced late, when the TID is somebody else's already. */
	if (th && (th->exiting || th->state == THREAD_DEAD) && !th->on)
		thread_end(th);
}

void thread_rename(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[0], NULL);

	if (th)
		thread_set_comm(th, event_str(e, 2));
}
