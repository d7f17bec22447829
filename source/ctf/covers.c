/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does one trace's metadata describe what another's does?  LTTng adds event classes to the metadata
 * while a session goes on, so a later part knows all events of an earlier one.
 */
#include "source/ctf/reader.h"

#include <string.h>

static bool same_name(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_path(const struct ctf_path *a, const struct ctf_path *b)
{
	if (!a || !b)
		return a == b;
	if (a->nr != b->nr || a->scope != b->scope || a->up != b->up)
		return false;
	for (unsigned i = 0; i < a->nr; i++) {
		if (!same_name(a->names[i], b->names[i]))
			return false;
	}
	return true;
}

static bool same_member(const struct ctf_member *a, const struct ctf_member *b)
{
	if (!same_name(a->name, b->name) || a->nr_ranges != b->nr_ranges)
		return false;
	for (unsigned i = 0; i < a->nr_ranges; i++) {
		if (a->ranges[i].low != b->ranges[i].low || a->ranges[i].high != b->ranges[i].high)
			return false;
	}
	return true;
}

static bool same_node(const struct ctf_fc *a, const struct ctf_fc *b)
{
	return a->kind == b->kind && a->order == b->order && a->text == b->text &&
	       a->role == b->role && a->is_signed == b->is_signed &&
	       a->bits_reversed == b->bits_reversed && a->align == b->align && a->size == b->size &&
	       a->len == b->len && a->nr_members == b->nr_members && !a->elem == !b->elem &&
	       same_path(a->ref, b->ref);
}

/* Types are at most CTF_MAX_DEPTH deep. */
static bool same_class(const struct ctf_fc *a, const struct ctf_fc *b)
{
	if (!a || !b)
		return a == b;
	if (!same_node(a, b) || (a->elem && !same_class(a->elem, b->elem)))
		return false;
	for (unsigned i = 0; i < a->nr_members; i++) {
		if (!same_member(&a->members[i], &b->members[i]) ||
		    !same_class(a->members[i].fc, b->members[i].fc))
			return false;
	}
	return true;
}

static bool covers_events(const struct ctf_stream_plan *plan, const struct ctf_stream_plan *part)
{
	for (uint32_t i = 0; i < part->nr_plans; i++) {
		const struct ctf_event_class *theirs = part->plans[i].cls;
		const struct ctf_plan *own = ctf_plan_find(plan, theirs->id);

		if (ctf_plan_find(part, theirs->id) != &part->plans[i])
			continue; /* described twice: the first counts */
		if (!own || !same_name(own->cls->name, theirs->name) ||
		    !same_class(own->cls->context, theirs->context) ||
		    !same_class(own->cls->payload, theirs->payload))
			return false;
	}
	return true;
}

static bool covers_stream(const struct ctf_trace *t, const struct ctf_stream_plan *part)
{
	for (unsigned i = 0; i < t->nr_plans; i++) {
		const struct ctf_stream_class *own = t->plans[i].cls, *theirs = part->cls;

		if (own->id == theirs->id)
			return same_class(own->packet_context, theirs->packet_context) &&
			       same_class(own->event_header, theirs->event_header) &&
			       same_class(own->event_context, theirs->event_context) &&
			       covers_events(&t->plans[i], part);
	}
	return false;
}

bool ctf_covers(const struct trace *t, const struct trace *part)
{
	const struct ctf_trace *ct = t->reader, *cp = part->reader;

	if (!same_class(ct->meta.packet_header, cp->meta.packet_header))
		return false;
	for (unsigned i = 0; i < cp->nr_plans; i++) {
		if (!covers_stream(ct, &cp->plans[i]))
			return false;
	}
	return true;
}
