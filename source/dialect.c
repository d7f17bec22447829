/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dialect.h"

#include <string.h>

#define LTTNG DIALECT_LTTNG
#define FTRACE DIALECT_FTRACE
#define UST DIALECT_UST
#define BOTH (LTTNG | FTRACE)

/* clang-format off: a table */
static const struct dialect_row rows[] = {
	{BOTH, "sched_switch", EV_SCHED_SWITCH,
	 {{"prev_tid|prev_pid", -1}, {"next_tid|next_pid", -1}, {"prev_state", 0}, {"next_comm", 0}, {"prev_comm", 0}}},
	{BOTH, "sched_waking", EV_SCHED_WAKING, {{"tid|pid", -1}, {"target_cpu", -1}, {"comm", 0}}},
	{BOTH, "sched_wakeup", EV_SCHED_WAKEUP, {{"tid|pid", -1}, {"target_cpu", -1}, {"comm", 0}}},
	{BOTH, "sched_wakeup_new", EV_SCHED_WAKEUP_NEW, {{"tid|pid", -1}, {"target_cpu", -1}, {"comm", 0}}},
	{BOTH, "sched_migrate_task", EV_SCHED_MIGRATE, {{"tid|pid", -1}, {"orig_cpu", -1}, {"dest_cpu", -1}}},
	{FTRACE, "cpu_throttle", EV_CPU_THROTTLE, {{"cgroup", 0}, {"cpu", -1}}},
	{FTRACE, "cpu_unthrottle", EV_CPU_UNTHROTTLE, {{"cgroup", 0}, {"cpu", -1}}},
	{BOTH, "cgroup_mkdir", EV_CGROUP_MKDIR, {{"id", 0}, {NULL, 0}, {"path", 0}}},
	{BOTH, "cgroup_attach_task", EV_CGROUP_ATTACH, {{"dst_id", 0}, {"pid", -1}, {"dst_path", 0}}},
	{FTRACE, "cpuhp_enter", EV_CPUHP_ENTER, {{"cpu", -1}, {"target", -1}, {"idx", -1}}},
	{FTRACE, "cpuhp_exit", EV_CPUHP_EXIT, {{"cpu", -1}}},
	{LTTNG, "sched_process_fork", EV_FORK,
	 {{"parent_tid", -1}, {"child_tid", -1}, {"child_comm", 0}, {"child_pid", -1}, {"child_ns_inum|parent_ns_inum", 0}}},
	{FTRACE, "sched_process_fork", EV_FORK, {{"parent_pid", -1}, {"child_pid", -1}, {"child_comm", 0}, {NULL, -1}, {NULL, 0}}},
	{FTRACE, "task_newtask", EV_NEW_TASK, {{"pid", -1}, {"clone_flags", 0}, {"comm", 0}}},
	{LTTNG, "sched_process_exec", EV_EXEC, {{"tid", -1}}},
	{FTRACE, "sched_process_exec", EV_EXEC, {{"pid", -1}}},
	{BOTH, "sched_process_exit", EV_EXIT, {{"tid|pid", -1}, {NULL, 0}, {"comm", 0}}},
	{BOTH, "sched_process_free", EV_FREE, {{"tid|pid", -1}, {NULL, 0}, {"comm", 0}}},
	{FTRACE, "initcall_level", EV_INITCALL, {{NULL, 0}}},
	{FTRACE, "initcall_start", EV_INITCALL, {{NULL, 0}}},
	{FTRACE, "initcall_finish", EV_INITCALL, {{NULL, 0}}},
	{FTRACE, "task_rename", EV_RENAME, {{"pid", -1}, {NULL, 0}, {"newcomm", 0}}},

	{LTTNG, "syscall_entry_*", EV_SYSCALL_ENTRY, {{NULL, -1}}},
	{LTTNG, "compat_syscall_entry_*", EV_SYSCALL_ENTRY, {{NULL, -1}}},
	{LTTNG, "syscall_exit_*", EV_SYSCALL_EXIT, {{NULL, -1}, {"ret", 0}}},
	{LTTNG, "compat_syscall_exit_*", EV_SYSCALL_EXIT, {{NULL, -1}, {"ret", 0}}},
	{LTTNG, "exit_syscall", EV_SYSCALL_EXIT, {{NULL, -1}, {"ret", 0}}},
	{LTTNG, "sys_*", EV_SYSCALL_ENTRY, {{NULL, -1}}},
	{LTTNG, "compat_sys_*", EV_SYSCALL_ENTRY, {{NULL, -1}}},
	{FTRACE, "sys_enter", EV_SYSCALL_ENTRY, {{"id", -1}}},
	{FTRACE, "sys_exit", EV_SYSCALL_EXIT, {{"id", -1}, {"ret", 0}}},
	{FTRACE, "sys_enter_*", EV_SYSCALL_ENTRY, {{"__syscall_nr|nr", -1}}},
	{FTRACE, "sys_exit_*", EV_SYSCALL_EXIT, {{"__syscall_nr|nr", -1}, {"ret", 0}}},

	{BOTH, "irq_handler_entry", EV_IRQ_ENTRY, {{"irq", -1}}},
	{BOTH, "irq_handler_exit", EV_IRQ_EXIT, {{"irq", -1}}},
	{LTTNG, "irq_softirq_raise", EV_SOFTIRQ_RAISE, {{"vec", -1}}},
	{LTTNG, "irq_softirq_entry", EV_SOFTIRQ_ENTRY, {{"vec", -1}}},
	{LTTNG, "irq_softirq_exit", EV_SOFTIRQ_EXIT, {{"vec", -1}}},
	{BOTH, "softirq_raise", EV_SOFTIRQ_RAISE, {{"vec", -1}}},
	{BOTH, "softirq_entry", EV_SOFTIRQ_ENTRY, {{"vec", -1}}},
	{BOTH, "softirq_exit", EV_SOFTIRQ_EXIT, {{"vec", -1}}},

#define VECTOR(name)                                                                               \
	{FTRACE, name "_entry", EV_VECTOR_ENTRY, {{"vector", -1}}},                                \
	{FTRACE, name "_exit", EV_VECTOR_EXIT, {{"vector", -1}}},                                  \
	{LTTNG, "x86_irq_vectors_" name "_entry", EV_VECTOR_ENTRY, {{"vector", -1}}},              \
	{LTTNG, "x86_irq_vectors_" name "_exit", EV_VECTOR_EXIT, {{"vector", -1}}}
	VECTOR("local_timer"), VECTOR("reschedule"), VECTOR("call_function"),
	VECTOR("call_function_single"), VECTOR("irq_work"), VECTOR("x86_platform_ipi"),
	VECTOR("spurious_apic"), VECTOR("error_apic"), VECTOR("thermal_apic"),
	VECTOR("threshold_apic"), VECTOR("deferred_error_apic"),
#undef VECTOR

	{LTTNG, "power_cpu_idle", EV_CPU_IDLE, {{"state", 0}}},
	{FTRACE, "cpu_idle", EV_CPU_IDLE, {{"state", 0}}},
	{LTTNG, "timer_hrtimer_start", EV_HRTIMER_START, {{"hrtimer", 0}, {"expires", 0}, {"function", 0}}},
	{LTTNG, "timer_hrtimer_cancel", EV_HRTIMER_CANCEL, {{"hrtimer", 0}}},
	{LTTNG, "timer_hrtimer_expire_entry", EV_HRTIMER_EXPIRE_ENTRY, {{"hrtimer", 0}, {"now", 0}, {"function", 0}}},
	{LTTNG, "timer_hrtimer_expire_exit", EV_HRTIMER_EXPIRE_EXIT, {{"hrtimer", 0}}},
	{BOTH, "hrtimer_start", EV_HRTIMER_START, {{"hrtimer", 0}, {"expires", 0}, {"function", 0}}},
	{BOTH, "hrtimer_cancel", EV_HRTIMER_CANCEL, {{"hrtimer", 0}}},
	{BOTH, "hrtimer_expire_entry", EV_HRTIMER_EXPIRE_ENTRY, {{"hrtimer", 0}, {"now", 0}, {"function", 0}}},
	{BOTH, "hrtimer_expire_exit", EV_HRTIMER_EXPIRE_EXIT, {{"hrtimer", 0}}},

	/* Before LTTng 2.7 the kvm names had no x86_. */
#define KVM(name, kind, ...)                                                                       \
	{LTTNG, "kvm_x86_" name, kind, __VA_ARGS__}, {BOTH, "kvm_" name, kind, __VA_ARGS__}
	KVM("entry", EV_KVM_ENTRY, {{"vcpu_id", -1}, {"rip", 0}, {"intr_info", 0}}),
	KVM("exit", EV_KVM_EXIT, {{"exit_reason", -1}, {"vcpu_id", -1}, {"guest_rip", 0}, {"isa", 0}, {"intr_info", 0}}),
	KVM("hypercall", EV_KVM_HYPERCALL, {{"nr", 0}, {"a0", 0}, {"a1", 0}, {"a2", 0}, {"a3", 0}}),
	{BOTH, "kvm_nested_hypercall", EV_KVM_NESTED_HYPERCALL, {{"nr", 0}, {"a0", 0}, {"a1", 0}, {"a2", 0}, {"a3", 0}}},
	KVM("inj_virq", EV_KVM_INJ_VIRQ, {{"irq|vector", -1}, {"soft", 0}}),
	KVM("apic_accept_irq", EV_KVM_APIC_ACCEPT_IRQ, {{"apicid", -1}, {"vec", -1}, {"dm", 0}, {"tm", 0}}),
	{BOTH, "kvm_apicv_accept_irq", EV_KVM_APIC_ACCEPT_IRQ, {{"apicid", -1}, {"vec", -1}, {"dm", 0}, {"tm", 0}}},
	KVM("nested_vmrun", EV_KVM_NESTED_VMENTER, {{"event_inj", 0}, {"vmcb", 0}, {"int_ctl", 0}, {NULL, 0}, {NULL, 0}}),
	KVM("nested_vmenter", EV_KVM_NESTED_VMENTER, {{"event_inj", 0}, {"vmcb", 0}, {"int_ctl", 0}, {"guest_pgd", 0}, {"isa", 0}}),
	KVM("nested_vmexit", EV_KVM_NESTED_VMEXIT, {{"exit_reason|exit_code", -1}, {"vcpu_id", -1}, {"guest_rip|rip", 0}}),
	KVM("nested_vmexit_inject", EV_KVM_NESTED_VMEXIT_INJECT, {{"exit_code", -1}, {"isa", 0}}),
	KVM("nested_intr_vmexit", EV_KVM_NESTED_INTR_VMEXIT, {{"rip", 0}}),
	KVM("write_tsc_offset", EV_KVM_WRITE_TSC_OFFSET, {{"vcpu_id", -1}, {"previous_tsc_offset", 0}, {"next_tsc_offset", 0}}),
	KVM("pvclock_update", EV_KVM_PVCLOCK_UPDATE, {{"vcpu_id", -1}, {"tsc_timestamp", 0}, {"system_time", 0}, {"tsc_to_system_mul", 0}, {"tsc_shift", 0}}),
	KVM("msr", EV_KVM_MSR, {{"write", 0}, {"ecx", 0}, {"data", 0}}),
	KVM("apic_ipi", EV_KVM_APIC_IPI, {{"icr_low", 0}, {"dest_id", 0}}),
	KVM("msi_set_irq", EV_KVM_MSI_SET_IRQ, {{NULL, 0}}),
	{BOTH, "kvm_set_irq", EV_KVM_SET_IRQ, {{NULL, 0}}},
	{BOTH, "kvm_vcpu_wakeup", EV_KVM_VCPU_WAKEUP, {{"ns", 0}, {"waited", 0}, {"valid", 0}}},
	{BOTH, "kvm_userspace_exit", EV_KVM_USERSPACE_EXIT, {{"reason", -1}, {"errno", 0}}},
	{BOTH, "kvm_mmu_get_page", EV_KVM_MMU_GET_PAGE, {{"gfn", 0}}},
#undef KVM

	{BOTH, "kvm_mmio", EV_KVM_MMIO, {{"type", -1}, {"gpa", 0}, {NULL, 0}}},
	{BOTH, "kvm_fast_mmio", EV_KVM_MMIO, {{NULL, 2}, {"gpa", 0}, {NULL, 1}}},
	{BOTH, "block_rq_insert", EV_BLOCK_ISSUE, {{"dev", -1}, {"sector", -1}, {"bytes", 0}, {NULL, -1}, {NULL, 1}}},
	{BOTH, "block_rq_issue", EV_BLOCK_ISSUE, {{"dev", -1}, {"sector", -1}, {"bytes", 0}, {NULL, -1}, {NULL, 0}}},
	{BOTH, "block_rq_complete", EV_BLOCK_COMPLETE, {{"dev", -1}, {"sector", -1}}},
	{FTRACE, "net_dev_start_xmit", EV_NET_XMIT, {{NULL, 0}}},
	{LTTNG, "net_dev_queue", EV_NET_XMIT, {{NULL, 0}}},

	/* Sync hypercalls.  The guest's number is not in hypersync's payload: it is always 1000. */
	{BOTH, "hypersync_req", EV_SYNC_REQUEST, {{"nr", 1000}, {"a0", 0}, {"a1", 0}, {"a2", 0}, {"a3", 0}}},
	{BOTH, "hypersync_ack", EV_SYNC_ACK, {{"nr", 1000}, {"a0", 0}, {"a1", 0}, {"a2", 0}, {"a3", 0}}},
	{BOTH, "vmsync_gh_guest", EV_VMSYNC_GH_GUEST, {{"cnt", 0}, {"vm_uid", 0}}},
	{BOTH, "vmsync_gh_host", EV_VMSYNC_GH_HOST, {{"cnt", 0}, {"vm_uid", 0}}},
	{BOTH, "vmsync_hg_guest", EV_VMSYNC_HG_GUEST, {{"cnt", 0}, {"vm_uid", 0}}},
	{BOTH, "vmsync_hg_host", EV_VMSYNC_HG_HOST, {{"cnt", 0}, {"vm_uid", 0}}},

	{LTTNG, "lttng_statedump_process_state", EV_STATEDUMP_PROCESS,
	 {{"tid", -1}, {"pid", -1}, {"ppid", -1}, {"name", 0}, {"status", 0}}},
	{LTTNG, "lttng_statedump_process_pid_ns", EV_STATEDUMP_PID_NS,
	 {{"tid", -1}, {"vtid", -1}, {"vpid", -1}, {"ns_level", 0}, {"ns_inum", 0}}},
	{LTTNG, "lttng_statedump_end", EV_STATEDUMP_END, {{NULL, 0}}},
	{LTTNG, "lttng_logger", EV_STATE_LINE, {{NULL, 0}}},
	{FTRACE, "print", EV_STATE_LINE, {{NULL, 0}}},
	{FTRACE, "bprint", EV_STATE_LINE, {{NULL, 0}}},
	{FTRACE, "bputs", EV_STATE_LINE, {{NULL, 0}}},

	/* What processes record is theirs to name: all of it is marks, but what the tracer adds. */
	{UST, "lttng_ust_statedump:*", EV_OTHER, {{NULL, 0}}},
	{UST, "*", EV_MARK, {{NULL, 0}, {NULL, 0}, {"vtid", 0}, {"vpid", 0}}},
};
/* clang-format on */

static const char *const kind_names[EV_NR_KINDS] = {
#define X(kind, text) [EV_##kind] = text,
	EVENT_KINDS(X)
#undef X
};

const char *event_kind_name(enum event_kind kind)
{
	return kind < EV_NR_KINDS ? kind_names[kind] : "other";
}

bool event_slot_is_text(enum event_kind kind, unsigned slot)
{
	switch (kind) {
	case EV_SCHED_SWITCH:
		return slot == 3 || slot == 4;
	case EV_STATEDUMP_PROCESS:
		return slot == 3;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
	case EV_FORK:
	case EV_NEW_TASK:
	case EV_EXIT:
	case EV_FREE:
	case EV_RENAME:
	case EV_CGROUP_MKDIR:
	case EV_CGROUP_ATTACH:
		return slot == 2;
	default:
		return false;
	}
}

static bool name_matches(const char *pattern, const char *event)
{
	size_t len;

	/* Nearly always: there are many rows and many events. */
	if (pattern[0] != event[0] && pattern[0] != '*')
		return false;
	len = strlen(pattern);
	if (pattern[len - 1] == '*')
		return !strncmp(pattern, event, len - 1);
	return !strcmp(pattern, event);
}

const struct dialect_row *dialect_find(unsigned tracer, const char *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((rows[i].tracers & tracer) && name_matches(rows[i].event, event))
			return &rows[i];
	}
	return NULL;
}

const char *dialect_pick_field(const struct dialect_slot *slot,
			       bool (*has)(const char *field, void *data), void *data,
			       char scratch[static 64])
{
	const char *from = slot->field;

	while (from && *from) {
		size_t len = strcspn(from, "|");

		if (len < 64) {
			memcpy(scratch, from, len);
			scratch[len] = '\0';
			if (has(scratch, data))
				return scratch;
		}
		from += len + (from[len] == '|');
	}
	return NULL;
}

const char *dialect_syscall_name(const char *event)
{
	static const char *const prefixes[] = {"compat_syscall_entry_", "compat_syscall_exit_",
					       "syscall_entry_", "syscall_exit_", "compat_sys_",
					       "sys_"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(event, prefixes[i], len))
			return event + len;
	}
	return NULL;
}
