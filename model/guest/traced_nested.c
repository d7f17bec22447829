/* SPDX-License-Identifier: Apache-2.0 */
#include "model/guest/traced_nested.h"

#include "model/guest/fuse.h"
#include "model/guest/inner_vcpu.h"
#include "model/identity/machine.h"
#include "model/wake/nested_waits.h"

/* So many stays of one address must agree. */
#define AGREE_MIN 3

/* The last two different vCPUs, the newest first. */
static void note_last(struct stay_end last[2], struct cpu *of)
{
	if (last[0].of != of)
		last[1] = last[0];
	last[0] = (struct stay_end){of, of->machine->model->now};
}

/* One of the others since then. */
static bool another_since(const struct stay_end last[2], const struct cpu *than, ns_t since)
{
	for (unsigned i = 0; i < 2; i++) {
		if (last[i].of && last[i].of != than && last[i].at >= since)
			return true;
	}
	return false;
}

void between_begins(struct cpu *outer)
{
	struct vcpu *v = &outer->vcpu;

	if (v->stays || outer->machine->trace || !outer->machine->model->nr_between)
		return;
	outer->machine->runs_nested = true;
	v->stays = true;
	v->stay_at = outer->machine->model->now;
	v->told = NULL;
	note_last(outer->machine->model->stays_began, outer);
}

void between_ends(struct cpu *outer)
{
	struct vcpu *v = &outer->vcpu;

	if (!v->stays)
		return;
	v->stays = false;
	v->told = NULL;
	note_last(outer->machine->model->stays_ended, outer);
	if (v->nested_cpu && v->nested_cpu->machine->trace) {
		if (!nested_is_followed(v->nested_cpu))
			nested_shows(outer, v->nested_cpu, VCPU_UNKNOWN);
		v->nested_cpu = v->told_before;
		v->told_before = NULL;
	}
}

/* Perhaps a nested guest of a VM without a trace executes. */
static bool may_stay(const struct cpu *vcpu)
{
	const struct vcpu *v = &vcpu->vcpu;

	return v->entered && v->host && v->host->on &&
	       (v->stays || (v->nested == NESTED_UNKNOWN && v->nested_cpu));
}

void between_entered(struct cpu *vcpu)
{
	struct model *m = vcpu->machine->model;

	if (vcpu->machine->trace || vcpu->machine->parent->parent || vcpu->vcpu.listed ||
	    !may_stay(vcpu))
		return;
	vcpu->vcpu.listed = true;
	vcpu->vcpu.next_inside = m->inside;
	m->inside = vcpu;
}

/* All in which that is so are in the list.  Those in which it is no more leave it here, so that two
 * are looked at, on the mean, for each entry. */
static struct cpu *first_inside(struct cpu **at)
{
	while (*at && !may_stay(*at)) {
		(*at)->vcpu.listed = false;
		*at = (*at)->vcpu.next_inside;
	}
	return *at;
}

/* The vCPU in whose stay the moment lies; NULL where it may be in another's, or in none. */
static struct cpu *stay_of(struct model *m, ns_t bound)
{
	struct cpu *found;

	if (!machine_sees_all(m->machines[0]))
		return NULL;
	found = first_inside(&m->inside);
	if (!found || first_inside(&found->vcpu.next_inside) || !found->vcpu.stays ||
	    found->vcpu.stay_at > m->now - bound ||
	    another_since(m->stays_ended, found, m->now - bound))
		return NULL;
	return found;
}

/* What was thought to be another nested guest is this one. */
static void adopt(struct cpu *dark, struct cpu *inner)
{
	inner->nested_id = dark->nested_id;
	inner->nested_pgd = dark->nested_pgd;
	dark->merged_into = inner;
	dark->machine->turned_out = inner->machine;
	vcpu_remember_address(dark, inner);
}

static void agree(struct cpu *dark, struct cpu *inner)
{
	struct vcpu *v = &dark->vcpu;

	v->disputed |= v->told && v->told != inner;
	v->told = inner;
	if (!v->disputed && ++v->nr_told == AGREE_MIN)
		adopt(dark, inner);
}

static void note_held(struct machine_state *vm, struct machine_state *guest)
{
	struct held *one = vm->holds;

	while (one && one->guest != guest)
		one = one->next;
	if (one)
		return;
	one = arena_alloc(&vm->model->arena, sizeof(*one));
	if (!one) {
		model_no_memory(vm->model);
		return;
	}
	*one = (struct held){guest, vm->holds};
	vm->holds = one;
}

void between_settle(struct cpu *outer)
{
	struct vcpu *v = &outer->vcpu;
	struct model *m = outer->machine->model;
	struct cpu *inner = v->told;

	if (!inner || v->nested_cpu == inner || m->now <= v->told_at + inner->machine->bound_ns)
		return;
	if (another_since(m->stays_began, outer, v->told_at)) {
		v->told = NULL;
		return;
	}
	note_held(outer->machine, inner->machine);
	if (v->nested_cpu && v->nested_cpu->nested_id) {
		agree(v->nested_cpu, inner);
		nested_was_another(v->nested_cpu);
	}
	v->told_before = v->nested_cpu;
	v->nested_cpu = inner;
	inner->vcpu.nested_in = outer;
	nested_shows(outer, inner, VCPU_ON_CPU);
}

/* One at a time: others are settled by what happens next on their CPUs. */
static void due_later(struct model *m, struct cpu *outer, ns_t at)
{
	if (m->due_at != NS_MAX)
		return;
	m->due = outer;
	m->due_at = at;
	if (at < m->next_moment_t)
		m->next_moment_t = at;
}

void between_due(struct model *m)
{
	m->due_at = NS_MAX;
	between_settle(m->due);
	if (m->due->vcpu.host->on)
		fuse(m->due->vcpu.host->on);
}

void between_event(struct cpu *inner)
{
	struct model *m = inner->machine->model;
	struct cpu *outer = inner->vcpu.nested_in;
	ns_t bound = inner->machine->bound_ns;

	if (outer && outer->vcpu.stays && outer->vcpu.nested_cpu == inner)
		return;
	outer = bound >= 0 ? stay_of(m, bound) : NULL;
	if (!outer || outer->vcpu.nested_cpu == inner)
		return;
	if (!outer->vcpu.told) {
		outer->vcpu.told = inner;
		outer->vcpu.told_at = m->now;
		due_later(m, outer, m->now + bound + 1);
	} else if (outer->vcpu.told != inner) {
		outer->vcpu.stay_at = NS_MAX; /* that cannot be: not this stay */
		outer->vcpu.told = NULL;
	}
	between_settle(outer);
	fuse(inner);
}
