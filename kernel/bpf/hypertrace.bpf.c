// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folds kvm_exit, kvm_hypercall and kvm_entry of a guest's hypertrace call into one record
 * (docs/formats/hypercalls.md), which record/tracers/hypercalls.c takes out of the ring.
 *
 * ftrace's filters, which keep those events out of the trace, look at one event: kvm_exit and
 * kvm_entry go by the address of the guest's instruction (fold_sites).  Whatever such a filter
 * drops although it is no part of a call is written here as a record of its own, so nothing gets
 * lost.
 *
 * Beside that it tells, at a vCPU's exit, when the guest's page table (CR3) is another one than
 * when the same guest exited before: that is how processes of guests without a tracer are told
 * apart. AMD's CPUs leave CR3 in memory; on Intel's the module sonde_vmx (kernel/vmx) reads it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "channel/hypercalls.h"
#include "channel/origin.h"
#include "channel/vm_limits.h"
#include "kernel/bpf/kvm_fields.h"

#define SVM_EXIT_VMMCALL 0x81
#define VMX_EXIT_VMCALL 18
#define VMX_REASON_MASK 0xffff
#define ISA_VMX 1 /* as the tracepoint calls it */
#define ISA_SVM 2
#define SVM_RATIO_1 (1ull << 32) /* the TSC is not scaled */
#define VMX_RATIO_1 (1ull << 48)
#define SITES_MAX 32	  /* twice what the filters have: old ones stay until those are new */
#define CALL_MAGIC 0x5348 /* channel/hypertrace.h */
#define MARK_MAGIC 0x534d
#define WAKE_EVERY 16 /* calls of places that are not folded yet */
#define VMS_MAX 4096
#define CR3_PAGE 0x000ffffffffff000ull /* without PCID and the bit that keeps the TLB */
#define NESTED_CTL_NPT 1
#define NO_VMCS12 (~0ull)

char LICENSE[] SEC("license") = "GPL";

/* What user space reads and sets. */
uint64_t records_lost;
uint64_t records_over;		      /* of them, those over records_most */
uint32_t nr_sites;		      /* in fold_sites; 0 saves the look-ups */
uint32_t knows_exits;		      /* exit reasons can be read: set with the first hypercall */
const volatile uint64_t wake_bytes;   /* user space is woken when so much waits */
const volatile uint32_t records_most; /* of one VM in a window: calls; 0: as the ring allows */
const volatile uint8_t folds_calls;
const volatile uint8_t tells_spaces;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* bytes; user space may change it */
} ring SEC(".maps");

/* Addresses of call instructions that the trace's filters leave out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SITES_MAX);
	__type(key, uint64_t);
	__type(value, uint8_t);
} fold_sites SEC(".maps");

/* Where a guest was at its last exit. */
struct space {
	uint64_t page; /* of CR3; 0 none yet */
	uint64_t vmcb12;
};

/* Of a vCPU's thread.  It may go to sleep, or to another CPU, between any two of its events. */
struct thread {
	struct hc_record exit; /* of the last exit; after kvm_hypercall: the call */
	uint32_t lost;
	uint32_t unfolded; /* calls of places that are not in fold_sites */
	uint8_t is_call;   /* a hypertrace call is under way */
	uint8_t left_out;  /* the trace leaves this exit out */
	uint8_t late;	   /* a record of a space was lost */
	uint64_t told_ns;  /* last exit whose space is told, or was no news */
	struct space own, nested;
	const struct kvm_vcpu *vcpu; /* of which vmcb01 and nested_paging were read */
	const struct vmcb *vmcb01;
	uint8_t nested_paging;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* What the CPU was given to run, and left; NULL: not AMD's, or not known.  Each read of memory that
 * the verifier does not know the type of is a call, and counts at every exit. */
static const struct vmcb *current_vmcb(struct kvm_vcpu *vcpu, uint32_t isa)
{
	struct vcpu_svm *svm = (void *)vcpu; /* its first member */

	if (isa != ISA_SVM || !bpf_core_type_exists(struct vcpu_svm))
		return NULL;
	return BPF_CORE_READ(svm, vmcb);
}

/* Whether an exit is one by a hypercall; where that cannot be read, it may be. */
static bool may_be_hypercall(struct kvm_vcpu *vcpu, const struct vmcb *vmcb, uint32_t isa,
			     bool *known)
{
	*known = true;
	if (vmcb)
		return BPF_CORE_READ(vmcb, control.exit_code) == SVM_EXIT_VMMCALL;
	if (isa == ISA_VMX && bpf_core_field_exists(((struct vcpu_vmx *)0)->exit_reason)) {
		struct vcpu_vmx *vmx = (void *)vcpu;

		return (BPF_CORE_READ(vmx, exit_reason.full) & VMX_REASON_MASK) == VMX_EXIT_VMCALL;
	}
	*known = false;
	return true;
}

static bool is_folded(uint64_t site)
{
	return nr_sites && bpf_map_lookup_elem(&fold_sites, &site);
}

/* By vm_key().  User space takes out those of processes that have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMS_MAX);
	__type(key, uint64_t);
	__type(value, struct vm_limits);
} vms SEC(".maps");

/* By vm_key() and enum vm_user_call: of the last window in which a VM's processes made calls that
 * were not written, the first. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VM_USER_CALLS *VMS_MAX);
	__type(key, uint64_t);
	__type(value, struct hc_record);
} skipped SEC(".maps");

/* The VM's process, and not one that had its number before; its lowest bit is 0. */
static uint64_t vm_key(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t started = BPF_CORE_READ(task, group_leader, start_boottime);

	return (bpf_get_current_pid_tgid() >> 32) << 32 | (uint32_t)(started >> 20 << 1);
}

/* NULL: there are too many. */
static struct vm_limits *limits_of(uint64_t key)
{
	uint64_t now = bpf_ktime_get_ns();
	struct vm_limits *vm = bpf_map_lookup_elem(&vms, &key);
	struct vm_limits new_vm = {.since_ns = now};

	if (!vm) {
		bpf_map_update_elem(&vms, &key, &new_vm, BPF_NOEXIST);
		vm = bpf_map_lookup_elem(&vms, &key);
	}
	if (vm)
		vm_limits_at(vm, now);
	return vm;
}

static bool is_by_user(const struct hc_record *r)
{
	if (r->flags & (HC_CPL_0 | HC_CPL_USER))
		return r->flags & HC_CPL_USER;
	return ht_origin_of_rip(r->rip) != HT_ORIGIN_KERNEL;
}

static void count_lost(struct thread *t)
{
	__sync_fetch_and_add(&records_lost, 1);
	if (t->lost != HC_UNKNOWN)
		t->lost++;
}

/* Whether a process's call is not written: its kvm_exit and kvm_entry are in the trace, as those of
 * any other exit, and of the rest nothing counts but that it was made. */
static bool is_skipped(struct thread *t, struct hc_record *r)
{
	enum vm_user_call kind = r->nr >> 48 == MARK_MAGIC ? VM_MARK : VM_FORGED;
	struct vm_limits *vm;
	uint64_t key;
	bool first;

	if (!is_by_user(r))
		return false;
	key = vm_key();
	vm = limits_of(key);
	if (!vm) {
		count_lost(t);
		return true;
	}
	if (vm_limits_user(vm, kind, records_most, &first)) {
		r->skipped = vm_limits_skipped(vm);
		return false;
	}
	key |= kind;
	if (first)
		bpf_map_update_elem(&skipped, &key, r, BPF_ANY);
	return true;
}

/* User space is woken when there is much to take, and for places that it should get to know. */
static uint64_t wake_flags(struct thread *t, const struct hc_record *r)
{
	if (r->kind == HC_CALL && !is_folded(r->rip) && !is_by_user(r) &&
	    t->unfolded++ % WAKE_EVERY == WAKE_EVERY / 2)
		return BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes ? BPF_RB_FORCE_WAKEUP
									 : BPF_RB_NO_WAKEUP;
}

/* When the ring fills, those who fill it lose records, and nobody else. */
static bool may_write(enum vm_record of)
{
	struct vm_limits *vm = limits_of(vm_key());
	enum vm_room room = vm ? vm_limits_record(vm, of, records_most) : VM_ROOM_WHILE_HALF_EMPTY;

	if (room == VM_NO_ROOM && of == VM_CALL) /* a space is tried again */
		__sync_fetch_and_add(&records_over, 1);
	if (room != VM_ROOM_WHILE_HALF_EMPTY)
		return room == VM_ROOM;
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 2 * wake_bytes;
}

/* NULL: there is none for this VM. */
static struct hc_record *room_for_one(enum vm_record of)
{
	if (!may_write(of))
		return NULL;
	return bpf_ringbuf_reserve(&ring, sizeof(struct hc_record), 0);
}

/* That VM's skipped calls are told of: not those of a VM whose process had the same number. */
static void note_told(uint64_t skipped)
{
	struct vm_limits *vm = skipped ? limits_of(vm_key()) : NULL;

	if (vm)
		vm_limits_tell(vm, skipped);
}

static void emit(struct thread *t, const struct hc_record *r)
{
	struct hc_record *out = room_for_one(VM_CALL);

	if (!out) {
		count_lost(t);
		return;
	}
	*out = *r;
	out->lost = t->lost;
	t->lost = 0;
	bpf_ringbuf_submit(out, wake_flags(t, r));
	note_told(r->skipped);
}

/* All but the vCPU's own: its number and RIP. */
static void fill_place(struct hc_record *r, uint16_t kind, uint32_t isa)
{
	uint64_t thread = bpf_get_current_pid_tgid();

	__builtin_memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->flags = isa == ISA_VMX ? HC_VMX : 0;
	r->time_ns = bpf_ktime_get_ns();
	r->tid = (uint32_t)thread;
	r->tgid = (uint32_t)(thread >> 32);
	r->cpu = bpf_get_smp_processor_id();
	r->overhead_ns = HC_UNKNOWN;
}

/* 0: not known.  Of Intel's CPUs KVM reads it when something asks for it, such as the tracepoint
 * when it is recorded; until then that of an exit before stands there, another's maybe. */
static uint64_t rip_of(const struct kvm_vcpu *vcpu)
{
	if (bpf_core_field_exists(vcpu->arch.regs_avail) &&
	    !(vcpu->arch.regs_avail >> VCPU_RIP & 1))
		return 0;
	return vcpu->arch.regs[VCPU_RIP];
}

static void fill_exit(struct hc_record *r, struct kvm_vcpu *vcpu, uint32_t isa)
{
	fill_place(r, HC_EXIT, isa);
	r->vcpu_id = (uint32_t)vcpu->vcpu_id;
	r->rip = rip_of(vcpu);
}

/* Who left the guest, its kernel or a process; where KVM's memory does not have it, whoever reads
 * the record goes by RIP (channel/origin.h). */
static void fill_origin(struct hc_record *r, struct kvm_vcpu *vcpu, const struct vmcb *vmcb)
{
	if (!vmcb || (bpf_core_field_exists(vcpu->arch.guest_state_protected) &&
		      vcpu->arch.guest_state_protected))
		return;
	r->flags |= BPF_CORE_READ(vmcb, save.cpl) ? HC_CPL_USER : HC_CPL_0;
}

/* KVM reads the TSC right after the exit, on some kernels after the event kvm_exit: so these come
 * later than the rest. */
static void fill_tsc(struct hc_record *r, struct kvm_vcpu *vcpu)
{
	uint64_t ratio = vcpu->arch.l1_tsc_scaling_ratio;

	if (ratio != (r->flags & HC_VMX ? VMX_RATIO_1 : SVM_RATIO_1))
		r->flags |= HC_SCALED;
	r->tsc = vcpu->arch.last_guest_tsc;
	r->tsc_offset = (int64_t)vcpu->arch.l1_tsc_offset;
}

/*
 * CR3 of what has just exited, as its CPU had it, and which nested guest that was (*@vmcb12, 0: the
 * VM itself).  0: not known.  Without nested paging the CPU's CR3 is KVM's own, and KVM knows its
 * guest's.
 */
static uint64_t read_space(struct thread *t, struct kvm_vcpu *vcpu, const struct vmcb *vmcb,
			   uint64_t *vmcb12)
{
	struct vcpu_svm *svm = (void *)vcpu;

	*vmcb12 = 0;
	if (!bpf_core_type_exists(struct vcpu_svm) || !bpf_core_field_exists(svm->vmcb01) ||
	    !bpf_core_field_exists(svm->nested.vmcb12_gpa))
		return 0;
	if (bpf_core_field_exists(vcpu->arch.guest_state_protected) &&
	    vcpu->arch.guest_state_protected)
		return 0;
	/* A vCPU has one of its own for life; any other is of a nested guest. */
	if (vmcb != t->vmcb01 || vcpu != t->vcpu) {
		if (vmcb != BPF_CORE_READ(svm, vmcb01.ptr)) {
			*vmcb12 = BPF_CORE_READ(svm, nested.vmcb12_gpa);
			return BPF_CORE_READ(vmcb, save.cr3);
		}
		t->vcpu = vcpu;
		t->vmcb01 = vmcb;
		t->nested_paging = !!(BPF_CORE_READ(vmcb, control.nested_ctl) & NESTED_CTL_NPT);
	}
	return t->nested_paging ? BPF_CORE_READ(vmcb, save.cr3) : vcpu->arch.cr3;
}

/* What an exit shows. */
struct sight {
	uint64_t cr3; /* 0: not known */
	uint64_t vmcb12;
	uint64_t rip;
	uint32_t isa;
};

/* False: there was no room. */
static bool emit_space(struct thread *t, struct kvm_vcpu *vcpu, const struct sight *seen,
		       uint64_t before_ns)
{
	struct hc_record *out = room_for_one(VM_SPACE);

	if (!out)
		return false;
	fill_place(out, HC_SPACE, seen->isa);
	if (t->late)
		out->flags |= HC_LATE;
	out->vcpu_id = (uint32_t)BPF_CORE_READ(vcpu, vcpu_id);
	out->rip = seen->rip;
	out->nr = seen->cr3;
	out->args[0] = seen->vmcb12;
	out->args[1] = before_ns;
	bpf_ringbuf_submit(out, wake_flags(t, out));
	return true;
}

static void tell_space(struct thread *t, struct kvm_vcpu *vcpu, const struct sight *seen)
{
	uint64_t page = seen->cr3 & CR3_PAGE;
	struct space *s = seen->vmcb12 ? &t->nested : &t->own;
	bool same_guest = s->page && s->vmcb12 == seen->vmcb12;

	if (!page)
		return;
	if (!same_guest || s->page != page) {
		if (!emit_space(t, vcpu, seen, same_guest ? t->told_ns : 0)) {
			t->late = 1; /* the next exit tries again */
			return;
		}
		t->late = 0;
		s->page = page;
		s->vmcb12 = seen->vmcb12;
	}
	t->told_ns = bpf_ktime_get_ns();
}

static void tell_svm_space(struct kvm_vcpu *vcpu, const struct vmcb *vmcb)
{
	struct sight seen = {.rip = vcpu->arch.regs[VCPU_RIP], .isa = ISA_SVM};
	struct thread *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
						BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return;
	seen.cr3 = read_space(t, vcpu, vmcb, &seen.vmcb12);
	tell_space(t, vcpu, &seen);
}

/* Of the module sonde_vmx.  @vcpu is of no type that the verifier knows. */
SEC("raw_tp/sonde_vmx_exit")
int BPF_PROG(on_vmx_exit, struct kvm_vcpu *vcpu, uint64_t cr3, uint64_t rip, bool nested)
{
	struct sight seen = {.cr3 = cr3, .rip = rip, .isa = ISA_VMX};
	struct vcpu_vmx *vmx = (void *)vcpu; /* its first member */
	struct thread *t;

	if (nested) {
		if (!bpf_core_field_exists(vmx->nested.current_vmptr))
			return 0;
		seen.vmcb12 = BPF_CORE_READ(vmx, nested.current_vmptr);
		if (seen.vmcb12 == NO_VMCS12) /* it is in memory that L0 and L1 share (Hyper-V) */
			return 0;
	}
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		tell_space(t, vcpu, &seen);
	return 0;
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(on_exit, struct kvm_vcpu *vcpu, uint32_t isa)
{
	const struct vmcb *vmcb;
	struct thread *t;
	bool known;

	/* Newer verifiers take any argument of a tracepoint for one that may be NULL. */
	if (!vcpu)
		return 0;
	vmcb = current_vmcb(vcpu, isa);
	if (tells_spaces && vmcb)
		tell_svm_space(vcpu, vmcb);
	if (!folds_calls || !may_be_hypercall(vcpu, vmcb, isa, &known))
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		__sync_fetch_and_add(&records_lost, 1);
		return 0;
	}
	fill_exit(&t->exit, vcpu, isa);
	fill_origin(&t->exit, vcpu, vmcb);
	t->is_call = 0;
	t->left_out = known && is_folded(t->exit.rip);
	if (known && !knows_exits)
		knows_exits = 1;
	return 0;
}

SEC("tp_btf/kvm_hypercall")
int BPF_PROG(on_hypercall, unsigned long nr, unsigned long a0, unsigned long a1, unsigned long a2,
	     unsigned long a3)
{
	struct thread *t;

	if (nr >> 48 != CALL_MAGIC && nr >> 48 != MARK_MAGIC)
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	if (!t || !t->exit.time_ns) {
		/* It left the guest before this program was there. */
		__sync_fetch_and_add(&records_lost, 1);
		return 0;
	}
	t->exit.kind = HC_CALL;
	t->exit.nr = nr;
	t->exit.args[0] = a0;
	t->exit.args[1] = a1;
	t->exit.args[2] = a2;
	t->exit.args[3] = a3;
	t->is_call = t->left_out || !is_skipped(t, &t->exit);
	return 0;
}

static void end_call(struct thread *t, struct kvm_vcpu *vcpu)
{
	struct hc_record *r = &t->exit;
	uint64_t overhead = bpf_ktime_get_ns() - r->time_ns;

	fill_tsc(r, vcpu);
	r->overhead_ns = overhead < HC_UNKNOWN ? (uint32_t)overhead : HC_UNKNOWN;
	r->entry_cpu = bpf_get_smp_processor_id();
	t->is_call = 0;
	if (t->left_out)
		r->flags |= HC_NO_EXIT;
	if (is_folded(vcpu->arch.regs[VCPU_RIP] - HC_CALL_BYTES))
		r->flags |= HC_NO_ENTRY;
	t->left_out = 0;
	emit(t, r);
}

static void emit_entry(struct thread *t, struct kvm_vcpu *vcpu, uint64_t rip)
{
	struct hc_record *r = &t->exit;

	fill_exit(r, vcpu, 0);
	r->kind = HC_ENTRY;
	r->rip = rip;
	r->entry_cpu = r->cpu;
	emit(t, r);
	r->time_ns = 0; /* no exit is known */
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(on_entry, struct kvm_vcpu *vcpu)
{
	struct thread *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	uint64_t rip;

	if (!vcpu || (!t && !nr_sites))
		return 0;
	if (t && t->is_call) {
		end_call(t, vcpu);
		return 0;
	}
	if (t && t->left_out) {
		fill_tsc(&t->exit, vcpu);
		emit(t, &t->exit);
		t->left_out = 0;
	}
	rip = vcpu->arch.regs[VCPU_RIP];
	if (!is_folded(rip - HC_CALL_BYTES))
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		emit_entry(t, vcpu, rip);
	else
		__sync_fetch_and_add(&records_lost, 1);
	return 0;
}
