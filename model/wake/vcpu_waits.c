/* SPDX-License-Identifier: Apache-2.0 */
#include "model/wake/vcpu_waits.h"

const char *wake_evidence_text(enum wake_evidence evidence)
{
	static const char *const texts[NR_EVIDENCE] = {
		[EVIDENCE_NONE] = "",
		[EVIDENCE_VECTOR] = "only the interrupt that it was given is known",
		[EVIDENCE_OWN_TIMER] = "its own thread found its timer expired",
		[EVIDENCE_TIMER_INTERRUPT] = "a timer interrupt of its host woke it",
		[EVIDENCE_PIT] = "the thread that plays its timer chip sent the interrupt",
		[EVIDENCE_IPI] = "another vCPU's thread sent the interrupt, for its guest",
		[EVIDENCE_KICK] = "another vCPU asked for it by a hypercall",
		[EVIDENCE_STARTUP] = "another vCPU started it",
		[EVIDENCE_BLOCK] = "the interrupt followed the end of a block request",
		[EVIDENCE_POOL] = "the interrupt followed the work of a thread of the VMM's pool",
		[EVIDENCE_NET] = "the interrupt followed a packet",
		[EVIDENCE_HOST_IRQ] = "an interrupt handler of its host sent the interrupt",
		[EVIDENCE_VMM] = "a thread of the VMM sent the interrupt",
		[EVIDENCE_EMULATED] = "a vCPU's thread sent the interrupt, playing a device",
		[EVIDENCE_NO_INTERRUPT] = "it was woken, and no interrupt came",
		[EVIDENCE_UNSEEN] = WAKE_UNSEEN_TEXT,
		[EVIDENCE_NOT_HALTED] = "it slept without having halted",
		[EVIDENCE_PENDING] = "it went on at once: the interrupt was there already",
		[EVIDENCE_NESTED] = "its nested entry gave it the interrupt",
		[EVIDENCE_NESTED_NONE] = "its nested entry gave it no interrupt",
		[EVIDENCE_LOST] = WAKE_LOST_TEXT,
		[EVIDENCE_GONE] = "it waited until its thread exited",
	};

	return texts[evidence];
}

/* ---- the rows ----------------------------------------------------------------------------------
 */

static uint64_t key_of(const struct model *m, const struct cpu *vcpu, const struct note *n)
{
	uint64_t other = n->from ? n->from->index : n->by ? n->by->row + 1 : 0;
	uint64_t what =
		(uint64_t)(uint32_t)n->vector << 32 | (uint64_t)n->cause << 16 | n->evidence;

	return hash_fold(hash_fold((uint64_t)vcpu->index << 32 | other, m->secret) ^ what,
			 m->secret);
}

static bool note_same(const struct note *a, const struct note *b)
{
	return a->cause == b->cause && a->evidence == b->evidence && a->vector == b->vector &&
	       a->from == b->from && a->by == b->by;
}

/* The row of table "wake", + 1; 0: no memory.  Equal keys of different notes: the next key. */
static uint32_t wake_row(struct model *m, const struct cpu *vcpu, const struct note *n)
{
	struct wakes *w = &m->wakes;
	uint64_t key = key_of(m, vcpu, n);
	const uint32_t *at;

	for (; (at = map_get(&w->by_note, key)); key += UINT64_C(0x9e3779b97f4a7c15)) {
		if (w->rows[*at].vcpu == vcpu && note_same(&w->rows[*at].note, n))
			return *at + 1;
	}
	if (model_grow(m, (void **)&w->rows, w->nr, &w->room, sizeof(*w->rows)))
		return 0;
	if (map_put(&w->by_note, key, w->nr)) {
		model_no_memory(m);
		return 0;
	}
	w->rows[w->nr] = (struct wake){vcpu, *n};
	return ++w->nr;
}

/* ---- from halt to entry ------------------------------------------------------------------------
 */

void rest_begins(struct cpu *vcpu, enum halted halted)
{
	struct vcpu *v = &vcpu->vcpu;

	v->resting = true;
	v->rest_at = vcpu->machine->model->now;
	v->halted = (uint8_t)halted;
	v->waited = v->woken = v->missed = v->slept_unseen = false;
	v->note = (struct note){.vector = -1};
	v->noted_on = NULL;
	v->injected = -1;
	model_set(vcpu->machine->model, vcpu->woken, 0);
}

void rest_note_up(struct cpu *outer)
{
	if (outer->in_unhalted)
		return;
	outer->in_unhalted = true;
	outer->next_unhalted = outer->machine->unhalted;
	outer->machine->unhalted = outer;
}

void rest_ends(struct cpu *vcpu, const struct note *n)
{
	struct model *m = vcpu->machine->model;

	vcpu->vcpu.resting = false;
	rest_note_up(vcpu);
	model_set(m, vcpu->woken, wake_row(m, vcpu, n));
}
