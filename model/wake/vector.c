/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each interrupt vector of each vCPU means: learned, not known beforehand, since a guest gives
 * vectors to its devices as it likes.
 *
 * Two sources.  Each delivery whose cause is known counts for its vector.  And where the guest has
 * a trace, the handler that it runs after an injection has a name.  The name counts for more: it is
 * the guest's own word.
 */
#include <ctype.h>
#include <string.h>

#include "arch/x86/cpu.h"
#include "model/wake/nested_waits.h"
#include "model/wake/vector.h"
#include "source/trace.h"

/* A vector means one thing when so much of what was seen says the same. */
#define AGREE_PERCENT 90

/* More lines than any machine has. */
#define IRQS_MAX 65536

/* ... and of a nested vCPU, which is told of less surely, not before it was seen so often. */
#define NESTED_TIMES_MIN 3

static uint64_t vector_key(const struct cpu *vcpu, int number)
{
	return (uint64_t)vcpu->index << 8 | (uint8_t)number;
}

static struct vector *vector_get(struct model *m, const struct cpu *vcpu, int number)
{
	struct wakes *w = &m->wakes;
	uint64_t key = vector_key(vcpu, number);
	const uint32_t *at = map_get(&w->by_vector, key);

	if (at)
		return &w->vectors[*at];
	if (model_grow(m, (void **)&w->vectors, w->nr_vectors, &w->vectors_room,
		       sizeof(*w->vectors)))
		return NULL;
	if (map_put(&w->by_vector, key, w->nr_vectors)) {
		model_no_memory(m);
		return NULL;
	}
	w->vectors[w->nr_vectors] =
		(struct vector){.vcpu = vcpu, .number = (uint8_t)number, .irq = -1};
	return &w->vectors[w->nr_vectors++];
}

void vector_learn(struct model *m, const struct cpu *vcpu, const struct note *n)
{
	struct vector *v;

	if (n->vector < 0 || n->cause == WAKE_UNKNOWN)
		return;
	v = vector_get(m, vcpu, n->vector);
	if (!v)
		return;
	v->told[n->cause]++;
	v->pool += n->evidence == EVIDENCE_POOL;
}

/* ---- the guest's names -------------------------------------------------------------------------
 */

/* Whether @part is in @name where a word begins; what begins with no letter may be anywhere.  "ens"
 * is in "ens3-rx-0", not in "sensorhub". */
static bool has_word(const char *name, const char *part)
{
	for (const char *at = name; (at = strstr(at, part)); at++) {
		if (at == name || !isalnum((unsigned char)part[0]) ||
		    !isalnum((unsigned char)at[-1]))
			return true;
	}
	return false;
}

/* What drivers call the interrupts of their devices. */
static uint8_t cause_of_name(const char *name)
{
	static const struct {
		const char *part;
		uint8_t cause;
	} parts[] = {
		{"-req.", WAKE_DISK},	   {"-request", WAKE_DISK},	{"nvme", WAKE_DISK},
		{"ahci", WAKE_DISK},	   {"ata_", WAKE_DISK},		{"scsi", WAKE_DISK},
		{"blkif", WAKE_DISK},	   {"-input.", WAKE_NETWORK},	{"-output.", WAKE_NETWORK},
		{"eth", WAKE_NETWORK},	   {"enp", WAKE_NETWORK},	{"ens", WAKE_NETWORK},
		{"eno", WAKE_NETWORK},	   {"mlx", WAKE_NETWORK},	{"ixgbe", WAKE_NETWORK},
		{"vmw_pvscsi", WAKE_DISK}, {"pata_", WAKE_DISK},	{"i40e", WAKE_NETWORK},
		{"timer", WAKE_TIMER},	   {"hpet", WAKE_TIMER},	{"local_timer", WAKE_TIMER},
		{"reschedule", WAKE_IPI},  {"call_function", WAKE_IPI},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (has_word(name, parts[i].part))
			return parts[i].cause;
	}
	return WAKE_DEVICE;
}

static struct irq_name *irq_find(const struct model *m, const struct machine_state *mc, int32_t irq)
{
	const uint32_t *at = map_get(&m->wakes.by_irq, pair_key(mc, (uint32_t)irq));

	return at ? &m->wakes.irqs[*at] : NULL;
}

static void irq_learn(struct machine_state *mc, const struct event *e)
{
	struct model *m = mc->model;
	struct wakes *w = &m->wakes;
	int32_t irq = (int32_t)e->arg[0];
	struct field_value name;
	char text[64] = "";

	if (irq < 0 || irq_find(m, mc, irq) || w->nr_irqs >= IRQS_MAX ||
	    model_grow(m, (void **)&w->irqs, w->nr_irqs, &w->irqs_room, sizeof(*w->irqs)))
		return;
	if (map_put(&w->by_irq, pair_key(mc, (uint32_t)irq), w->nr_irqs)) {
		model_no_memory(m);
		return;
	}
	if (!trace_event_field(m->stream, e, "name", &name) && name.text) {
		size_t len = strnlen(name.text, name.len);

		memcpy(text, name.text, len < sizeof(text) ? len : sizeof(text) - 1);
	}
	w->irqs[w->nr_irqs++] = (struct irq_name){
		mc, irq, history_writer_string(m->w, text, strlen(text)), cause_of_name(text),
		cause_of_name(text) == WAKE_NETWORK && !strstr(text, "-output.")};
}

/* The guest's handler of what was injected last.  Only the lead of the most frequent line is kept:
 * when it has more than half of all votes it comes out first. */
static void vote(struct vector *v, int32_t irq)
{
	v->irq_votes++;
	if (v->irq == irq) {
		v->irq_lead++;
		v->irq_agree++;
	} else if (v->irq_lead) {
		v->irq_lead--;
	} else {
		v->irq = irq;
		v->irq_lead = v->irq_agree = 1;
	}
}

/* One injection leads to one handler: what it led to is told once. */
static int take_delivered(struct cpu *cpu)
{
	int number = cpu->vcpu.delivered;

	cpu->vcpu.delivered = -1;
	return cpu->machine->parent ? number : -1;
}

struct line vector_irq_entry(struct cpu *cpu, const struct event *e)
{
	int number = take_delivered(cpu);
	struct vector *v = number >= 0 ? vector_get(cpu->machine->model, cpu, number) : NULL;
	const struct irq_name *irq;

	cpu->irq_vector = -1;
	cpu->irq_at = cpu->machine->model->now;
	irq_learn(cpu->machine, e);
	irq = irq_find(cpu->machine->model, cpu->machine, (int32_t)e->arg[0]);
	if (v && e->arg[0] >= 0)
		vote(v, (int32_t)e->arg[0]);
	return (struct line){.vector = number,
			     .of_disk = irq && irq->cause == WAKE_DISK,
			     .receives = irq && irq->receives};
}

/* The type's name without what is before and after it in all of them: "local_timer". */
static void name_vector(struct cpu *cpu, const struct event *e)
{
	struct machine_state *mc = cpu->machine;
	const char *name = mc->model->stream->trace->types[e->type].name;
	const char *end = strstr(name, "_entry");
	static const char lttng[] = "x86_irq_vectors_";
	struct vector *v;

	if (!strncmp(name, lttng, sizeof(lttng) - 1))
		name += sizeof(lttng) - 1;
	if (!end || end <= name)
		return;
	if (!strncmp(name, "local_timer", 11))
		mc->timer_vector = (int32_t)e->arg[0];
	v = mc->parent ? vector_get(mc->model, cpu, (int)e->arg[0]) : NULL;
	if (!v)
		return;
	v->name = history_writer_string(mc->model->w, name, (size_t)(end - name));
	v->name_cause = cause_of_name(name);
}

void vector_entry(struct cpu *cpu, const struct event *e)
{
	uint64_t number = (uint64_t)e->arg[0];

	take_delivered(cpu);
	if (number > UINT8_MAX)
		return;
	cpu->irq_vector = (int32_t)number;
	cpu->irq_at = cpu->machine->model->now;
	if (cpu->named_vectors[number / 8] >> number % 8 & 1)
		return;
	cpu->named_vectors[number / 8] |= (uint8_t)(1u << number % 8);
	name_vector(cpu, e);
}

/* ---- the verdict -------------------------------------------------------------------------------
 */

static bool agrees(uint64_t part, uint64_t whole)
{
	return part && part * 100 >= whole * AGREE_PERCENT;
}

/* Deliveries that told something: "device" is said when nothing better is known, and contradicts
 * nothing. */
static uint32_t told(const struct vector *v)
{
	uint32_t sum = 0;

	for (unsigned c = 0; c < NR_WAKE_CAUSES; c++)
		sum += c == WAKE_DEVICE ? 0 : v->told[c];
	return sum;
}

static struct verdict by_guest(const struct model *m, const struct vector *v)
{
	const struct irq_name *irq = v->irq >= 0 ? irq_find(m, v->vcpu->machine, v->irq) : NULL;
	struct verdict out = {.times = v->irq_votes, .agree = v->irq_agree};

	if (v->name) {
		out.agree = v->told[v->name_cause];
		out.times = told(v);
		out.irq_name = v->name;
		out.cause = v->name_cause;
		out.evidence = "its guest's own events name it";
	} else if (irq && agrees(v->irq_agree, v->irq_votes)) {
		out.irq_name = irq->name;
		out.cause = irq->cause;
		out.evidence = "the handler that its guest ran";
	}
	return out;
}

static struct verdict by_deliveries(const struct vector *v)
{
	struct verdict out = {.cause = WAKE_DEVICE, .times = told(v)};
	unsigned best = WAKE_DEVICE;

	for (unsigned c = 0; c < NR_WAKE_CAUSES; c++) {
		if (c != WAKE_DEVICE &&
		    (best == WAKE_DEVICE ? v->told[c] : v->told[c] > v->told[best]))
			best = c;
	}
	out.agree = best == WAKE_DEVICE ? 0 : v->told[best];
	if (agrees(out.agree, out.times))
		out.cause = (uint8_t)best;
	out.evidence = best == WAKE_DISK && v->pool == v->told[best]
			       ? "what a thread of the VMM's pool did before the interrupts"
			       : "what came before the interrupts in its host";
	return out;
}

/* A nested vCPU's.  A program of the machine in between may have slept until some moment and then
 * have sent something to the nested guest: so it is its timer only where no device can have the
 * vector. */
static struct verdict by_entries(const struct vector *v)
{
	struct verdict out = by_deliveries(v);
	bool local = x86_is_vector_of_linux(v->number);

	if (out.agree < NESTED_TIMES_MIN || !agrees(out.agree, out.times) ||
	    (out.cause == WAKE_TIMER) != local)
		out.cause = WAKE_UNKNOWN;
	out.evidence = "what its machine had been woken for, when its nested entries gave it the "
		       "interrupt";
	return out;
}

struct verdict vector_verdict(const struct model *m, const struct vector *v)
{
	struct verdict guest;

	if (nested_is_dark(v->vcpu))
		return by_entries(v);
	guest = by_guest(m, v);
	return guest.evidence ? guest : by_deliveries(v);
}

uint8_t vector_cause(const struct model *m, const struct cpu *vcpu, int vector)
{
	const uint32_t *at =
		vector < 0 ? NULL : map_get(&m->wakes.by_vector, vector_key(vcpu, vector));

	return at ? vector_verdict(m, &m->wakes.vectors[*at]).cause : WAKE_UNKNOWN;
}
