/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers and rows are called. */
#include "query/exits.h"
#include "query/counts.h"
#include "query/query.h"
#include "base/text.h"
#include "model/context.h"

#include <stdio.h>
#include <string.h>

/* KVM_EXIT_... of linux/kvm.h: what a VMM's user space is told. */
static const char *const user_exit_names[] = {
	"UNKNOWN",
	"EXCEPTION",
	"IO",
	"HYPERCALL",
	"DEBUG",
	"HLT",
	"MMIO",
	"IRQ_WINDOW_OPEN",
	"SHUTDOWN",
	"FAIL_ENTRY",
	"INTR",
	"SET_TPR",
	"TPR_ACCESS",
	"S390_SIEIC",
	"S390_RESET",
	"DCR",
	"NMI",
	"INTERNAL_ERROR",
	"OSI",
	"PAPR_HCALL",
	"S390_UCONTROL",
	"WATCHDOG",
	"S390_TSCH",
	"EPR",
	"SYSTEM_EVENT",
	"S390_STSI",
	"IOAPIC_EOI",
	"HYPERV",
	"ARM_NISV",
	"X86_RDMSR",
	"X86_WRMSR",
	"DIRTY_RING_FULL",
	"AP_RESET_HOLD",
	"X86_BUS_LOCK",
	"XEN",
	"RISCV_SBI",
	"RISCV_CSR",
	"NOTIFY",
};

static const char *const softirq_names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

static const char *const mode_names[QUERY_NR_MODES] = {
	[SONDE_MODE_UNKNOWN] = "unknown",
	[SONDE_MODE_IDLE] = "idle",
	[SONDE_MODE_USER] = "user",
	[SONDE_MODE_SYSCALL] = "syscall",
	[SONDE_MODE_IRQ] = "irq",
	[SONDE_MODE_SOFTIRQ] = "softirq",
	[SONDE_MODE_HYPERVISOR] = "hypervisor",
	[SONDE_MODE_GUEST] = "guest",
	[SONDE_MODE_KERNEL] = "kernel",
	[SONDE_MODE_TASK] = "task",
};

const char *user_exit_name(int64_t reason)
{
	return reason >= 0 && reason < (int64_t)ARRAY_SIZE(user_exit_names)
		       ? user_exit_names[reason]
		       : "";
}

const char *softirq_name(int64_t nr)
{
	return nr >= 0 && nr < (int64_t)ARRAY_SIZE(softirq_names) ? softirq_names[nr] : NULL;
}

const char *sonde_mode_name(enum sonde_mode mode)
{
	return (unsigned)mode < QUERY_NR_MODES ? mode_names[mode] : "unknown";
}

const char *query_vcpu_state_name(uint32_t state)
{
	static const char *const names[] = {
		[VCPU_NONE] = "none",	    [VCPU_UNKNOWN] = "unknown",
		[VCPU_ON_CPU] = "on_cpu",   [VCPU_PREEMPTED] = "preempted",
		[VCPU_WAITING] = "waiting", [VCPU_GONE] = "gone",
	};

	return names[state < ARRAY_SIZE(names) ? state : VCPU_UNKNOWN];
}

const char *query_thread_state_name(uint32_t state)
{
	static const char *const names[] = {
		[THREAD_NONE] = "none",		[THREAD_UNKNOWN] = "unknown",
		[THREAD_RUNNING] = "running",	[THREAD_RUNNABLE] = "runnable",
		[THREAD_SLEEPING] = "sleeping", [THREAD_BLOCKED] = "blocked",
		[THREAD_STOPPED] = "stopped",	[THREAD_DEAD] = "dead",
	};

	return names[state < ARRAY_SIZE(names) ? state : THREAD_UNKNOWN];
}

int sonde_thread_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct text text = text_in(buf, room);
	struct sonde_thread t;
	char vcpu[80];

	if (sonde_thread_get(history, row, &t))
		return snprintf(buf, room, "unknown");
	if (t.tid == 0)
		return snprintf(buf, room, "idle");
	if (t.tid < 0) /* an address space: it has a name alone */
		return snprintf(buf, room, "%s", t.comm);
	text_str(&text, *t.comm ? t.comm : "?");
	text_char(&text, '[');
	text_i64(&text, t.tid);
	text_char(&text, ']');
	/* All VMMs of one kind give their threads the same names: say which vCPU this one is. */
	if (t.vcpu >= 0) {
		sonde_cpu_label(history, t.vcpu, vcpu, sizeof(vcpu));
		text_char(&text, '=');
		text_str(&text, vcpu);
	}
	return (int)text_end(&text, room);
}

int sonde_cpu_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_cpu cpu;
	struct sonde_machine m;

	if (sonde_cpu_get(history, row, &cpu) || sonde_machine_get(history, cpu.machine, &m))
		return snprintf(buf, room, "unknown");
	if (cpu.number < 0)
		return snprintf(buf, room, "%s/?", m.name);
	return snprintf(buf, room, "%s/%d", m.name, cpu.number);
}

int sonde_pid_ns_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_thread init;
	struct sonde_pid_ns ns;

	if (sonde_pid_ns_get(history, row, &ns))
		return snprintf(buf, room, "unknown");
	if (*ns.name)
		return snprintf(buf, room, "%s:[%llu]", ns.name, (unsigned long long)ns.inum);
	if (history->ns_init[row] < 0 || sonde_thread_get(history, history->ns_init[row], &init))
		return snprintf(buf, room, "pid:[%llu]", (unsigned long long)ns.inum);
	return snprintf(buf, room, "%s:[%llu]", init.comm, (unsigned long long)ns.inum);
}

int context_mode_label(const struct sonde_context *c, char *buf, size_t room)
{
	const char *mode = sonde_mode_name(c->mode);

	if (*c->detail_text)
		return snprintf(buf, room, "%s %s", mode, c->detail_text);
	if (c->detail >= 0 && c->mode != SONDE_MODE_SYSCALL &&
	    (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ ||
	     c->mode == SONDE_MODE_HYPERVISOR))
		return snprintf(buf, room, "%s %lld", mode, (long long)c->detail);
	return snprintf(buf, room, "%s", mode);
}

int sonde_context_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_context c;
	struct sonde_machine m;
	char thread[64];
	char mode[64];

	if (sonde_context_get(history, row, &c) || sonde_machine_get(history, c.machine, &m))
		return snprintf(buf, room, "unknown");
	context_mode_label(&c, mode, sizeof(mode));
	if (c.mode == SONDE_MODE_IDLE)
		return snprintf(buf, room, "%s idle", m.name);
	sonde_thread_label(history, c.thread, thread, sizeof(thread));
	return snprintf(buf, room, "%s %s %s", m.name, thread, mode);
}
