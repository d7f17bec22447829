/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of nested vCPUs, from the outermost host's trace alone.
 *
 * The host sees that a nested guest halts, for it gives that exit to the VM in between, and with
 * which interrupt that VM's hypervisor enters it again, for such an entry is an exit to the host,
 * too.  In between it sees the outer vCPU: while that one rests, so does the nested one; when it
 * goes on, that may have been for the nested one or not, and only its next rest, or the entry,
 * tells.  Until then it is not known whether the nested one waits or is ready.
 *
 * What the interrupt means is learned: when the outer vCPU rested, was given one interrupt, and the
 * first guest that it entered then got one in turn, the one was for the other.
 */
#include "model/wake/nested_waits.h"

#include "arch/x86/cpu.h"
#include "model/identity/one_vm_evidence.h"
#include "model/identity/vm_counts.h"
#include "model/wake/vcpu_waits.h"
#include "model/wake/vector.h"

/* More halted guests of one vCPU than this are not followed. */
#define SLEEPERS_MAX 16

/* The nested vCPU that the outer one has entered last, if it is one that is followed. */
static struct cpu *followed(const struct cpu *outer)
{
	struct cpu *inner = outer->vcpu.nested_cpu;

	return inner && inner->woken != ATTR_NONE && nested_is_followed(inner) ? inner : NULL;
}

/* A sleeper is shown to wait, or what it was before: no longer when the VM around it goes on. */
static void note_shown(struct machine_state *vm)
{
	vm->shows_waits = true;
	if (vm->in_showing)
		return;
	vm->in_showing = true;
	vm->next_showing = vm->model->showing;
	vm->model->showing = vm;
}

static void show(struct cpu *inner, enum vcpu_state state)
{
	if (inner->vcpu_state == state)
		return;
	if (inner->vcpu.sleeps_on && state != VCPU_UNKNOWN)
		note_shown(inner->vcpu.sleeps_on->machine);
	inner->vcpu_state = (uint8_t)state;
	model_set(inner->machine->model, inner->state, state);
}

void nested_shows(const struct cpu *outer, struct cpu *inner, enum vcpu_state state)
{
	bool on = state == VCPU_ON_CPU && outer->number >= 0;

	show(inner, state);
	model_set(inner->machine->model, inner->on, on ? (uint32_t)outer->number + 1 : 0);
}

static void sleep_on(struct cpu *outer, struct cpu *inner)
{
	struct nest *nest = outer->vcpu.nest;

	if (nest->nr_sleepers >= SLEEPERS_MAX)
		return;
	nest->nr_sleepers++;
	inner->vcpu.sleeps_on = outer;
	inner->vcpu.next_sleeper = nest->sleepers;
	nest->sleepers = inner;
	if (!nest->listed) {
		nest->listed = true;
		nest->next = outer->machine->sleeping;
		outer->machine->sleeping = nest;
	}
	if (inner->vcpu_state != VCPU_UNKNOWN)
		note_shown(inner->vcpu.sleeps_on->machine);
}

static void leave_sleepers(struct cpu *inner)
{
	struct nest *nest = inner->vcpu.sleeps_on ? inner->vcpu.sleeps_on->vcpu.nest : NULL;

	if (!nest)
		return;
	for (struct cpu **at = &nest->sleepers; *at; at = &(*at)->vcpu.next_sleeper) {
		if (*at == inner) {
			*at = inner->vcpu.next_sleeper;
			nest->nr_sleepers--;
			break;
		}
	}
	inner->vcpu.sleeps_on = inner->vcpu.next_sleeper = NULL;
}

/* How its rest goes on is not known, nor when it ends. */
static void forget_rest(struct cpu *inner)
{
	const struct note n = {.evidence = EVIDENCE_LOST, .vector = -1};

	leave_sleepers(inner);
	if (inner->vcpu.resting)
		rest_ends(inner, &n);
}

void nested_was_another(struct cpu *inner)
{
	if (inner->state == ATTR_NONE)
		return;
	forget_rest(inner);
	nested_shows(inner, inner, VCPU_UNKNOWN);
}

/* ---- entries and exits -------------------------------------------------------------------------
 */

void nested_asked(struct cpu *outer, const struct event *e)
{
	struct nest *nest = outer->vcpu.nest;
	struct model *m = outer->machine->model;
	struct x86_entry entry;

	if (!nest) {
		nest = outer->vcpu.nest = arena_alloc(&m->arena, sizeof(*nest));
		if (!nest) {
			model_no_memory(m);
			return;
		}
		nest->given = -1;
		nest->went_on = NS_MIN;
		outer->machine->nests = true;
	}
	entry = x86_nested_entry((uint64_t)e->arg[0], (uint64_t)e->arg[2], e->arg[4]);
	nest->vector = (int16_t)entry.vector;
	nest->window = entry.asks_window;
}

/* Interrupts between vCPUs of the VM in between tell nothing: its kernel sends them for whatever it
 * wakes there. */
static bool tells(uint8_t cause)
{
	return cause == WAKE_TIMER || cause == WAKE_DISK || cause == WAKE_NETWORK;
}

/* What the outer vCPU went on for was for the nested one: nothing else came since, and it is the
 * first that was entered. */
static void learn(const struct cpu *outer, const struct cpu *inner, int vector)
{
	const struct nest *nest = outer->vcpu.nest;
	struct model *m = outer->machine->model;
	struct note n = {
		.cause = nest->cause, .evidence = EVIDENCE_NESTED, .vector = (int16_t)vector};

	if (vector < 0 || !nest->one_cause || nest->entered || nest->went_on < inner->vcpu.rest_at)
		return;
	if (!tells(n.cause))
		n.cause = vector_cause(m, outer, nest->given);
	if (tells(n.cause))
		vector_learn(m, inner, &n);
}

static void wake(struct cpu *outer, struct cpu *inner)
{
	int16_t vector = outer->vcpu.nest->vector;
	const struct note n = {.cause = WAKE_UNKNOWN,
			       .evidence = vector < 0 ? EVIDENCE_NESTED_NONE : EVIDENCE_NESTED,
			       .vector = vector};

	learn(outer, inner, vector);
	leave_sleepers(inner);
	rest_ends(inner, &n);
}

void nested_entry(struct cpu *outer, const struct event *e)
{
	struct nest *nest = outer->vcpu.nest;
	struct cpu *inner = followed(outer);

	if (!inner) {
		nest->entered = true;
		return;
	}
	/* Linux 6.13 on. */
	if (nest->vector < 0 && x86_injected((uint64_t)e->arg[2]) >= 0) {
		nest->vector = (int16_t)x86_injected((uint64_t)e->arg[2]);
		nest->window = false;
	}
	if (!inner->vcpu.resting)
		leave_sleepers(inner);
	else if (!nest->window)
		wake(outer, inner);
	else
		return;
	nest->vector = -1;
	nest->entered = true;
	nested_shows(outer, inner, VCPU_ON_CPU);
}

/* It was entered to be left again when it can take an interrupt: that is not yet the end of its
 * rest.  Any other exit means that it ran. */
void nested_exit(struct cpu *outer, const struct event *e)
{
	struct nest *nest = outer->vcpu.nest;
	struct cpu *inner = nest->window ? followed(outer) : NULL;

	if (!inner || exit_for_interrupt(e->arg[0], e->arg[3]))
		return;
	nest->window = false;
	if (inner->vcpu.resting && !exit_opens_window(e->arg[0], e->arg[3])) {
		nest->entered = true;
		wake(outer, inner);
		show(inner, VCPU_ON_CPU);
	}
}

void nested_reflected(struct cpu *outer, int64_t reason, int64_t isa)
{
	struct cpu *inner = followed(outer);

	if (!inner || inner->vcpu.resting)
		return;
	/* Its hypervisor has it, and may do something else, or poll for what it halted for. */
	nested_shows(outer, inner, VCPU_UNKNOWN);
	if (!exit_halts(reason, isa))
		return;
	rest_begins(inner, HALTED_YES);
	if (unlikely(inner->machine->nests))
		nested_outer_rests(inner);
	sleep_on(outer, inner);
}

/* ---- the outer vCPU ----------------------------------------------------------------------------
 */

static bool may_be(struct machine_state *vm, const struct machine_state *other)
{
	if (other == vm || !machines_may_be_one(vm, other))
		return false;
	vm->maybe = other;
	return true;
}

/* No other vCPU was seen that may be one of this VM's, though it is not known to be. */
static bool is_alone(struct machine_state *vm)
{
	const struct model *m = vm->model;

	if (vm->compared == m->nr_cpus)
		return vm->alone;
	vm->compared = m->nr_cpus;
	vm->alone = vm_counts_is_alone(vm);
	if (vm->alone)
		return true;
	/* The last one that may be may still be. */
	if (vm->maybe && machines_may_be_one(vm, vm->maybe))
		return false;
	vm->alone = true;
	for (uint32_t i = 0; i < m->nr_machines && vm->alone; i++)
		vm->alone = !may_be(vm, m->machines[i]);
	return vm->alone;
}

static bool has_halted(const struct vcpu *v)
{
	return !v->host || v->host->state == THREAD_DEAD || (v->resting && v->halted == HALTED_YES);
}

/* On another one of its vCPUs the VM may run the guest, or wake it.  Who has halted leaves the list
 * only here, so each look at one that has is paid for by its having been up. */
static bool all_rest(struct machine_state *vm)
{
	while (vm->unhalted && has_halted(&vm->unhalted->vcpu)) {
		vm->unhalted->in_unhalted = false;
		vm->unhalted = vm->unhalted->next_unhalted;
	}
	return !vm->unhalted && is_alone(vm);
}

/* Those on which nobody sleeps any more leave the list. */
static void show_sleepers(struct machine_state *vm, enum vcpu_state state)
{
	struct nest *nest, **at = &vm->sleeping;

	if (state == VCPU_UNKNOWN && !vm->shows_waits)
		return;
	if (state != VCPU_UNKNOWN && vm->sleeping)
		note_shown(vm);
	while ((nest = *at)) {
		for (struct cpu *cpu = nest->sleepers; cpu; cpu = cpu->vcpu.next_sleeper)
			show(cpu, state);
		if (nest->sleepers) {
			at = &nest->next;
		} else {
			nest->listed = false;
			*at = nest->next;
		}
	}
	vm->shows_waits &= state != VCPU_UNKNOWN;
}

void nested_outer_rests(struct cpu *outer)
{
	if (all_rest(outer->machine))
		show_sleepers(outer->machine, VCPU_WAITING);
}

void nested_outer_is_lost(struct cpu *outer)
{
	show_sleepers(outer->machine, VCPU_UNKNOWN);
}

void nested_outer_is_new(struct model *m)
{
	for (; m->showing; m->showing = m->showing->next_showing) {
		m->showing->in_showing = false;
		show_sleepers(m->showing, VCPU_UNKNOWN);
	}
}

void nested_outer_goes_on(struct cpu *outer, const struct note *n)
{
	struct nest *nest = outer->vcpu.nest;

	show_sleepers(outer->machine, VCPU_UNKNOWN);
	if (!nest)
		return;
	nest->went_on = outer->machine->model->now;
	nest->cause = n->cause;
	nest->given = outer->vcpu.injected;
	nest->one_cause = nest->given >= 0 || !outer->vcpu.host->machine->sees_injections;
	nest->entered = false;
}

void nested_outer_given(struct cpu *outer, int vector)
{
	struct nest *nest = outer->vcpu.nest;

	if (!outer->vcpu.resting && vector != nest->given)
		nest->one_cause = false;
}

void nested_forget(struct cpu *outer)
{
	struct nest *nest = outer->vcpu.nest;
	struct cpu *inner = followed(outer);

	while (nest->sleepers) {
		struct cpu *cpu = nest->sleepers;

		forget_rest(cpu);
		show(cpu, VCPU_UNKNOWN);
	}
	if (inner && !inner->vcpu.resting)
		show(inner, VCPU_UNKNOWN);
	nest->one_cause = nest->window = false;
	nest->vector = nest->given = -1;
}
