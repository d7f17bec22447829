/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MANY_MEMBERS 16

struct ctf_fc *ctf_fc_new(struct arena *a, enum ctf_kind kind)
{
	struct ctf_fc *fc = arena_alloc(a, sizeof(*fc));

	if (!fc)
		return NULL;
	fc->kind = (uint8_t)kind;
	fc->base = 10;
	fc->slot = -1;
	fc->reg = -1;
	fc->ref_reg = -1;
	fc->align = kind == CTF_STRING || kind == CTF_VARINT ? 8 : 1;
	return fc;
}

static bool clone_members(struct arena *a, struct ctf_fc *fc)
{
	const struct ctf_member *from = fc->members;

	if (!fc->nr_members)
		return true;
	fc->members = arena_alloc(a, fc->nr_members * sizeof(*fc->members));
	if (!fc->members)
		return false;
	for (unsigned i = 0; i < fc->nr_members; i++) {
		fc->members[i] = from[i];
		fc->members[i].fc = ctf_fc_clone(a, from[i].fc);
		if (!fc->members[i].fc)
			return false;
	}
	return true;
}

struct ctf_fc *ctf_fc_clone(struct arena *a, const struct ctf_fc *fc)
{
	struct ctf_fc *copy = arena_alloc(a, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *fc;
	if (fc->elem) {
		copy->elem = ctf_fc_clone(a, fc->elem);
		if (!copy->elem)
			return NULL;
	}
	return clone_members(a, copy) ? copy : NULL;
}

const struct ctf_member *ctf_member_find(const struct ctf_fc *fc, const char *name)
{
	for (unsigned i = 0; fc && i < fc->nr_members; i++) {
		if (!strcmp(fc->members[i].name, name))
			return &fc->members[i];
	}
	return NULL;
}

/* A length or a selector is looked up for each field that has one: among many members that would
 * be the square of their number. */
struct ctf_named {
	const char *raw;
	uint32_t at; /* in the order of the record; a name may be there twice */
};

static int by_raw(const void *a, const void *b)
{
	const struct ctf_named *x = a, *y = b;
	int order = strcmp(x->raw, y->raw);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

int ctf_members_sort(struct arena *a, struct ctf_fc *fc)
{
	struct ctf_named *list;

	if (fc->nr_members < MANY_MEMBERS || fc->by_raw)
		return 0;
	list = arena_alloc(a, fc->nr_members * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < fc->nr_members; i++)
		list[i] = (struct ctf_named){fc->members[i].raw, i};
	qsort(list, fc->nr_members, sizeof(*list), by_raw);
	fc->by_raw = list;
	return 0;
}

/* How many members sort before one of this name at this place. */
static unsigned nr_below(const struct ctf_fc *fc, const char *raw, uint32_t at)
{
	const struct ctf_named key = {raw, at};
	unsigned low = 0, high = fc->nr_members;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (by_raw(&fc->by_raw[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct ctf_member *ctf_member_find_raw(const struct ctf_fc *fc, const char *raw)
{
	if (fc && fc->by_raw) {
		unsigned i = nr_below(fc, raw, 0);

		return i < fc->nr_members && !strcmp(fc->by_raw[i].raw, raw)
			       ? &fc->members[fc->by_raw[i].at]
			       : NULL;
	}
	for (unsigned i = 0; fc && i < fc->nr_members; i++) {
		if (!strcmp(fc->members[i].raw, raw))
			return &fc->members[i];
	}
	return NULL;
}

const struct ctf_member *ctf_member_before(const struct ctf_fc *fc, const char *raw, unsigned upto)
{
	if (fc->by_raw) {
		unsigned i = nr_below(fc, raw, upto);

		return i && !strcmp(fc->by_raw[i - 1].raw, raw) ? &fc->members[fc->by_raw[i - 1].at]
								: NULL;
	}
	while (upto-- > 0) {
		if (!strcmp(fc->members[upto].raw, raw))
			return &fc->members[upto];
	}
	return NULL;
}

bool ctf_range_has(const struct ctf_range *r, uint64_t value, bool is_signed)
{
	if (is_signed)
		return (int64_t)value >= (int64_t)r->low && (int64_t)value <= (int64_t)r->high;
	return value >= r->low && value <= r->high;
}

const char *ctf_label(const struct ctf_fc *fc, uint64_t value)
{
	if (fc->is_bit_map)
		return NULL;
	for (unsigned i = 0; i < fc->nr_labels; i++) {
		if (ctf_range_has(&fc->labels[i], value, fc->is_signed))
			return fc->labels[i].label;
	}
	return NULL;
}

const char *ctf_env_text(const struct ctf_metadata *m, const char *name)
{
	for (const struct ctf_env *e = m->env; e; e = e->next) {
		if (e->text && !strcmp(e->name, name))
			return e->text;
	}
	return NULL;
}

bool ctf_is_user_space(const struct ctf_metadata *m)
{
	const char *domain = ctf_env_text(m, "domain"), *tracer = ctf_env_text(m, "tracer_name");

	return (domain && !strcmp(domain, "ust")) || (tracer && !strcmp(tracer, "lttng-ust"));
}

bool ctf_env_number(const struct ctf_metadata *m, const char *name, int64_t *out)
{
	for (const struct ctf_env *e = m->env; e; e = e->next) {
		if (!e->text && !strcmp(e->name, name)) {
			*out = e->number;
			return true;
		}
	}
	return false;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ctf_uuid_parse(const char *text, uint8_t uuid[static 16])
{
	for (unsigned i = 0; i < 16; i++) {
		int high, low;

		if (i == 4 || i == 6 || i == 8 || i == 10) {
			if (*text++ != '-')
				return false;
		}
		high = hex_digit(text[0]);
		low = high < 0 ? -1 : hex_digit(text[1]);
		if (low < 0)
			return false;
		uuid[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return *text == '\0';
}

void ctf_metadata_release(struct ctf_metadata *m)
{
	arena_release(&m->arena);
	memset(m, 0, sizeof(*m));
}
