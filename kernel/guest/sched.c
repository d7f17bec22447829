// SPDX-License-Identifier: GPL-2.0-only
/* Events of the scheduler, of tasks' lives, and system calls. */
#include <linux/binfmts.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include <asm/syscall.h>

#include <trace/events/sched.h>
#include <trace/events/syscalls.h>
#include <trace/events/task.h>

#include "probes.h"
#include "stream.h"

static __always_inline enum ht_state state_of(bool preempt, unsigned int state)
{
	if (preempt || !state)
		return HT_RUNNABLE;
	if (state & TASK_INTERRUPTIBLE)
		return HT_SLEEPING;
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? HT_IDLE : HT_BLOCKED;
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		return HT_STOPPED;
	if (state & (TASK_DEAD | EXIT_DEAD | EXIT_ZOMBIE))
		return HT_DEAD;
	return HT_OTHER;
}

/* The hottest of all; interrupts are off. */
static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	struct stream *s = stream_enter_irqs_off();
	enum ht_state state;
	int slot;

	if (unlikely(!s))
		return;
	state = state_of(preempt, prev_state);
	slot = ht_slot(&s->w, next->pid);
	if (unlikely(slot < 0) || unlikely(!ht_switch_slot(&s->w, s->now, slot, state))) {
		struct ht_task task = task_named(next);

		STREAM_PUT(s, ht_switch(&s->w, s->now, &task, state));
	}
	stream_leave_irqs_off(s);
}

static __always_inline void wakes(enum ht_record record, struct task_struct *p)
{
	u64 cpu = task_cpu(p);

	stream_task(record, p, &cpu, 1);
}

static void on_waking(void *data, struct task_struct *p)
{
	wakes(HT_WAKING, p);
}

static void on_wakeup(void *data, struct task_struct *p)
{
	wakes(HT_WAKEUP, p);
}

static void on_wakeup_new(void *data, struct task_struct *p)
{
	wakes(HT_WAKEUP_NEW, p);
}

static void on_migrate(void *data, struct task_struct *p, int to)
{
	const u64 args[] = {task_cpu(p), to};

	stream_task(HT_MIGRATE, p, args, 2);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	const u64 args[] = {child->pid, child->tgid};

	stream_task(HT_FORK, parent, args, 2);
}

static void on_exec(void *data, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm)
{
	u64 process = p->tgid;

	stream_text(HT_EXEC, &process, 1, bprm->filename);
}

static void on_exit(void *data, struct task_struct *p)
{
	stream_task(HT_EXIT, p, NULL, 0);
}

static void on_rename(void *data, struct task_struct *p, const char *name)
{
	unsigned long flags;
	struct stream *s = stream_enter(&flags);
	struct ht_task task = task_named(p);

	if (!s)
		return;
	STREAM_PUT(s, ht_task_text(&s->w, s->now, HT_RENAME, &task, name,
				   strnlen(name, TASK_COMM_LEN - 1)));
	stream_leave(s, flags);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long id)
{
	u64 number = id;

	if (id >= 0)
		stream_record(HT_SYSCALL_ENTRY, &number, 1);
}

static void on_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	/* -1 at the end of a signal handler: rt_sigreturn put back what was interrupted. */
	const u64 args[] = {ht_signed(syscall_get_nr(current, regs)), ht_signed(ret)};

	stream_record(HT_SYSCALL_EXIT, args, 2);
}

static struct probe probes[] = {
	PROBE(SCHED, sched_switch, on_switch),	      PROBE(SCHED, sched_waking, on_waking),
	PROBE(SCHED, sched_wakeup, on_wakeup),	      PROBE(SCHED, sched_wakeup_new, on_wakeup_new),
	PROBE(SCHED, sched_migrate_task, on_migrate), PROBE(TASK, sched_process_fork, on_fork),
	PROBE(TASK, sched_process_exec, on_exec),     PROBE(TASK, sched_process_exit, on_exit),
	PROBE(TASK, task_rename, on_rename),	      PROBE(SYSCALL, sys_enter, on_sys_enter),
	PROBE(SYSCALL, sys_exit, on_sys_exit),
};

const struct probe_table sched_probes = {probes, ARRAY_SIZE(probes)};
