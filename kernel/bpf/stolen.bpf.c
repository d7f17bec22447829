// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells when this machine's vCPU threads wait for a CPU, who runs there meanwhile, and how long
 * they are out of their guests (channel/holdups.h); record/steal/stolen_track.c makes of it what a
 * guest is told.
 *
 * What happens most often costs least: a switch between two threads that are no vCPUs, on a CPU
 * where none waits, is a look-up and a store; exits that are short are summed up here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "channel/holdups.h"
#include "channel/origin.h"
#include "kernel/bpf/kvm_fields.h"
#include "kernel/bpf/memslots.h"

#define SVM_EXIT_HLT 0x78
#define VMX_EXIT_HLT 12
#define VMX_REASON_MASK 0xffff
#define ISA_VMX 1 /* as the tracepoint calls it */
#define ISA_SVM 2
#define ANNOUNCE_MAGIC 0x5354 /* channel/stolen.h */
#define ANNOUNCE_EVERY_NS 100000000ull
#define SUM_EVERY_NS 10000000ull
#define CPUS_MAX 8192

char LICENSE[] SEC("license") = "GPL";

/* What user space reads and sets. */
uint64_t records_lost;
const volatile uint64_t least_ns; /* an exit as long as this is told by itself */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* bytes */
} ring SEC(".maps");

struct cpu {
	uint32_t runner;  /* process; 0 nobody, or not known yet */
	uint32_t waiting; /* vCPUs */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS_MAX);
	__type(key, uint32_t);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* Of a vCPU's thread.  Only what holds its run queue's lock, or runs as it, writes here. */
struct thread {
	uint64_t exit_ns;  /* out of the guest since; 0 in it, or halted */
	uint64_t waits_ns; /* of that, it waited so long for a CPU */
	uint64_t wait_ns;  /* it waits since; 0 it does not */
	uint64_t sum_ns, longest_ns, told_ns, here_ns, gone_ns;
	uint32_t sum_nr, reason;
	uint32_t tid, tgid, vcpu_id;
	uint32_t wait_cpu;
	uint8_t is_vmx, asleep, halted;
	struct {
		uint64_t nr, gpa, bytes, nonce, ring_bytes;
	} asked; /* an announcement, until the entry after it; nr 0 there is none */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static struct thread *thread_of(struct task_struct *task)
{
	return task->bpf_storage ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
}

static void fill(struct holdup *h, uint16_t kind, const struct thread *t, uint64_t now)
{
	h->kind = kind;
	h->time_ns = now;
	h->tid = t->tid;
	h->tgid = t->tgid;
	h->vcpu = t->vcpu_id;
	h->flags = t->is_vmx ? HU_VMX : 0;
}

/* From under a run queue's lock nobody can be woken: user space looks by itself. */
static void send(struct holdup *h)
{
	if (bpf_ringbuf_output(&ring, h, sizeof(*h), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&records_lost, 1);
}

/* Of run queues; @t NULL: of nobody. */
static __attribute__((noinline)) int tell(uint16_t kind, const struct thread *t, uint64_t now,
					  uint32_t cpu, uint32_t runner)
{
	struct holdup h = {.kind = kind, .time_ns = now};

	if (t)
		fill(&h, kind, t, now);
	h.cpu = cpu;
	h.runner = runner;
	send(&h);
	return 0;
}

static void fill_vcpu(struct holdup *h, struct kvm_vcpu *vcpu)
{
	h->tsc_offset = (int64_t)BPF_CORE_READ(vcpu, arch.l1_tsc_offset);
	h->tsc_ratio = BPF_CORE_READ(vcpu, arch.l1_tsc_scaling_ratio);
	h->generation = memslots_generation(vcpu);
}

/* ---- run queues ---- */

static struct cpu *cpu_at(uint32_t nr)
{
	return bpf_map_lookup_elem(&cpus, &nr);
}

static void begin_wait(struct thread *t, uint32_t nr, struct cpu *cpu, uint64_t now)
{
	t->wait_ns = now;
	t->wait_cpu = nr;
	__sync_fetch_and_add(&cpu->waiting, 1);
	tell(HU_WAIT, t, now, nr, cpu->runner);
}

static void end_wait(struct thread *t, uint32_t nr, uint64_t now)
{
	struct cpu *was = cpu_at(t->wait_cpu);

	t->waits_ns += now - t->wait_ns;
	t->wait_ns = 0;
	if (was)
		__sync_fetch_and_add(&was->waiting, (uint32_t)-1);
	tell(HU_RUN, t, now, nr, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	uint32_t nr = bpf_get_smp_processor_id();
	struct cpu *cpu = cpu_at(nr);
	struct thread *from, *to;
	uint32_t runner;
	uint64_t now;

	if (!cpu || !prev || !next)
		return 0;
	runner = (uint32_t)next->tgid;
	if (!prev->bpf_storage && !next->bpf_storage && !cpu->waiting) {
		cpu->runner = runner;
		return 0;
	}
	now = bpf_ktime_get_ns();
	from = thread_of(prev);
	to = thread_of(next);
	if (to && to->wait_ns)
		end_wait(to, nr, now);
	if (to && to->halted && !to->exit_ns) {
		/* It has slept; what comes up to the entry keeps it. */
		to->exit_ns = now;
		to->waits_ns = 0;
	}
	if (cpu->waiting && cpu->runner != runner)
		tell(HU_RUNNER, NULL, now, nr, runner);
	cpu->runner = runner;
	if (!from)
		return 0;
	from->asleep = !preempt && BPF_CORE_READ(prev, __state);
	if (!from->asleep)
		begin_wait(from, nr, cpu, now);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct thread *t = task ? thread_of(task) : NULL;
	struct cpu *cpu;
	uint32_t nr;

	if (!t || !t->asleep || t->wait_ns)
		return 0;
	nr = BPF_CORE_READ(task, thread_info.cpu);
	cpu = cpu_at(nr);
	if (!cpu)
		return 0;
	t->asleep = 0;
	begin_wait(t, nr, cpu, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	struct thread *t = task ? thread_of(task) : NULL;
	struct cpu *was, *will;

	if (!t || !t->wait_ns || t->wait_cpu == (uint32_t)to)
		return 0;
	was = cpu_at(t->wait_cpu);
	will = cpu_at((uint32_t)to);
	if (!was || !will)
		return 0;
	__sync_fetch_and_add(&was->waiting, (uint32_t)-1);
	__sync_fetch_and_add(&will->waiting, 1);
	t->wait_cpu = (uint32_t)to;
	tell(HU_MOVE, t, bpf_ktime_get_ns(), (uint32_t)to, will->runner);
	return 0;
}

/* ---- exits ---- */

static uint32_t reason_of(struct kvm_vcpu *vcpu, uint32_t isa)
{
	if (isa == ISA_SVM && bpf_core_type_exists(struct vcpu_svm)) {
		struct vcpu_svm *svm = (void *)vcpu; /* its first member */

		return BPF_CORE_READ(svm, vmcb, control.exit_code);
	}
	if (isa == ISA_VMX && bpf_core_field_exists(((struct vcpu_vmx *)0)->exit_reason)) {
		struct vcpu_vmx *vmx = (void *)vcpu;

		return BPF_CORE_READ(vmx, exit_reason.full) & VMX_REASON_MASK;
	}
	return HU_REASON_UNKNOWN;
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(on_exit, struct kvm_vcpu *vcpu, uint32_t isa)
{
	struct thread *t;

	if (!vcpu)
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		__sync_fetch_and_add(&records_lost, 1);
		return 0;
	}
	if (!t->tid) {
		uint64_t id = bpf_get_current_pid_tgid();

		t->tid = (uint32_t)id;
		t->tgid = (uint32_t)(id >> 32);
	}
	t->vcpu_id = (uint32_t)vcpu->vcpu_id;
	t->is_vmx = isa == ISA_VMX;
	t->reason = reason_of(vcpu, isa);
	t->waits_ns = 0;
	/* Who halts wants to sleep; and so may who leaves for a reason that is not known. */
	t->halted = t->reason == (isa == ISA_VMX ? VMX_EXIT_HLT : SVM_EXIT_HLT) ||
		    t->reason == HU_REASON_UNKNOWN;
	t->exit_ns = t->halted ? 0 : bpf_ktime_get_ns();
	return 0;
}

static void tell_exit(struct thread *t, struct kvm_vcpu *vcpu, uint64_t begin, uint64_t held,
		      uint64_t now)
{
	struct holdup h = {.cpu = bpf_get_smp_processor_id()};

	fill(&h, HU_EXIT, t, now);
	fill_vcpu(&h, vcpu);
	h.exit.begin_ns = begin;
	h.exit.held_ns = held;
	h.exit.reason = t->reason;
	h.exit.sum_ns = t->sum_ns;
	h.exit.sum_nr = t->sum_nr;
	h.exit.longest_ns = t->longest_ns;
	t->sum_ns = 0;
	t->sum_nr = 0;
	t->longest_ns = 0;
	t->told_ns = now;
	send(&h);
}

/* ---- announcements ---- */

/*
 * User space of a guest can make hypercalls, too, and would have its host write into memory that
 * the guest's kernel has given to somebody else.  Where the call came from is known when the guest
 * goes on behind it.
 */
static bool goes_on_in_kernel(struct kvm_vcpu *vcpu)
{
	/* KVM has gone on behind the call, so it has read where that was. */
	if (bpf_core_field_exists(vcpu->arch.regs_avail) &&
	    !(BPF_CORE_READ(vcpu, arch.regs_avail) >> VCPU_RIP & 1))
		return false;
	return ht_origin_of_rip(BPF_CORE_READ(vcpu, arch.regs[VCPU_RIP])) == HT_ORIGIN_KERNEL;
}

static __attribute__((noinline)) int tell_announcement(struct thread *t, struct kvm_vcpu *vcpu)
{
	uint64_t *last = t->asked.nr >> 32 & 0xff ? &t->gone_ns : &t->here_ns;
	uint64_t now = bpf_ktime_get_ns();
	struct holdup h = {.cpu = 0};

	/* A guest that does nothing else fills nobody's ring. */
	if (now - *last < ANNOUNCE_EVERY_NS)
		return 0;
	*last = now;
	fill(&h, HU_ANNOUNCE, t, now);
	fill_vcpu(&h, vcpu);
	h.announce.nr = t->asked.nr;
	h.announce.gpa = t->asked.gpa;
	h.announce.bytes = t->asked.bytes;
	h.announce.nonce = t->asked.nonce;
	h.announce.ring_bytes = t->asked.ring_bytes;
	memslot_find(vcpu, t->asked.gpa, &h.announce.at, &h.announce.room);
	send(&h);
	return 0;
}

SEC("tp_btf/kvm_hypercall")
int BPF_PROG(on_hypercall, unsigned long nr, unsigned long a0, unsigned long a1, unsigned long a2,
	     unsigned long a3)
{
	struct thread *t;

	if (nr >> 48 != ANNOUNCE_MAGIC)
		return 0;
	t = thread_of(bpf_get_current_task_btf());
	if (!t)
		return 0;
	t->asked.nr = nr;
	t->asked.gpa = a0;
	t->asked.bytes = a1;
	t->asked.nonce = a2;
	t->asked.ring_bytes = a3;
	return 0;
}

/* ---- entries ---- */

SEC("tp_btf/kvm_entry")
int BPF_PROG(on_entry, struct kvm_vcpu *vcpu)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	uint64_t now, begin, held;

	if (!vcpu || !t)
		return 0;
	if (t->asked.nr) {
		if (goes_on_in_kernel(vcpu))
			tell_announcement(t, vcpu);
		t->asked.nr = 0;
	}
	if (!t->exit_ns)
		return 0;
	now = bpf_ktime_get_ns();
	begin = t->exit_ns;
	held = now - begin;
	held = held > t->waits_ns ? held - t->waits_ns : 0;
	t->exit_ns = 0;
	t->halted = 0;
	if (held >= least_ns) {
		tell_exit(t, vcpu, begin, held, now);
		return 0;
	}
	t->sum_ns += held;
	t->sum_nr++;
	if (held > t->longest_ns)
		t->longest_ns = held;
	if (now - t->told_ns >= SUM_EVERY_NS)
		tell_exit(t, vcpu, begin, 0, now);
	return 0;
}
