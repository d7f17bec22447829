/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends the rests of vCPUs.
 *
 * A vCPU rests from the exit by which it halts (or from when its thread falls asleep for another
 * reason) to its next entry.  What is delivered to it or wakes it meanwhile is noted, and at the
 * entry the note becomes the value of `woken`: only then is all known that there is to know.  KVM
 * delivers what a device or another vCPU sends at once, and then wakes the vCPU's thread; an
 * expired timer it only wakes for, and the vCPU's own thread delivers that interrupt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/figure.h"
#include "model/identity/machine.h"
#include "model/wake/nested_waits.h"
#include "model/identity/process.h"
#include "model/io/request.h"
#include "model/wake/vcpu_waits.h"
#include "model/wake/on_behalf_of.h"
#include "model/io/packet_taker.h"
#include "model/wake/vector.h"

/* Delivery modes, as in an APIC's command register. */
enum { DM_LOWEST = 1, DM_REMOTE_READ = 3, DM_NMI, DM_INIT, DM_STARTUP };

static bool is_weak(const struct note *n)
{
	return n->evidence == EVIDENCE_NONE || n->evidence == EVIDENCE_NO_INTERRUPT ||
	       n->evidence == EVIDENCE_UNSEEN ||
	       (n->evidence == EVIDENCE_TIMER_INTERRUPT && n->vector < 0);
}

void wakes_release(struct model *m)
{
	struct wakes *w = &m->wakes;

	free(w->rows);
	free(w->vectors);
	free(w->irqs);
	map_release(&w->by_note);
	map_release(&w->by_vector);
	map_release(&w->by_irq);
}

/* ---- rests -------------------------------------------------------------------------------------
 */

void wake_halt(struct cpu *vcpu)
{
	rest_begins(vcpu, HALTED_YES);
	if (unlikely(vcpu->machine->nests))
		nested_outer_rests(vcpu);
}

void wake_sleep(struct thread *host)
{
	struct vcpu *v = &host->vcpu->vcpu;

	if (!v->resting)
		rest_begins(host->vcpu, !v->seen	 ? HALTED_UNSEEN
					: v->reason >= 0 ? HALTED_NO
							 : HALTED_UNKNOWN);
	v->waited = true;
}

/* Not all of its host's CPUs were seen since then: there somebody may have delivered what ended
 * it. */
static bool may_have_missed(const struct vcpu *v, ns_t since)
{
	const struct machine_state *host = v->host->machine;

	return !machine_sees_all(host) || host->seen_since > since || since < host->lost_until;
}

/* What ended it: the first interrupt that was delivered, or who woke it, whichever came first.
 * Where nothing of that was seen, the interrupt that it was given tells what it can. */
static struct note verdict(const struct vcpu *v)
{
	bool sees_deliveries = v->host->machine->sees_deliveries;
	struct note n = v->note;
	bool unseen =
		v->halted == HALTED_UNSEEN || (v->halted == HALTED_UNKNOWN && v->rest_at == NS_MIN);

	/* KVM does not block a vCPU for which an interrupt is pending: kvm_vcpu_halt() returns. */
	if (!v->waited && v->halted >= HALTED_NO && v->host->machine->sees_halts)
		return (struct note){
			.cause = WAKE_NONE, .evidence = EVIDENCE_PENDING, .vector = -1};
	if (v->slept_unseen)
		return (struct note){.vector = -1};
	/* How it began was not seen: had it not halted, this is its host's own affair. */
	if (unseen && is_weak(&n)) {
		n.cause = WAKE_UNKNOWN;
		return n;
	}
	/* Who polls is not woken: an interrupt that came before its timer had expired ended it. */
	if (v->missed && !v->woken && n.evidence == EVIDENCE_OWN_TIMER)
		return (struct note){.vector = -1};
	if (v->halted == HALTED_NO && is_weak(&n))
		return (struct note){
			.cause = WAKE_HOST, .evidence = EVIDENCE_NOT_HALTED, .vector = -1};
	if (!is_weak(&n) || v->injected < 0 || (v->woken && sees_deliveries))
		return n;
	if (n.evidence == EVIDENCE_TIMER_INTERRUPT)
		n.vector = v->injected;
	else if (may_have_missed(v, v->rest_at)) /* it may have been given another one before */
		n = (struct note){.vector = -1};
	else
		n = (struct note){.evidence = EVIDENCE_VECTOR, .vector = v->injected};
	return n;
}

/* Of who polls nobody says that it was woken; and its own thread finds an expired timer only when
 * awake. */
static bool is_found_late(const struct vcpu *v)
{
	return !v->woken || v->note.evidence == EVIDENCE_OWN_TIMER;
}

static void end_rest(struct cpu *vcpu)
{
	struct note n = verdict(&vcpu->vcpu);

	if (unlikely(may_have_missed(&vcpu->vcpu, vcpu->vcpu.rest_at)) &&
	    is_found_late(&vcpu->vcpu) && n.cause != WAKE_NONE && n.cause != WAKE_HOST)
		n = (struct note){.evidence = EVIDENCE_LOST, .vector = -1};
	rest_ends(vcpu, &n);
	if (unlikely(vcpu->machine->nests))
		nested_outer_goes_on(vcpu, &n);
}

void wake_note_vector(struct cpu *vcpu, int vector)
{
	if (vector < 0 || vector > UINT8_MAX)
		return;
	if (vcpu->vcpu.resting && vcpu->vcpu.injected < 0)
		vcpu->vcpu.injected = (int16_t)vector;
	vcpu->vcpu.delivered = (int16_t)vector;
	request_note_handed(vcpu);
}

void wake_entry(struct cpu *vcpu)
{
	if (vcpu->vcpu.resting)
		end_rest(vcpu);
}

/* The VMM has it back: there may be no entry before it rests again. */
void wake_userspace(struct cpu *vcpu)
{
	if (vcpu->vcpu.resting)
		end_rest(vcpu);
}

/* What would have told more may be among what is lost: that it had halted, which interrupt came. */
static void doubt_note(struct vcpu *v)
{
	if (v->halted == HALTED_NO)
		v->halted = HALTED_UNSEEN;
	v->injected = -1;
	if (is_weak(&v->note) && v->note.evidence != EVIDENCE_TIMER_INTERRUPT)
		v->note = (struct note){.vector = -1};
}

/* Who was seen to wake it did: only when it went on is unknown. */
void wake_lost(struct cpu *vcpu)
{
	struct note n = {.evidence = EVIDENCE_LOST, .vector = -1};

	if (!vcpu->vcpu.resting)
		return;
	doubt_note(&vcpu->vcpu);
	if (vcpu->vcpu.woken)
		n = verdict(&vcpu->vcpu);
	rest_ends(vcpu, &n);
	if (unlikely(vcpu->machine->nests))
		nested_outer_is_lost(vcpu);
}

void wake_gone(struct cpu *vcpu)
{
	const struct note n = {.evidence = EVIDENCE_GONE, .vector = -1};

	if (vcpu->vcpu.resting)
		rest_ends(vcpu, &n);
}

/* KVM says that a halt has ended, whatever the exit's reason was called, and when it began: where
 * that was not seen, it may have slept before, and what ended it may have come then. */
void wake_polled(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;
	struct model *m = host_cpu->machine->model;
	/* It counts ns, and cycles of unknown rate cannot be told from them. */
	ns_t begin = m->topo->ticks_are_ns ? ns_since(m->now, e->arg[0]) : NS_MIN;
	struct vcpu *v = vcpu ? &vcpu->vcpu : NULL;

	host_cpu->machine->sees_halts = true;
	if (!v || !v->resting)
		return;
	v->waited = true;
	v->slept_unseen =
		v->halted == HALTED_UNSEEN && begin < v->rest_at && may_have_missed(v, begin);
	v->halted = HALTED_YES;
}

/* ---- what happens to it meanwhile --------------------------------------------------------------
 */

static struct cpu *vcpu_of_vm(struct machine_state *vm, int number)
{
	if (vm->trace)
		return number >= 0 && (unsigned)number < vm->nr_cpus ? vm->cpus[number] : NULL;
	return machine_cpu_numbered(vm, number);
}

/* Which VM a vCPU without a trace is part of may turn out only at the end; what process its thread
 * is of, earlier.  Looks at all of them: with very many it is not worth it. */
#define LOOK_AT_MAX 256

static struct cpu *vcpu_of_process(const struct machine_state *host, int32_t process, int number)
{
	struct model *m = host->model;

	for (uint32_t i = 0; process >= 0 && m->nr_cpus <= LOOK_AT_MAX && i < m->nr_cpus; i++) {
		const struct thread *th = m->cpus[i]->vcpu.host;

		if (m->cpus[i]->number == number && th && th->machine == host &&
		    process_of_thread(th) == process)
			return m->cpus[i];
	}
	return NULL;
}

/* The VMM's process whose code runs.  A vhost worker is a kernel thread of its own before
 * Linux 6.4; its name has the process. */
static int32_t process_of_code(const struct cpu *cpu)
{
	char name[COMM_LEN + 1] = "";
	int pid;

	memcpy(name, cpu->thread->comm, COMM_LEN);
	return sscanf(name, "vhost-%d", &pid) == 1 ? pid : process_of_thread(cpu->thread);
}

/* The vCPU of that number of the VM on whose behalf the code acts; NULL when it cannot be told. */
static struct cpu *target_of(const struct cpu *cpu, int number)
{
	const struct thread *th = cpu->thread;
	struct machine_state *vm;
	struct cpu *vcpu, *of_process;
	int32_t process;

	if (cpu->nr_irqs || !th)
		return NULL;
	process = process_of_code(cpu);
	vm = th->vcpu ? th->vcpu->machine : process_vm_of_pid(cpu->machine, process);
	if (!vm)
		vm = process_vm(th);
	if (!vm && process < 0)
		vm = th->works_for;
	vcpu = vm ? vcpu_of_vm(vm, number) : NULL;
	if (vcpu && vcpu->vcpu.host)
		return vcpu;
	/* Its thread may have run before its process was known, as another VM's. */
	of_process = vcpu_of_process(cpu->machine, process, number);
	return of_process ? of_process : vcpu;
}

/* Which vCPU it was delivered to is not known.  Two VMs may turn out to be one, and the vCPU of
 * that number be the other's; unless they are of two processes.  Looks at all of them, too. */
static void may_be_for_others(const struct cpu *cpu, int number)
{
	const struct model *m = cpu->machine->model;
	int32_t process = cpu->thread && !cpu->nr_irqs ? process_of_code(cpu) : -1, other;

	for (uint32_t i = 0; m->nr_cpus <= LOOK_AT_MAX && i < m->nr_cpus; i++) {
		struct vcpu *v = &m->cpus[i]->vcpu;

		if (!v->resting || !v->host || v->host->machine != cpu->machine ||
		    m->cpus[i]->number != number || v->host == cpu->thread)
			continue;
		other = process_of_thread(v->host);
		v->missed |= process < 0 || other < 0 || process == other;
	}
}

static struct note note_of_delivery(const struct cpu *cpu, const struct event *e)
{
	struct note n = source_of_delivery(cpu);

	switch (e->arg[2] >> 8 & 7) {
	case DM_REMOTE_READ: /* so KVM sends KVM_HC_KICK_CPU, of paravirtual spinlocks */
		n.evidence = EVIDENCE_KICK;
		break;
	case DM_NMI:
		break;
	case DM_INIT:
	case DM_STARTUP:
		n.evidence = EVIDENCE_STARTUP;
		break;
	default:
		n.vector = (int16_t)(e->arg[1] & UINT8_MAX);
		break;
	}
	return n;
}

/* After it was woken, a vCPU's own thread delivers what has expired; else what its guest sends to
 * itself.  Where it plays a device, too, it may be that one's: only the vector tells. */
static void deliver_own(const struct cpu *cpu, struct cpu *vcpu, struct note n)
{
	struct vcpu *v = &vcpu->vcpu;

	if (!v->resting || cpu->routes)
		return;
	n.cause = WAKE_TIMER;
	n.evidence = EVIDENCE_OWN_TIMER;
	n.from = NULL;
	n.by = NULL;
	vector_learn(vcpu->machine->model, vcpu, &n);
	if (is_weak(&v->note))
		v->note = n;
}

void wake_delivery(struct cpu *cpu, const struct event *e)
{
	struct cpu *vcpu = target_of(cpu, (int)e->arg[0]);
	struct note n = note_of_delivery(cpu, e);

	cpu->machine->sees_deliveries = true;
	if (vcpu && n.vector >= 0 && !cpu->machine->sees_injections)
		wake_note_vector(vcpu, n.vector);
	if (vcpu && !cpu->nr_irqs && vcpu->vcpu.host == cpu->thread) {
		deliver_own(cpu, vcpu, n);
		return;
	}
	cpu->delivery = n;
	cpu->delivered_to = (int)e->arg[0];
	cpu->delivered_at = cpu->machine->model->now;
	if (!vcpu || !vcpu->vcpu.host)
		may_be_for_others(cpu, (int)e->arg[0]);
	if (!vcpu)
		return;
	request_sent(vcpu, n.vector, n.cause == WAKE_DISK || n.cause == WAKE_DEVICE, n.by);
	vector_learn(vcpu->machine->model, vcpu, &n);
	if (vcpu->vcpu.resting && !vcpu->vcpu.woken && is_weak(&vcpu->vcpu.note)) {
		vcpu->vcpu.note = n;
		vcpu->vcpu.noted_on = cpu;
	}
}

/* Who delivers an interrupt wakes right after that, on its CPU.  The event comes first, so on
 * another CPU somebody may come in between. */
static bool is_overtaken(const struct vcpu *v, const struct cpu *waker)
{
	return v->noted_on && v->noted_on != waker && (!v->note.by || v->note.by != waker->thread);
}

/* A vCPU's thread is woken: by what the waker has just delivered, or for something else.  What
 * comes while it waits for a CPU has not ended its rest. */
static void wake_vcpu(struct cpu *cpu, struct cpu *vcpu)
{
	struct vcpu *v = &vcpu->vcpu;
	const struct note *n = &cpu->delivery;
	bool first = !v->woken;

	v->woken = true;
	if (first && is_overtaken(v, cpu))
		v->note = (struct note){.vector = -1};
	if (!first || !is_weak(&v->note))
		return;
	if (n->evidence != EVIDENCE_NONE && cpu->delivered_at >= v->rest_at &&
	    (vcpu->number < 0 || vcpu->number == cpu->delivered_to)) {
		v->note = *n;
		vector_learn(vcpu->machine->model, vcpu, n);
		return;
	}
	if (v->note.evidence == EVIDENCE_NONE)
		v->note = source_of_wakeup(cpu);
}

void wake_thread(struct cpu *cpu, struct thread *woken)
{
	woken->woken_at = cpu->machine->model->now;
	woken->acts_for |= (uint8_t)source_activity(cpu, woken);
	request_woken(cpu, woken);
	tap_woken(cpu, woken);
	if (!woken->vcpu || thread_may_run_unseen(cpu->machine))
		return;
	/* How its rest began was not seen, nor when: what this code has just delivered came later.
	 */
	if (!woken->vcpu->vcpu.resting && !woken->on) {
		rest_begins(woken->vcpu, HALTED_UNKNOWN);
		woken->vcpu->vcpu.rest_at = NS_MIN;
	}
	if (woken->vcpu->vcpu.resting)
		wake_vcpu(cpu, woken->vcpu);
}
