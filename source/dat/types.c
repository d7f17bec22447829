/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dat/reader.h"

#include "arch/exits.h"
#include "events/dialect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MAX 65535u /* event.type has 16 bits */

#define COMMON_MAX 64 /* bytes of common fields: 8, in all kernels so far */

/* While the formats are read: where the next type goes. */
struct builder {
	struct dat_events *ev;
	unsigned room;
	bool has_common;
};

static int types_room(struct builder *b)
{
	struct trace *t = b->ev->trace;
	unsigned room = b->room ? b->room * 2 : 512;
	struct event_type *types;
	struct dat_plan *plans;

	if (t->nr_types < b->room)
		return 0;
	types = realloc(t->types, room * sizeof(*types));
	if (!types)
		return -ENOMEM;
	t->types = types;
	plans = realloc(b->ev->plans, room * sizeof(*plans));
	if (!plans)
		return -ENOMEM;
	b->ev->plans = plans;
	b->room = room;
	return 0;
}

/* Which field a slot takes: one of the name asked for, and fit for the slot. */
struct wanted {
	const struct dat_layout *layout;
	bool text;
};

static bool fits_slot(const struct dat_field *f, bool text)
{
	if (f->offset + f->size > DAT_PLACE_MAX)
		return false;
	return text ? f->cls == FIELD_STRING : f->cls == FIELD_INT || f->cls == FIELD_UINT;
}

/* For dialect_pick_field(). */
static bool has_field(const char *name, void *data)
{
	const struct wanted *w = data;
	const struct dat_field *f = dat_field_find(w->layout, name);

	return f && fits_slot(f, w->text);
}

static void plan_number(struct dat_plan *p, unsigned slot, const struct dat_field *f)
{
	struct dat_number *n = &p->numbers[p->nr_numbers++];

	*n = (struct dat_number){
		.offset = f->offset,
		.slot = (uint8_t)slot,
		.shift = (uint8_t)(64 - 8 * f->size),
		.sign = f->is_signed,
	};
	if (p->reach < f->offset + DAT_LOAD_BYTES)
		p->reach = f->offset + DAT_LOAD_BYTES;
	if (p->min_len < f->offset + f->size)
		p->min_len = f->offset + f->size;
}

static void plan_text(struct dat_plan *p, unsigned slot, const struct dat_field *f)
{
	struct dat_text *x;

	if (p->nr_texts == ARRAY_SIZE(p->texts))
		return;
	x = &p->texts[p->nr_texts++];
	*x = (struct dat_text){
		.offset = f->offset,
		.slot = (uint8_t)slot,
		.where = f->where,
		.size = f->size,
	};
	if (p->min_len < f->offset + f->size)
		p->min_len = f->offset + f->size;
}

/* The plan for one type, from the row that has its name. */
static void plan_make(struct dat_plan *p, unsigned type, const char *name,
		      const struct dat_layout *l, const struct dat_record_form *form)
{
	uint16_t kind = EV_OTHER;
	const struct event_read *read = dialect_find(TRACER_FTRACE, name, &kind);

	*p = (struct dat_plan){.type = (uint16_t)type, .min_len = form->common_len};
	if (!read)
		return;
	p->kind = kind;
	for (unsigned slot = 0; slot < EVENT_ARGS; slot++) {
		struct wanted w = {l, event_slot_is_text(kind, slot)};
		char scratch[64];
		const char *field = dialect_pick_field(&read->slots[slot], has_field, &w, scratch);

		p->otherwise[slot] = (int32_t)read->slots[slot].otherwise;
		if (field && w.text)
			plan_text(p, slot, dat_field_find(l, field));
		else if (field)
			plan_number(p, slot, dat_field_find(l, field));
	}
	if (kind == EV_KVM_EXIT && dat_field_find(l, DIALECT_ARM64_EXIT_FIELD))
		p->otherwise[DIALECT_EXIT_ISA_SLOT] = ISA_ARM64;
}

static const struct field_desc *describe(struct arena *arena, const struct dat_layout *l)
{
	unsigned nr = l->nr_fields - l->nr_common;
	struct field_desc *desc = arena_alloc(arena, nr * sizeof(*desc));

	for (unsigned i = 0; desc && i < nr; i++) {
		desc[i].name = l->fields[l->nr_common + i].name;
		desc[i].cls = l->fields[l->nr_common + i].cls;
	}
	return desc;
}

static int type_add(struct builder *b, const char *system, const struct dat_format *f)
{
	struct dat_events *ev = b->ev;
	struct trace *t = ev->trace;
	unsigned index = t->nr_types;
	const struct field_desc *desc = describe(ev->arena, f->layout);

	if (!desc || types_room(b))
		return -ENOMEM;
	plan_make(&ev->plans[index], index, f->name, f->layout, &ev->form);
	t->types[index] = (struct event_type){
		.name = f->name,
		.id = f->id,
		.kind = ev->plans[index].kind,
		.syscall = -1,
		.system = system,
		.fields = desc,
		.nr_fields = f->layout->nr_fields - f->layout->nr_common,
		.reader = f->layout,
	};
	t->nr_types++;
	return 0;
}

static unsigned end_of(const struct dat_field *f, unsigned end)
{
	unsigned own = (unsigned)f->offset + f->size;

	return end < own ? own : end;
}

/* All events have the same common fields: those of the first format say where they are. */
static bool learn_common(struct builder *b, const struct dat_layout *l)
{
	const struct dat_field *type = dat_field_find(l, "common_type");
	const struct dat_field *tid = dat_field_find(l, "common_pid");
	const struct dat_field *flags = dat_field_find(l, "common_flags");
	struct dat_record_form *form = &b->ev->form;
	unsigned end;

	if (!type || type->size != 2 || !tid || tid->size != 4)
		return false;
	if (b->has_common)
		return form->type_offset == type->offset && form->tid_offset == tid->offset;
	end = end_of(tid, end_of(type, 0));
	for (unsigned i = 0; i < l->nr_common; i++)
		end = end_of(&l->fields[i], end);
	if (end > COMMON_MAX)
		return false;
	form->type_offset = type->offset;
	form->tid_offset = tid->offset;
	form->flags_offset = flags && flags->size == 1 && flags->offset < end ? flags->offset : 0;
	form->common_len = (uint16_t)end;
	b->has_common = true;
	return true;
}

static int format_add(struct builder *b, const char *system, struct bytes *table)
{
	struct dat_events *ev = b->ev;
	struct trace *t = ev->trace;
	struct bytes text = bytes_sub(table, bytes_u64(table));
	struct dat_format format;
	int ret;

	if (text.bad)
		return 0;
	if (t->nr_types == TYPES_MAX)
		return 0;
	ret = dat_format_parse(ev->arena, (const char *)text.data, text.len_bytes, ev->long_size,
			       &format);
	if (ret == -ENOMEM)
		return ret;
	if (ret || !learn_common(b, format.layout)) {
		trace_problem(
			t, "%s: event format %u of \"%.64s\" is damaged; such events are unknown",
			t->path, t->nr_types, system);
		return 0;
	}
	if (ev->plan_of_id[format.id])
		return 0; /* listed twice: the same in an instance */
	ev->plan_of_id[format.id] = (uint16_t)t->nr_types;
	ev->last_id = format.id > ev->last_id ? format.id : ev->last_id;
	return type_add(b, system, &format);
}

static int formats_read(struct builder *b, const char *system, struct bytes *table)
{
	uint32_t nr = bytes_u32(table);
	int ret = 0;

	for (uint32_t i = 0; i < nr && !table->bad && !ret; i++)
		ret = format_add(b, system, table);
	return ret;
}

static int systems_read(struct builder *b, struct bytes *table)
{
	uint32_t nr = bytes_u32(table);
	int ret = 0;

	for (uint32_t i = 0; i < nr && !table->bad && !ret; i++) {
		const char *system = bytes_str(table);

		if (!system)
			break;
		system = arena_strdup(b->ev->arena, system);
		ret = system ? formats_read(b, system, table) : -ENOMEM;
	}
	return ret;
}

/* header_page says how wide the kernel's longs are, and where data starts in a page. */
static bool page_form_read(struct dat *d, struct bytes *table)
{
	const char *name = bytes_str(table);
	struct bytes text;
	const char *p;
	const char *end;

	if (!name || strcmp(name, "header_page"))
		return false;
	text = bytes_sub(table, bytes_u64(table));
	if (text.bad)
		return false;
	p = (const char *)text.data;
	end = p + text.len_bytes;
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		struct dat_field f;

		if (!eol)
			eol = end;
		if (!dat_field_parse(&d->file.arena, p, (size_t)(eol - p), 8, &f)) {
			if (!strcmp(f.name, "commit") && (f.size == 4 || f.size == 8)) {
				d->form.commit_offset = (uint8_t)f.offset;
				d->form.long_size = (uint8_t)f.size;
			}
			if (!strcmp(f.name, "data"))
				d->form.data_offset = (uint8_t)f.offset;
		}
		p = eol + 1;
	}
	return d->form.commit_offset == 8 && d->form.data_offset >= 8 + d->form.long_size &&
	       d->form.data_offset <= 64;
}

static void page_form_init(struct dat *d)
{
	struct trace *t = d->file.trace;
	struct bytes table = d->file.tables[DAT_HEADERS];

	if (page_form_read(d, &table))
		return;
	trace_problem(t,
		      "%s: the page header's format is damaged; taken for that of a %u-bit kernel",
		      t->path, d->file.long_size * 8);
	d->form.commit_offset = 8;
	d->form.long_size = (uint8_t)d->file.long_size;
	d->form.data_offset = (uint8_t)(8 + d->file.long_size);
}

/* Type 0 stands for every event whose number no format explains. */
static int unknown_type_add(struct builder *b)
{
	static const struct dat_layout nothing;
	static const struct dat_format unknown = {.name = "unknown", .layout = &nothing};

	return type_add(b, "", &unknown);
}

int dat_events_init(struct dat_events *ev, struct bytes ftrace, struct bytes systems,
		    struct error *err)
{
	struct trace *t = ev->trace;
	struct builder b = {.ev = ev};
	int ret;

	ev->nr_ids = 65536;
	ev->plan_of_id = arena_alloc(ev->arena, ev->nr_ids * sizeof(*ev->plan_of_id));
	ret = ev->plan_of_id ? unknown_type_add(&b) : -ENOMEM;
	if (!ret)
		ret = formats_read(&b, "ftrace", &ftrace);
	if (!ret)
		ret = systems_read(&b, &systems);
	if (ret)
		return fail(err, ret, "out of memory reading the event formats of %s", t->path);
	if (ftrace.bad || systems.bad)
		trace_problem(t,
			      "%s: the table of event formats is cut short or missing; events it "
			      "should explain are unknown",
			      t->path);
	if (!b.has_common)
		return fail(err, -EINVAL, "%s has no event format that can be read", t->path);
	ev->plans[0].min_len = ev->form.common_len;
	return 0;
}

void dat_events_release(struct dat_events *ev)
{
	free(ev->trace->types);
	free(ev->plans);
}

void dat_event_args_edge(struct event *e, const struct dat_plan *p, const uint8_t *data,
			 uint32_t len, bool swap)
{
	uint8_t copy[DAT_PLACE_MAX + DAT_LOAD_BYTES] = {0};
	struct dat_plan numbers = *p;

	numbers.nr_texts = 0;
	memcpy(copy, data, len < p->reach ? len : p->reach);
	dat_event_args(e, &numbers, copy, len, swap);
	for (unsigned i = 0; i < p->nr_texts; i++)
		e->arg[p->texts[i].slot] =
			(int64_t)(uintptr_t)dat_text_place(&p->texts[i], data, len, swap);
}

int dat_types_init(struct dat *d, struct error *err)
{
	page_form_init(d);
	d->events = (struct dat_events){
		.trace = d->file.trace,
		.arena = &d->file.arena,
		.swap = d->file.swap,
		.long_size = d->form.long_size,
	};
	return dat_events_init(&d->events, d->file.tables[DAT_FTRACE_FORMATS],
			       d->file.tables[DAT_EVENT_FORMATS], err);
}
