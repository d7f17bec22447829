/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/thread_life.h"

#include <string.h>

#include "model/identity/machine.h"
#include "model/identity/namespace.h"
#include "model/state/peers.h"
#include "model/identity/process.h"
#include "model/sched/thread.h"
#include "model/identity/tid.h"
#include "source/trace.h"

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
	process_gone(mc, (int32_t)e->arg[1]);
	child = e->arg[1] > 0 ? thread_new(mc, (int32_t)e->arg[1]) : NULL;
	if (!child)
		return;
	thread_set_comm(child, event_str(e, 2));
	child->maker = (int32_t)e->arg[0];
	if (parent)
		inherit(parent, child, e);
	/* Its namespaces may be new (CLONE_NEWPID), which only this event tells. */
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
