/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_EVENT_H
#define SOURCE_EVENT_H

#include "base/types.h"

/*
 * The canonical event: what every tracer's records become before anything else sees them.
 *
 * A kind says what happened; up to five typed arguments say with what.  source/dialect.c maps each
 * tracer's event and field names to kinds and arguments; adding a tracer version is a row there.
 * An event that no row names has kind EV_OTHER and no arguments; its fields are still reachable by
 * name through trace_event_field() in source/trace.h.
 *
 * X(kind, text, argument names in slot order).  A slot the tracer does not give is 0 unless the
 * comment says otherwise.  Slots ending in _str hold a pointer to at most 16 bytes of text, not
 * always NUL-terminated, valid as long as the batch it came with; 0 when the tracer has no such
 * field.  Signed numbers are sign-extended to 64 bits.
 */
#define EVENT_KINDS(X)                                                                             \
	X(OTHER, "other")                                                                          \
	/* arg: lost (number of events, 0 = unknown), begin and end in ticks, 1 when only the events    \
	 * around it show it (source/seam.h), 1 when its stream is cut off there: the end is then the \
	 * least that is known.  Its tid is that of the record before, wanted or not; -1 not known.     \
	 * Made by readers: see source/trace.h. */                                                \
	X(LOST, "lost")                                                                            \
	/* prev_tid, next_tid, prev_state (as recorded), next_comm_str, prev_comm_str */           \
	X(SCHED_SWITCH, "sched_switch")                                                            \
	/* tid, target_cpu, comm_str */                                                            \
	X(SCHED_WAKING, "sched_waking")                                                            \
	X(SCHED_WAKEUP, "sched_wakeup")                                                            \
	X(SCHED_WAKEUP_NEW, "sched_wakeup_new")                                                    \
	/* tid, orig_cpu, dest_cpu */                                                              \
	X(SCHED_MIGRATE, "sched_migrate_task")                                                     \
	/* cgroup (id), cpu: its quota is used up there, and its threads may not run; and they may again.             \
	 * Each cgroup below it has events of its own. */                                          \
	X(CPU_THROTTLE, "cpu_throttle")                                                            \
	X(CPU_UNTHROTTLE, "cpu_unthrottle")                                                        \
	/* id, -, path_str; id, tid, path_str of where it goes to */                               \
	X(CGROUP_MKDIR, "cgroup_mkdir")                                                            \
	X(CGROUP_ATTACH, "cgroup_attach_task")                                                     \
	/* a step of taking a CPU down or up begins: cpu, state it goes to (0 off), step */        \
	X(CPUHP_ENTER, "cpuhp_enter")                                                              \
	/* ... and has ended: cpu */                                                               \
	X(CPUHP_EXIT, "cpuhp_exit")                                                                \
	/* parent_tid, child_tid, child_comm_str, child_pid (tgid; -1 unknown), child pid_ns */    \
	X(FORK, "fork")                                                                            \
	/* tid, clone flags, comm_str.  Comes before the fork event of the same thread. */         \
	X(NEW_TASK, "new_task")                                                                    \
	/* tid, -, filename is a raw field */                                                      \
	X(EXEC, "exec")                                                                            \
	/* tid, -, comm_str */                                                                     \
	X(EXIT, "exit")                                                                            \
	X(FREE, "free")                                                                            \
	/* tid, -, new comm_str */                                                                 \
	X(RENAME, "rename")                                                                        \
	/* nr (-1 unknown; LTTng: see type->syscall) */                                            \
	X(SYSCALL_ENTRY, "syscall_entry")                                                          \
	/* nr, ret */                                                                              \
	X(SYSCALL_EXIT, "syscall_exit")                                                            \
	/* irq, -, name is a raw field */                                                          \
	X(IRQ_ENTRY, "irq_entry")                                                                  \
	X(IRQ_EXIT, "irq_exit")                                                                    \
	/* vec */                                                                                  \
	X(SOFTIRQ_RAISE, "softirq_raise")                                                          \
	X(SOFTIRQ_ENTRY, "softirq_entry")                                                          \
	X(SOFTIRQ_EXIT, "softirq_exit")                                                            \
	/* vector; the type's name says which: local_timer, reschedule, call_function, ... */      \
	X(VECTOR_ENTRY, "vector_entry")                                                            \
	X(VECTOR_EXIT, "vector_exit")                                                              \
	/* state (UINT32_MAX = leaving idle) */                                                    \
	X(CPU_IDLE, "cpu_idle")                                                                    \
	/* hrtimer, expires_ns or now_ns (CLOCK_MONOTONIC for most timers), function */            \
	X(HRTIMER_START, "hrtimer_start")                                                          \
	X(HRTIMER_CANCEL, "hrtimer_cancel")                                                        \
	X(HRTIMER_EXPIRE_ENTRY, "hrtimer_expire_entry")                                            \
	X(HRTIMER_EXPIRE_EXIT, "hrtimer_expire_exit")                                              \
	/* vcpu_id (-1 unknown or unsound), rip, intr_info: what is injected (Linux 6.13 on)  */   \
	X(KVM_ENTRY, "kvm_entry")                                                                  \
	/* exit_reason, vcpu_id (-1 unknown), guest_rip, isa (1 VMX, 2 SVM), intr_info */          \
	X(KVM_EXIT, "kvm_exit")                                                                    \
	/* nr, a0, a1, a2, a3 */                                                                   \
	X(KVM_HYPERCALL, "kvm_hypercall")                                                          \
	/* the same; L0 took it from a guest of its guest (kernel/patches); vmcb is a raw field */ \
	X(KVM_NESTED_HYPERCALL, "kvm_nested_hypercall")                                            \
	/* vector, soft (an INT instruction's) */                                                  \
	X(KVM_INJ_VIRQ, "kvm_inj_virq")                                                            \
	/* apicid, vec, dm, tm */                                                                  \
	X(KVM_APIC_ACCEPT_IRQ, "kvm_apic_accept_irq")                                              \
	/* event_inj (as in an entry's control block: what the nested guest is given), vmcb (gpa of      \
	 * vmcb12/vmcs12), int_ctl (Intel: the guest interrupt status), guest_pgd, isa */          \
	X(KVM_NESTED_VMENTER, "kvm_nested_vmenter")                                                \
	/* exit_reason (-1 unsound), vcpu_id, rip */                                               \
	X(KVM_NESTED_VMEXIT, "kvm_nested_vmexit")                                                  \
	/* exit_reason, isa */                                                                     \
	X(KVM_NESTED_VMEXIT_INJECT, "kvm_nested_vmexit_inject")                                    \
	/* rip */                                                                                  \
	X(KVM_NESTED_INTR_VMEXIT, "kvm_nested_intr_vmexit")                                        \
	/* vcpu_id, previous_offset, next_offset (signed cycles) */                                \
	X(KVM_WRITE_TSC_OFFSET, "kvm_write_tsc_offset")                                            \
	/* ns, waited, valid */                                                                    \
	X(KVM_VCPU_WAKEUP, "kvm_vcpu_wakeup")                                                      \
	/* reason, errno */                                                                        \
	X(KVM_USERSPACE_EXIT, "kvm_userspace_exit")                                                \
	/* write (0: a read), ecx (the MSR), data: a guest accessed an MSR that exits */           \
	X(KVM_MSR, "kvm_msr")                                                                      \
	/* no arguments: a device's interrupt is on its way to a VM; by MSI, or by pin */          \
	X(KVM_MSI_SET_IRQ, "kvm_msi_set_irq")                                                      \
	X(KVM_SET_IRQ, "kvm_set_irq")                                                              \
	/* icr_low, dest_id: a vCPU sends an interrupt to others */                                \
	X(KVM_APIC_IPI, "kvm_apic_ipi")                                                            \
	/* type (2: a write), gpa: a guest touched a device's memory */                            \
	X(KVM_MMIO, "kvm_mmio")                                                                    \
	/* dev, sector (-1: none, of a flush), bytes, write (1; 0 no; -1: field rwbs tells), and 1    \
	 * when it only goes into a scheduler's queue, 0 when its device gets it */                \
	X(BLOCK_ISSUE, "block_issue")                                                              \
	/* dev, sector: a block device is done with a request */                                   \
	X(BLOCK_COMPLETE, "block_complete")                                                        \
	/* no arguments: a packet is handed to a network device */                                 \
	X(NET_XMIT, "net_xmit")                                                                    \
	/* gfn */                                                                                  \
	X(KVM_MMU_GET_PAGE, "kvm_mmu_get_page")                                                    \
	/* vcpu_id, tsc_timestamp, system_time, tsc_to_system_mul, tsc_shift */                    \
	X(KVM_PVCLOCK_UPDATE, "kvm_pvclock_update")                                                \
	/* cr3 (PCID and all), tid and tgid of the vCPU's thread, vmcb12 (address of the nested        \
	 * guest's, 0: the VM itself), rip in the guest: at its next exit the vCPU will be in another  \
	 * address space than at the one that is now, or was last */                                 \
	X(GUEST_CR3, "guest_cr3")                                                                  \
	/* guest side of a sync hypercall, before and after it: nr, a0, a1, a2, a3 as the parent's \
	 * kvm_hypercall shows them */                                                             \
	X(SYNC_REQUEST, "sync_request")                                                            \
	X(SYNC_ACK, "sync_ack")                                                                    \
	/* lttng-vmsync add-on: cnt, vm_uid */                                                     \
	X(VMSYNC_GH_GUEST, "vmsync_gh_guest")                                                      \
	X(VMSYNC_GH_HOST, "vmsync_gh_host")                                                        \
	X(VMSYNC_HG_GUEST, "vmsync_hg_guest")                                                      \
	X(VMSYNC_HG_HOST, "vmsync_hg_host")                                                        \
	/* tid, pid (tgid), ppid, name_str, status (LTTng: 0 unknown .. see model/statedump.c) */  \
	X(STATEDUMP_PROCESS, "statedump_process")                                                  \
	/* tid, vtid, vpid, ns_level, ns_inum: one per PID namespace the thread is in */           \
	X(STATEDUMP_PID_NS, "statedump_pid_ns")                                                    \
	X(STATEDUMP_END, "statedump_end")                                                          \
	/* kind (0 point, 1 begin, 2 end), id (0 none); text is a raw field.  What a guest marked.     \
	 * Of user space (trace->user_space): -, -, vtid, vpid (0: not told), and all of it is text */ \
	X(MARK, "mark")                                                                            \
	/* no arguments: the type's name says whether a level or an initcall begins, or one ends;  \
	 * level, func and ret are raw fields */                                                   \
	X(INITCALL, "initcall")                                                                    \
	/* no arguments: text that somebody wrote into the trace; source/state_line.h reads it */  \
	X(STATE_LINE, "state_line")

enum event_kind {
#define X(kind, text) EV_##kind,
	EVENT_KINDS(X)
#undef X
	EV_NR_KINDS
};

/* A set of kinds: WANT(x) | WANT(y). */
__extension__ typedef unsigned __int128 kinds_t;

#define KIND_BIT(kind) ((kinds_t)1 << (kind))
#define WANT(kind) KIND_BIT(EV_##kind)
_Static_assert(EV_NR_KINDS < 8 * sizeof(kinds_t), "event kinds fit the bits of kinds_t");

#define EVENT_ARGS 5

/* One cache line.  Batches of these flow through the whole program. */
struct event {
	ticks_t time;   /* the trace's own clock; within a stream it never decreases (a reader that
			   meets a step back in the file keeps the file's order, gives the event
			   the time of the one before it, and reports a problem) */
	uint16_t kind;  /* enum event_kind */
	uint16_t type;  /* index into trace->types: the tracer's own event class */
	int32_t tid;    /* thread that was running, from ftrace's common_pid or an LTTng tid
			   context; -1 when the record does not say */
	const uint8_t *record; /* the raw record, for trace_event_field(); lives as long as the
				  batch */
	int64_t arg[EVENT_ARGS];
};

_Static_assert(sizeof(struct event) == 64, "an event is one cache line");

static inline const char *event_str(const struct event *e, unsigned slot)
{
	return (const char *)(uintptr_t)e->arg[slot];
}

const char *event_kind_name(enum event_kind kind);

/* True for the slots that EVENT_KINDS names _str.  A reader must put nothing but text there, and
 * text nowhere else, whatever a file calls its fields: others follow the pointer. */
bool event_slot_is_text(enum event_kind kind, unsigned slot);

#endif
