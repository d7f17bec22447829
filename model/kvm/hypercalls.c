/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/hypercalls.h"

#include "channel/reader.h"
#include "channel/stolen.h"
#include "model/kvm/marks.h"
#include "arch/exits.h"

static struct call_origins *origins_of(struct machine_state *mc)
{
	struct model *m = mc->model;

	if (!mc->origins)
		mc->origins = arena_alloc(&m->arena, sizeof(*mc->origins));
	if (!mc->origins)
		model_no_memory(m);
	return mc->origins;
}

static int32_t tid_of(const struct cpu *cpu)
{
	return cpu->thread ? cpu->thread->tid : -1;
}

void calls_follow(struct cpu *cpu, const struct event *e)
{
	struct call_origins *o = cpu->machine->origins;

	if (likely(!o)) {
		/* A gap, too: of a call that comes later, its exit may be in it. */
		if (e->kind != EV_LOST &&
		    (e->kind != EV_KVM_EXIT || !exit_by_hypercall(e->arg[0], e->arg[3])))
			return;
		o = origins_of(cpu->machine);
	}
	if (o)
		call_origins_follow(o, e, tid_of(cpu));
}

/* What only a kernel may send; NR_REFUSED: it may be anybody's. */
static enum refused_what kernels_own(uint64_t nr)
{
	switch (nr >> 48) {
	case HT_CALL_MAGIC:
		return REFUSED_EVENTS;
	case HT_ANNOUNCE_MAGIC:
		return REFUSED_RINGS;
	case ST_ANNOUNCE_MAGIC:
		return REFUSED_BOARD;
	default:
		return NR_REFUSED;
	}
}

static void refuse_all(struct cpu *cpu, enum refused_what what, enum ht_origin origin, uint32_t nr)
{
	struct machine_state *mc = cpu->machine;
	struct model *m = mc->model;
	uint32_t *row = &mc->refused[what][origin];
	struct refused *r;

	if (!*row) {
		if (model_grow(m, (void **)&m->refused, m->nr_refused, &m->refused_room,
			       sizeof(*m->refused)))
			return;
		m->refused[m->nr_refused++] = (struct refused){.machine = mc,
							       .thread = cpu->thread,
							       .what = (uint8_t)what,
							       .origin = (uint8_t)origin,
							       .first = m->now};
		*row = m->nr_refused;
	}
	r = &m->refused[*row - 1];
	r->count += nr;
	r->last = m->now;
	if (r->thread != cpu->thread)
		r->thread = NULL;
}

static void refuse(struct cpu *cpu, enum refused_what what, enum ht_origin origin)
{
	refuse_all(cpu, what, origin, 1);
}

/* Those of its VM's processes that the recorder counted, but did not write. */
static void refuse_skipped(struct cpu *cpu, const struct event *e)
{
	static const enum refused_what what[] = {REFUSED_EVENTS, REFUSED_MARKS};
	struct machine_state *mc = cpu->machine;
	struct field_value v;

	if (trace_event_field(mc->model->stream, e, "skipped", &v) || v.cls != FIELD_UINT)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(what); i++) {
		uint32_t all = (uint32_t)(v.u >> 32 * i), more = all - mc->skipped[i];

		if (!more || more > INT32_MAX) /* two vCPUs' records may come the other way round */
			continue;
		refuse_all(cpu, what[i], HT_ORIGIN_USER, more);
		mc->skipped[i] = all;
	}
}

/* A process may mark, but not without end: what one VM marks is not to drive another's marks out.
 */
static bool may_mark(struct machine_state *mc)
{
	struct model *m = mc->model;

	if (m->now - mc->marks_since >= NS_PER_SEC || mc->marks_since > m->now) {
		mc->marks_since = m->now;
		mc->marks_in_s = 0;
	}
	if (mc->marks_in_s >= CALLS_MARKS_PER_S || mc->nr_marks >= CALLS_MARKS_PER_VM)
		return false;
	mc->marks_in_s++;
	mc->nr_marks++;
	return true;
}

static void mark(struct cpu *cpu, const struct event *e, enum ht_origin origin)
{
	struct ht_mark_call call;

	if (!ht_mark_take(&call, (uint64_t)e->arg[0], (uint64_t)e->arg[1], (uint64_t)e->arg[2],
			  (uint64_t)e->arg[3], (uint64_t)e->arg[4]))
		return;
	if (may_mark(cpu->machine))
		mark_call(cpu, &call);
	else
		refuse(cpu, REFUSED_MARKS, origin);
}

static struct cpu *vcpu_inside(const struct cpu *cpu)
{
	return cpu->thread ? cpu->thread->vcpu : NULL;
}

/* A call that L0 took from a guest of its guest is of the innermost vCPU. */
static struct cpu *caller(struct cpu *cpu, const struct event *e)
{
	struct cpu *vcpu = vcpu_inside(cpu);

	while (e->kind == EV_KVM_NESTED_HYPERCALL && vcpu && vcpu_inside(vcpu))
		vcpu = vcpu_inside(vcpu);
	return vcpu ? vcpu : cpu;
}

void call_event(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	struct call_origins *o = origins_of(cpu->machine);
	uint64_t nr = (uint64_t)e->arg[0];
	enum refused_what what = kernels_own(nr);
	enum ht_origin origin;

	if (!o || (what == NR_REFUSED && !ht_is_mark(nr)))
		return;
	origin = call_origins_of(o, m->stream, e, tid_of(cpu));
	if (origin == HT_ORIGIN_USER && m->stream->trace->format == TRACE_FOLDED)
		refuse_skipped(caller(cpu, e), e);
	if (ht_is_mark(nr))
		mark(caller(cpu, e), e, origin);
	else if (origin != HT_ORIGIN_KERNEL)
		refuse(caller(cpu, e), what, origin);
	else if (what == REFUSED_EVENTS && cpu->machine->trace &&
		 !m->topo->machines[cpu->machine->index].carries_blocks)
		m->blocks_missed = true;
}
