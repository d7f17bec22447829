/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After parsing: default byte orders, alignments of compound types, what the fields of headers
 * mean, and which field every array length and selector refers to.
 *
 * A reference is resolved to a register: the field referred to saves its value there whenever it is
 * read, the array or variant takes it from there.  Registers of headers and contexts that several
 * event classes share come from the first CTF_SHARED_REGS; the others are numbered anew for each
 * event class.
 */
#include "source/ctf/class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A reference through a variant leads through all of its options.  Real metadata have some hundreds:
 * those of an event's header. */
#define OPTIONS_TRIED_MAX (1u << 22)

struct level {
	struct ctf_fc *fc;
	unsigned upto; /* members before this one are known */
};

struct finish {
	struct ctf_metadata *m;
	struct ctf_fc *roots[CTF_NR_SCOPES];
	int scope; /* of the root being worked on */
	struct level stack[CTF_MAX_DEPTH + 1];
	unsigned depth;
	unsigned shared_regs; /* given out */
	unsigned event_regs;
	size_t nr_tried; /* options of variants that references led through */
	struct error *err;
};

/* Byte order, alignment */

static uint32_t max32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int settle(struct finish *f, struct ctf_fc *fc, unsigned depth)
{
	int ret = 0;

	if (depth > CTF_MAX_DEPTH)
		return fail(f->err, -E2BIG, "types are nested deeper than %d", CTF_MAX_DEPTH);
	if (fc->order == CTF_ORDER_NATIVE)
		fc->order = f->m->order;
	if (fc->elem) {
		ret = settle(f, fc->elem, depth + 1);
		fc->align = max32(fc->align, fc->elem->align);
	}
	for (unsigned i = 0; !ret && i < fc->nr_members; i++) {
		ret = settle(f, fc->members[i].fc, depth + 1);
		if (fc->kind == CTF_STRUCT)
			fc->align = max32(fc->align, fc->members[i].fc->align);
	}
	if (!ret && ctf_members_sort(&f->m->arena, fc))
		ret = fail(f->err, -ENOMEM, "out of memory for the metadata");
	return ret;
}

/* Roles of CTF 1.8 fields, which go by name */

struct role_name {
	const char *name;
	enum ctf_role role;
};

static const struct role_name header_roles[] = {
	{"magic", CTF_ROLE_MAGIC},
	{"uuid", CTF_ROLE_UUID},
	{"stream_id", CTF_ROLE_STREAM_CLASS},
	{"stream_instance_id", CTF_ROLE_STREAM_INSTANCE},
	{NULL, CTF_ROLE_NONE},
};

static const struct role_name packet_roles[] = {
	{"timestamp_begin", CTF_ROLE_BEGIN},
	{"timestamp_end", CTF_ROLE_END},
	{"content_size", CTF_ROLE_CONTENT_BITS},
	{"packet_size", CTF_ROLE_PACKET_BITS},
	{"packet_seq_num", CTF_ROLE_SEQ_NUM},
	{"events_discarded", CTF_ROLE_DISCARDED},
	{"cpu_id", CTF_ROLE_CPU},
	{NULL, CTF_ROLE_NONE},
};

static const struct role_name event_roles[] = {
	{"id", CTF_ROLE_EVENT_ID},
	{"timestamp", CTF_ROLE_TIME},
	{NULL, CTF_ROLE_NONE},
};

static bool may_have_role(const struct ctf_fc *fc, enum ctf_role role)
{
	if (role == CTF_ROLE_UUID)
		return fc->kind == CTF_ARRAY && !fc->ref && fc->len == 16 && fc->elem->size == 8;
	return fc->kind == CTF_INT || fc->kind == CTF_VARINT;
}

static void give_roles(struct ctf_fc *fc, const struct role_name *names)
{
	for (unsigned i = 0; i < fc->nr_members; i++) {
		struct ctf_member *member = &fc->members[i];

		give_roles(member->fc, names);
		for (const struct role_name *n = names; n->name; n++) {
			if (!strcmp(member->name, n->name) && may_have_role(member->fc, n->role))
				member->fc->role = (uint8_t)n->role;
		}
	}
}

/* CTF 2 says what fields mean.  A packet's context has its begin as plain time; and no role is
 * there for the CPU, which goes by its usual name. */
static void give_begin_role(struct ctf_fc *fc)
{
	if (fc->role == CTF_ROLE_TIME)
		fc->role = CTF_ROLE_BEGIN;
	for (unsigned i = 0; i < fc->nr_members; i++)
		give_begin_role(fc->members[i].fc);
}

static void give_cpu_role(struct ctf_fc *fc)
{
	const struct ctf_member *cpu = ctf_member_find(fc, "cpu_id");

	if (cpu && may_have_role(cpu->fc, CTF_ROLE_CPU) && !cpu->fc->role)
		cpu->fc->role = CTF_ROLE_CPU;
}

/* References */

static int new_reg(struct finish *f, int scope)
{
	bool shared = scope <= CTF_SCOPE_COMMON_CONTEXT;
	unsigned *nr = shared ? &f->shared_regs : &f->event_regs;
	unsigned limit = shared ? CTF_SHARED_REGS : CTF_REGS - CTF_SHARED_REGS;

	if (*nr == limit)
		return fail(f->err, -E2BIG, "more than %u fields are lengths or selectors", limit);
	return (int)((shared ? 0 : CTF_SHARED_REGS) + (*nr)++);
}

struct target {
	struct ctf_fc *fc; /* the first field the path leads to */
	int reg;
	int scope;
};

/* Makes the field at the end of the path save its value.  A path that leads through a variant may
 * mean a field in each of its options: all save to the same register. */
static int mark(struct finish *f, struct ctf_fc *fc, const char **names, unsigned nr,
		struct target *t)
{
	const struct ctf_member *member;
	int ret = -ENOENT;

	if (!nr) {
		if ((fc->kind != CTF_INT && fc->kind != CTF_VARINT) || !fc->passed)
			return -ENOENT;
		if (t->reg < 0)
			t->reg = fc->reg >= 0 ? fc->reg : new_reg(f, t->scope);
		if (t->reg < 0)
			return t->reg;
		if (fc->reg >= 0 && fc->reg != t->reg)
			return fail(f->err, -ENOTSUP, "a reference has two meanings");
		fc->reg = (int16_t)t->reg;
		fc->nr_refs += fc->nr_refs < UINT16_MAX;
		if (!t->fc)
			t->fc = fc;
		return 0;
	}
	member = ctf_member_find_raw(fc, names[0]);
	if (member)
		return mark(f, member->fc, names + 1, nr - 1, t);
	if (fc->kind != CTF_VARIANT && fc->kind != CTF_OPTIONAL)
		return -ENOENT;
	f->nr_tried += fc->nr_members;
	if (f->nr_tried > OPTIONS_TRIED_MAX)
		return fail(f->err, -E2BIG, "lengths and selectors lead through too many options");
	for (unsigned i = 0; i < fc->nr_members; i++) {
		int r = mark(f, fc->members[i].fc, names, nr, t);

		if (r && r != -ENOENT)
			return r;
		ret = r ? ret : 0;
	}
	return ret;
}

static int mark_relative(struct finish *f, const struct ctf_path *path, struct target *t)
{
	for (int i = (int)f->depth - 1 - (int)path->up; i >= 0; i--) {
		const struct level *l = &f->stack[i];
		const struct ctf_member *member = ctf_member_before(l->fc, path->names[0], l->upto);

		if (member) {
			t->scope = f->scope;
			return mark(f, member->fc, path->names + 1, path->nr - 1, t);
		}
	}
	for (int scope = f->scope - 1; scope >= 0; scope--) {
		t->scope = scope;
		if (f->roots[scope] && ctf_member_find_raw(f->roots[scope], path->names[0]))
			return mark(f, f->roots[scope], path->names, path->nr, t);
	}
	return -ENOENT;
}

/* A TSDL variant's options are chosen by the labels of the enumeration it refers to. */
static int options_from_labels(struct finish *f, struct ctf_fc *variant, const struct ctf_fc *tag)
{
	for (unsigned i = 0; i < variant->nr_members; i++) {
		struct ctf_member *option = &variant->members[i];
		struct ctf_range *ranges;
		unsigned nr = 0;

		if (option->ranges)
			continue;
		ranges = arena_alloc(&f->m->arena, (tag->nr_labels + 1) * sizeof(*ranges));
		if (!ranges)
			return fail(f->err, -ENOMEM, "out of memory for the options of a variant");
		for (unsigned k = 0; k < tag->nr_labels; k++) {
			const char *label = tag->labels[k].label;

			if (!strcmp(label, option->raw) || !strcmp(label, option->name))
				ranges[nr++] = tag->labels[k];
		}
		option->ranges = ranges;
		option->nr_ranges = nr;
	}
	return 0;
}

static int resolve_one(struct finish *f, struct ctf_fc *fc)
{
	const struct ctf_path *path = fc->ref;
	struct target t = {.reg = -1};
	int ret;

	if (!path->nr) {
		ret = -ENOENT;
	} else if (path->scope >= 0) {
		t.scope = path->scope;
		ret = path->scope <= f->scope && f->roots[path->scope]
			      ? mark(f, f->roots[path->scope], path->names, path->nr, &t)
			      : -ENOENT;
	} else {
		ret = mark_relative(f, path, &t);
	}
	if (ret == -ENOENT)
		return fail(f->err, -EINVAL,
			    "\"%s\", which a length or a selector refers to, is not an integer "
			    "that comes before it",
			    path->nr ? path->names[path->nr - 1] : "");
	if (ret)
		return ret;
	fc->ref_reg = (int16_t)t.reg;
	fc->ref_signed = t.fc->is_signed;
	return fc->kind == CTF_VARIANT ? options_from_labels(f, fc, t.fc) : 0;
}

static int resolve(struct finish *f, struct ctf_fc *fc)
{
	int ret = 0;

	fc->passed = true;
	if (fc->ref)
		ret = resolve_one(f, fc);
	else if (fc->kind == CTF_VARIANT || fc->kind == CTF_OPTIONAL)
		ret = fail(f->err, -EINVAL, "a variant has no selector");
	if (!ret && fc->elem)
		ret = resolve(f, fc->elem);
	if (fc->kind == CTF_STRUCT)
		f->stack[f->depth++].fc = fc;
	for (unsigned i = 0; !ret && i < fc->nr_members; i++) {
		if (fc->kind == CTF_STRUCT)
			f->stack[f->depth - 1].upto = i;
		ret = resolve(f, fc->members[i].fc);
	}
	if (fc->kind == CTF_STRUCT)
		f->depth--;
	return ret;
}

static int finish_root(struct finish *f, int scope, struct ctf_fc *fc,
		       const struct role_name *roles)
{
	int ret;

	f->roots[scope] = fc;
	f->scope = scope;
	f->depth = 0;
	if (!fc)
		return 0;
	if (fc->kind != CTF_STRUCT)
		return fail(f->err, -EINVAL, "a record is something else than a structure");
	ret = settle(f, fc, 0);
	if (ret)
		return ret;
	if (roles && f->m->major == 1)
		give_roles(fc, roles);
	if (f->m->major == 2 && scope == CTF_SCOPE_PACKET_CONTEXT) {
		give_begin_role(fc);
		give_cpu_role(fc);
	}
	return resolve(f, fc);
}

static int finish_stream(struct finish *f, struct ctf_stream_class *s)
{
	int ret = finish_root(f, CTF_SCOPE_PACKET_CONTEXT, s->packet_context, packet_roles);

	if (!ret)
		ret = finish_root(f, CTF_SCOPE_EVENT_HEADER, s->event_header, event_roles);
	if (!ret)
		ret = finish_root(f, CTF_SCOPE_COMMON_CONTEXT, s->event_context, NULL);
	if (ret)
		return fail_prefix(f->err, ret, "stream class %llu", (unsigned long long)s->id);
	return 0;
}

static void finish_event(struct finish *f, struct ctf_event_class *e, struct problems *problems)
{
	int ret;

	f->event_regs = 0;
	ret = finish_root(f, CTF_SCOPE_SPECIFIC_CONTEXT, e->context, NULL);
	if (!ret)
		ret = finish_root(f, CTF_SCOPE_PAYLOAD, e->payload, NULL);
	e->nr_regs = f->event_regs;
	if (!ret)
		return;
	e->broken = true;
	problems_add(problems, "event \"%s\" (id %llu): %s; events of this kind cannot be read",
		     e->name, (unsigned long long)e->id, f->err->text);
}

static int check_streams(const struct ctf_metadata *m, struct error *err)
{
	unsigned nr = 0;

	for (const struct ctf_stream_class *s = m->streams; s; s = s->next) {
		for (const struct ctf_stream_class *o = s->next; o; o = o->next) {
			if (o->id == s->id)
				return fail(err, -EINVAL, "stream class %llu is described twice",
					    (unsigned long long)s->id);
		}
		if (++nr > CTF_MAX_STREAM_CLASSES)
			return fail(err, -E2BIG, "there are more than %d stream classes",
				    CTF_MAX_STREAM_CLASSES);
	}
	return 0;
}

/* Events that name no stream class belong to the only one, or to class 0. */
static void settle_stream_id(const struct ctf_metadata *m, struct ctf_event_class *e)
{
	if (!e->has_stream_id && m->streams && !m->streams->next)
		e->stream_id = m->streams->id;
}

int ctf_metadata_finish(struct ctf_metadata *m, struct problems *problems, struct error *err)
{
	struct error scratch = {0};
	struct finish f = {.m = m, .err = err ? err : &scratch};
	int ret;

	if (m->order == CTF_ORDER_NATIVE)
		m->order = CTF_ORDER_LE;
	if (!m->streams) { /* allowed when nothing about the stream needs saying */
		m->streams = arena_alloc(&m->arena, sizeof(*m->streams));
		if (!m->streams)
			return fail(err, -ENOMEM, "out of memory for the metadata");
	}
	ret = check_streams(m, err);
	if (ret)
		return ret;
	ret = finish_root(&f, CTF_SCOPE_PACKET_HEADER, m->packet_header, header_roles);
	if (ret)
		return fail_prefix(f.err, ret, "packet header");
	for (struct ctf_event_class *e = m->events; e; e = e->next)
		settle_stream_id(m, e);
	for (struct ctf_stream_class *s = m->streams; s; s = s->next) {
		ret = finish_stream(&f, s);
		if (ret)
			return ret;
		for (struct ctf_event_class *e = m->events; e; e = e->next) {
			if (e->stream_id == s->id && !e->broken)
				finish_event(&f, e, problems);
		}
	}
	return 0;
}
