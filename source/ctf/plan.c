/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/plan.h"

#include <errno.h>
#include <string.h>

#include "source/ctf/bits.h"
#include "arch/exits.h"
#include "events/dialect.h"

#define MAX_STEPS 64
#define MAX_LOADS 64
#define DENSE_IDS (1u << 16)

/* Which fields are wanted */

#define TEXT_SLOT_BYTES 16 /* who reads a text slot looks at so many bytes, or up to a NUL */

static bool fits_slot(const struct ctf_fc *fc, bool text)
{
	if (!text)
		return fc->kind == CTF_INT || fc->kind == CTF_VARINT;
	if (fc->text != CTF_TEXT_UTF8 || fc->align < 8)
		return false;
	return fc->kind == CTF_STRING ||
	       (fc->kind == CTF_ARRAY && !fc->ref && fc->len >= TEXT_SLOT_BYTES);
}

struct wanted {
	const struct ctf_fc *payload;
	bool text;
};

static bool has_field(const char *name, void *data)
{
	const struct wanted *w = data;
	const struct ctf_member *member = ctf_member_find(w->payload, name);

	return member && fits_slot(member->fc, w->text) && member->fc->slot < 0;
}

/* The fields of @from fill the slots of what @read says they are. */
static void choose_slots(uint16_t kind, const struct event_read *read, const struct ctf_fc *from,
			 int64_t defaults[static EVENT_ARGS])
{
	for (unsigned i = 0; i < EVENT_ARGS; i++) {
		struct wanted w = {from, event_slot_is_text(kind, i)};
		char scratch[64];
		const char *name = dialect_pick_field(&read->slots[i], has_field, &w, scratch);

		defaults[i] = read->slots[i].otherwise;
		if (name)
			ctf_member_find(from, name)->fc->slot = (int8_t)i;
	}
}

static void choose_kind(struct ctf_plan *plan, unsigned dialect)
{
	uint16_t kind;
	const struct event_read *read = dialect_find(dialect, plan->cls->name, &kind);

	if (!read)
		return;
	plan->kind = kind;
	plan->check_vcpu = kind == EV_KVM_ENTRY;
	if (dialect != TRACER_UST)
		choose_slots(kind, read, plan->cls->payload, plan->defaults);
	if (kind == EV_KVM_EXIT && ctf_member_find(plan->cls->payload, DIALECT_ARM64_EXIT_FIELD))
		plan->defaults[DIALECT_EXIT_ISA_SLOT] = ISA_ARM64;
}

/* What is wanted of user space's events is in the context that all of them have. */
static void choose_user(struct ctf_fc *context)
{
	int64_t defaults[EVENT_ARGS];

	uint16_t kind;
	const struct event_read *read = dialect_find(TRACER_UST, "*", &kind);

	choose_slots(kind, read, context, defaults);
}

static void choose_tid(struct ctf_fc *fields, const char *name)
{
	const struct ctf_member *tid = ctf_member_find(fields, name);

	if (tid && fits_slot(tid->fc, false))
		tid->fc->slot = CTF_SLOT_TID;
}

/* Compiling a record to steps */

struct compiler {
	struct ctf_step steps[MAX_STEPS];
	struct ctf_load loads[MAX_LOADS];
	unsigned nr_steps, nr_loads;
	/* The run being built. */
	uint64_t offset;     /* bits from its begin */
	uint32_t base_align; /* bits; what its begin is known to be aligned to */
	struct ctf_load slot_loads[MAX_LOADS], reg_loads[MAX_LOADS];
	unsigned nr_slot_loads, nr_reg_loads;
	struct ctf_load tid;
	bool has_tid;
};

/* All of these return false when the record is better left to the interpreter. */

static struct ctf_step *add_step(struct compiler *c, enum ctf_step_kind kind)
{
	struct ctf_step *s;

	if (c->nr_steps == MAX_STEPS)
		return NULL;
	s = &c->steps[c->nr_steps++];
	*s = (struct ctf_step){.kind = (uint8_t)kind, .slot = -1, .reg = -1};
	return s;
}

static bool close_run(struct compiler *c)
{
	unsigned nr = c->nr_slot_loads + c->nr_reg_loads;
	struct ctf_step *s;

	if (!c->offset && !nr)
		return true;
	if (c->offset > CTF_RUN_BYTES_MAX * 8ull || c->nr_loads + nr > MAX_LOADS)
		return false;
	s = add_step(c, CTF_STEP_RUN);
	if (!s)
		return false;
	s->len = (uint32_t)((c->offset + 7) / 8);
	s->loads = (uint16_t)c->nr_loads;
	s->nr_loads = (uint16_t)c->nr_slot_loads;
	s->reg_loads = (uint16_t)(c->nr_loads + c->nr_slot_loads);
	s->nr_reg_loads = (uint16_t)c->nr_reg_loads;
	memcpy(c->loads + s->loads, c->slot_loads, c->nr_slot_loads * sizeof(*c->loads));
	memcpy(c->loads + s->reg_loads, c->reg_loads, c->nr_reg_loads * sizeof(*c->loads));
	c->nr_loads += nr;
	c->offset = 0;
	c->nr_slot_loads = c->nr_reg_loads = 0;
	return true;
}

static bool align_run(struct compiler *c, uint32_t align)
{
	struct ctf_step *s;

	if (align <= c->base_align) {
		c->offset = ctf_align_up(c->offset, align);
		return true;
	}
	if (align < 8 || !close_run(c))
		return false;
	s = add_step(c, CTF_STEP_ALIGN);
	if (!s)
		return false;
	s->len = align / 8;
	c->base_align = align;
	return true;
}

static bool make_load(const struct compiler *c, const struct ctf_fc *fc, struct ctf_load *out)
{
	unsigned bit = c->offset & 7;

	if (bit + fc->size > 64 || c->offset / 8 > CTF_RUN_BYTES_MAX || fc->bits_reversed)
		return false;
	*out = (struct ctf_load){.offset = (uint32_t)(c->offset / 8),
				 .big = fc->order == CTF_ORDER_BE};
	out->shift = (uint8_t)(out->big ? 64 - bit - fc->size : bit);
	out->mask = fc->size == 64 ? ~UINT64_C(0) : (UINT64_C(1) << fc->size) - 1;
	out->sign = fc->is_signed ? UINT64_C(1) << (fc->size - 1) : 0;
	return true;
}

static bool add_load(struct ctf_load *list, unsigned *nr, struct ctf_load l, unsigned to)
{
	if (*nr == MAX_LOADS)
		return false;
	l.to = (uint8_t)to;
	list[(*nr)++] = l;
	return true;
}

static bool compile_int(struct compiler *c, const struct ctf_fc *fc)
{
	struct ctf_load l;

	if ((fc->slot >= 0 || fc->reg >= 0) && !make_load(c, fc, &l))
		return false;
	if (fc->slot == CTF_SLOT_TID && !c->nr_steps) {
		c->tid = l;
		c->has_tid = true;
	} else if (fc->slot == CTF_SLOT_TID) {
		return false;
	} else if (fc->slot >= 0 &&
		   !add_load(c->slot_loads, &c->nr_slot_loads, l, (unsigned)fc->slot)) {
		return false;
	}
	if (fc->reg >= 0 && !add_load(c->reg_loads, &c->nr_reg_loads, l, (unsigned)fc->reg))
		return false;
	c->offset += fc->size;
	return true;
}

static bool compile_walk(struct compiler *c, const struct ctf_fc *fc)
{
	struct ctf_step *s;

	if (c->offset & 7 || !close_run(c))
		return false;
	s = add_step(c, CTF_STEP_WALK);
	if (!s)
		return false;
	s->fc = fc;
	c->base_align = 1;
	return true;
}

static bool compile_string(struct compiler *c, const struct ctf_fc *fc)
{
	struct ctf_step *s;

	if (fc->text > CTF_TEXT_UTF8)
		return compile_walk(c, fc);
	if (!close_run(c))
		return false;
	s = add_step(c, CTF_STEP_STRING);
	if (!s)
		return false;
	s->slot = fc->slot;
	c->base_align = 8;
	return true;
}

static bool constant_array(const struct ctf_fc *fc, uint64_t *bits);

/* Bits from where @fc begins, aligned, to where it ends, if that is always the same and nobody
 * wants anything in it. */
static bool constant_size(const struct ctf_fc *fc, uint64_t *bits)
{
	uint64_t member;

	*bits = 0;
	switch ((enum ctf_kind)fc->kind) {
	case CTF_INT:
	case CTF_FLOAT:
		*bits = fc->size;
		return fc->reg < 0 && fc->slot < 0;
	case CTF_STRUCT:
		for (unsigned i = 0; i < fc->nr_members; i++) {
			if (!constant_size(fc->members[i].fc, &member))
				return false;
			*bits = ctf_align_up(*bits, fc->members[i].fc->align) + member;
		}
		return *bits < CTF_RUN_BYTES_MAX * 8ull;
	case CTF_ARRAY:
		return !fc->ref && fc->slot < 0 && constant_array(fc, bits);
	default:
		return false;
	}
}

/* Elements that lie side by side, *elem_bits each. */
static bool constant_elements(const struct ctf_fc *fc, uint64_t *elem_bits)
{
	return constant_size(fc->elem, elem_bits) && *elem_bits &&
	       *elem_bits % fc->elem->align == 0;
}

static bool constant_array(const struct ctf_fc *fc, uint64_t *bits)
{
	if (fc->len > CTF_RUN_BYTES_MAX || !constant_elements(fc, bits))
		return false;
	*bits *= fc->len;
	return *bits < CTF_RUN_BYTES_MAX * 8ull;
}

static bool compile_array(struct compiler *c, const struct ctf_fc *fc)
{
	struct ctf_load l = {.offset = (uint32_t)(c->offset / 8), .address = true};
	uint64_t bits;
	struct ctf_step *s;

	if (fc->slot >= 0 && c->offset & 7)
		return false;
	if (!fc->ref && constant_array(fc, &bits)) {
		if (fc->slot >= 0 &&
		    !add_load(c->slot_loads, &c->nr_slot_loads, l, (unsigned)fc->slot))
			return false;
		c->offset += bits;
		return c->offset <= CTF_RUN_BYTES_MAX * 8ull;
	}
	if (!fc->ref || !constant_elements(fc, &bits) || bits % 8 || c->offset & 7)
		return compile_walk(c, fc);
	if (!close_run(c))
		return false;
	s = add_step(c, CTF_STEP_SEQUENCE);
	if (!s)
		return false;
	s->reg = fc->ref_reg;
	s->len = (uint32_t)(bits / 8);
	c->base_align = 8;
	return true;
}

static bool compile_field(struct compiler *c, const struct ctf_fc *fc)
{
	if (!align_run(c, fc->align))
		return false;
	switch ((enum ctf_kind)fc->kind) {
	case CTF_INT:
		return compile_int(c, fc);
	case CTF_FLOAT:
		c->offset += fc->size;
		return true;
	case CTF_STRING:
		return compile_string(c, fc);
	case CTF_ARRAY:
		return compile_array(c, fc);
	case CTF_STRUCT:
		for (unsigned i = 0; i < fc->nr_members; i++) {
			if (!compile_field(c, fc->members[i].fc))
				return false;
		}
		return true;
	default:
		return compile_walk(c, fc);
	}
}

static bool compile_records(struct compiler *c, const struct ctf_fc *const *records, unsigned nr)
{
	c->base_align = 8;
	for (unsigned i = 0; i < nr; i++) {
		if (records[i] && !compile_field(c, records[i]))
			return false;
	}
	return close_run(c);
}

static struct ctf_slot slot_of(const struct ctf_load *l)
{
	return (struct ctf_slot){l->mask, l->sign, l->sign, l->offset, l->shift};
}

/* Makes the quick form of a plan that is complete; again when its loads have changed. */
static void make_quick(struct ctf_plan *plan)
{
	struct ctf_quick *q = &plan->quick;
	const struct ctf_load *l = plan->loads;

	plan->is_quick = plan->fixed && !(plan->has_tid && plan->tid.big);
	plan->nr_texts = 0;
	q->tid = plan->has_tid ? slot_of(&plan->tid) : (struct ctf_slot){.flip = UINT64_MAX};
	for (unsigned i = 0; i < EVENT_ARGS; i++)
		q->slots[i] = (struct ctf_slot){.flip = (uint64_t)plan->defaults[i]};
	for (const struct ctf_load *end = l + (plan->fixed ? plan->steps->nr_loads : 0); l < end;
	     l++) {
		plan->is_quick &= !l->big && plan->nr_texts < EVENT_ARGS;
		if (!l->address)
			q->slots[l->to] = slot_of(l);
		else if (plan->is_quick)
			q->texts[plan->nr_texts++] = (struct ctf_quick_text){l->offset, l->to};
	}
}

/* A run loads all that it has; of a variant's options one is read. */
static bool has_walk(const struct compiler *c)
{
	unsigned i = 0;

	while (i < c->nr_steps && c->steps[i].kind != CTF_STEP_WALK)
		i++;
	return i < c->nr_steps;
}

static int compile(struct ctf_plan *plan, const struct ctf_stream_class *stream, struct arena *a)
{
	const struct ctf_fc *const records[] = {stream->event_context, plan->cls->context,
						plan->cls->payload};
	struct ctf_step *steps;
	struct ctf_load *loads;
	struct compiler c;

	c.nr_steps = c.nr_loads = c.nr_slot_loads = c.nr_reg_loads = 0;
	c.offset = 0;
	c.has_tid = false;
	if (!compile_records(&c, records, ARRAY_SIZE(records)))
		return 0; /* stays walked */
	steps = arena_alloc(a, (c.nr_steps + 1) * sizeof(*steps));
	loads = arena_alloc(a, (c.nr_loads + 1) * sizeof(*loads));
	if (!steps || !loads)
		return -ENOMEM;
	if (!c.nr_steps) /* a record without fields: a run of no bytes */
		c.steps[c.nr_steps++] = (struct ctf_step){.kind = CTF_STEP_RUN};
	memcpy(steps, c.steps, c.nr_steps * sizeof(*steps));
	memcpy(loads, c.loads, c.nr_loads * sizeof(*loads));
	plan->walked = false;
	plan->steps = steps;
	plan->loads = loads;
	plan->nr_steps = (uint16_t)c.nr_steps;
	plan->nr_unset = has_walk(&c) ? (uint16_t)plan->cls->nr_regs : 0;
	plan->has_tid = c.has_tid;
	if (c.has_tid)
		plan->tid = c.tid;
	plan->fixed = c.nr_steps == 1 && steps[0].kind == CTF_STEP_RUN && !steps[0].nr_reg_loads;
	plan->fixed_bytes = plan->fixed ? steps[0].len : 0;
	make_quick(plan);
	return 0;
}

/* Event ids */

static int add_id(struct ctf_stream_plan *out, uint32_t index, struct problems *problems)
{
	struct ctf_plan *plan = &out->plans[index];

	if (ctf_plan_find(out, plan->cls->id))
		problems_add(problems,
			     "event id %llu is described twice: the first, \"%s\", counts",
			     (unsigned long long)plan->cls->id,
			     ctf_plan_find(out, plan->cls->id)->cls->name);
	else if (plan->cls->id < out->nr_ids)
		out->by_id[plan->cls->id] =
			(struct ctf_id){plan->fixed_bytes, (uint16_t)index, (uint8_t)plan->kind,
					plan->fixed ? CTF_ID_FIXED : CTF_ID_USED};
	else
		return map_put(&out->by_large_id, plan->cls->id, index);
	return 0;
}

static int make_ids(struct ctf_stream_plan *out, struct arena *a, struct problems *problems)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < out->nr_plans; i++) {
		uint64_t id = out->plans[i].cls->id;

		if (id < DENSE_IDS && id > top)
			top = id;
	}
	out->nr_ids = (uint32_t)top + 1;
	out->by_id = arena_alloc(a, out->nr_ids * sizeof(*out->by_id));
	if (!out->by_id)
		return -ENOMEM;
	for (uint32_t i = 0; i < out->nr_plans; i++) {
		int ret = add_id(out, i, problems);

		if (ret)
			return ret;
	}
	return 0;
}

int ctf_plan_stream(struct ctf_stream_plan *out, const struct ctf_metadata *m,
		    const struct ctf_stream_class *cls, unsigned first_type, struct arena *a,
		    struct problems *problems)
{
	bool user = ctf_is_user_space(m);
	unsigned dialect = user ? TRACER_UST : m->is_perf ? TRACER_FTRACE : TRACER_LTTNG;
	uint32_t nr = 0;

	out->cls = cls;
	for (const struct ctf_event_class *e = m->events; e; e = e->next)
		out->nr_plans += e->stream_id == cls->id;
	out->plans = arena_alloc(a, (out->nr_plans + 1) * sizeof(*out->plans));
	if (!out->plans)
		return -ENOMEM;
	ctf_plan_header(out, m);
	choose_tid(cls->event_context, "tid");
	if (user && cls->event_context)
		choose_user(cls->event_context);
	for (const struct ctf_event_class *e = m->events; e; e = e->next) {
		struct ctf_plan *plan = &out->plans[nr];

		if (e->stream_id != cls->id)
			continue;
		plan->cls = e;
		plan->type = (uint16_t)(first_type + nr++);
		plan->walked = true;
		if (e->broken)
			continue;
		if (!ctf_member_find(cls->event_context, "tid"))
			choose_tid(e->context, "tid");
		if (m->is_perf)
			choose_tid(e->payload, e->system ? "common_pid" : "perf_tid");
		choose_kind(plan, dialect);
		if (out->bytewise && compile(plan, cls, a))
			return -ENOMEM;
	}
	return make_ids(out, a, problems);
}

void ctf_plan_release(struct ctf_stream_plan *s)
{
	map_release(&s->by_large_id);
}

void ctf_plan_drop_slot(struct ctf_plan *plan, unsigned slot, int64_t value)
{
	plan->defaults[slot] = value;
	for (unsigned i = 0; plan->cls->payload && i < plan->cls->payload->nr_members; i++) {
		struct ctf_fc *fc = plan->cls->payload->members[i].fc;

		if (fc->slot == (int8_t)slot)
			fc->slot = -1;
	}
	for (unsigned i = 0; i < plan->nr_steps; i++) {
		struct ctf_step *s = (struct ctf_step *)&plan->steps[i];
		struct ctf_load *loads = (struct ctf_load *)plan->loads + s->loads;

		if (s->slot == (int8_t)slot)
			s->slot = -1;
		for (unsigned k = 0; s->kind == CTF_STEP_RUN && k < s->nr_loads; k++) {
			if (loads[k].to == slot)
				loads[k--] = loads[--s->nr_loads];
		}
	}
	if (plan->fixed)
		make_quick(plan);
}

void ctf_plan_use_walk(struct ctf_stream_plan *s)
{
	s->header = CTF_HEADER_WALK;
	s->self_contained = false;
	for (uint32_t i = 0; i < s->nr_plans; i++) {
		s->plans[i].walked = true;
		s->plans[i].fixed = s->plans[i].is_quick = false;
	}
	for (uint32_t i = 0; i < s->nr_ids; i++)
		s->by_id[i].state = s->by_id[i].state ? CTF_ID_USED : CTF_ID_FREE;
}
