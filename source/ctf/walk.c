/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/walk.h"

#include <errno.h>
#include <string.h>

#include "source/ctf/bits.h"

static int walk(struct ctf_walk *w, const struct ctf_fc *fc, const char *name);

static bool room_for(const struct ctf_walk *w, uint64_t nr_bits)
{
	return w->pos <= w->end && nr_bits <= w->end - w->pos;
}

static int align(struct ctf_walk *w, const struct ctf_fc *fc)
{
	w->pos = ctf_align_up(w->pos, fc->align);
	return w->pos <= w->end ? 0 : -ENODATA;
}

static uint64_t reverse_bits(uint64_t v, unsigned nr_bits)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < nr_bits; i++, v >>= 1)
		r = r << 1 | (v & 1);
	return r;
}

static uint64_t load(const struct ctf_walk *w, const struct ctf_fc *fc)
{
	uint64_t v = fc->order == CTF_ORDER_BE ? ctf_bits_be(w->data, w->pos, fc->size)
					       : ctf_bits_le(w->data, w->pos, fc->size);

	return fc->bits_reversed ? reverse_bits(v, fc->size) : v;
}

static int leaf(struct ctf_walk *w, const struct ctf_value *v)
{
	if (w->visitor && !w->visitor->leaf(w->visitor_data, v))
		return -ECANCELED;
	return 0;
}

/* What is done with the value of every integer, whatever its encoding. */
static int use_integer(struct ctf_walk *w, const struct ctf_fc *fc, struct ctf_value *v)
{
	if (fc->reg >= 0)
		w->regs[fc->reg] = v->u;
	if (fc->slot >= 0 && w->slots)
		w->slots[fc->slot] = (int64_t)v->u;
	if (fc->role && w->roles) {
		w->roles->value[fc->role] = v->u;
		w->roles->bits[fc->role] = fc->kind == CTF_VARINT ? 64 : (uint8_t)fc->size;
		w->roles->seen |= 1u << fc->role;
	}
	return leaf(w, v);
}

static int walk_int(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos};

	if (!room_for(w, fc->size))
		return -ENODATA;
	v.u = load(w, fc);
	if (fc->is_signed)
		v.u = ctf_sign_extend(v.u, fc->size);
	w->pos += fc->size;
	return use_integer(w, fc, &v);
}

/* LEB128: seven bits a byte, the lowest first; the top bit says that more follow. */
static int walk_varint(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos};
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (!room_for(w, 8))
			return -ENODATA;
		byte = w->data[w->pos >> 3];
		w->pos += 8;
		if (shift >= 70)
			return -EINVAL;
		if (shift < 64)
			v.u |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (fc->is_signed && shift < 64 && (byte & 0x40))
		v.u |= ~UINT64_C(0) << shift;
	return use_integer(w, fc, &v);
}

static double half_to_double(uint16_t h)
{
	int exponent = h >> 10 & 0x1f;
	double f = h & 0x3ff;

	if (exponent == 31)
		f = f ? __builtin_nan("") : __builtin_inf();
	else if (exponent)
		f = __builtin_ldexp(f + 1024, exponent - 25);
	else
		f = __builtin_ldexp(f, -24);
	return h & 0x8000 ? -f : f;
}

static int walk_float(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos};
	uint64_t raw;
	float narrow;

	if (!room_for(w, fc->size))
		return -ENODATA;
	raw = load(w, fc);
	w->pos += fc->size;
	if (fc->size == 16) {
		v.f = half_to_double((uint16_t)raw);
	} else if (fc->size == 32) {
		uint32_t raw32 = (uint32_t)raw;

		memcpy(&narrow, &raw32, sizeof(narrow));
		v.f = narrow;
	} else {
		memcpy(&v.f, &raw, sizeof(v.f));
	}
	return leaf(w, &v);
}

static unsigned char_bytes(const struct ctf_fc *fc)
{
	switch (fc->text) {
	case CTF_TEXT_UTF16LE:
	case CTF_TEXT_UTF16BE:
		return 2;
	case CTF_TEXT_UTF32LE:
	case CTF_TEXT_UTF32BE:
		return 4;
	default:
		return 1;
	}
}

/* Bytes before the NUL, which is as wide as a character; SIZE_MAX when there is none. */
static size_t text_len(const uint8_t *text, size_t room, unsigned width)
{
	static const uint8_t nul[4];

	if (width == 1) {
		const uint8_t *end = memchr(text, 0, room);

		return end ? (size_t)(end - text) : SIZE_MAX;
	}
	for (size_t i = 0; i + width <= room; i += width) {
		if (!memcmp(text + i, nul, width))
			return i;
	}
	return SIZE_MAX;
}

static int walk_string(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos};
	unsigned width = char_bytes(fc);

	v.text = w->data + (w->pos >> 3);
	v.len = text_len(v.text, (w->end - w->pos) >> 3, width);
	if (v.len == SIZE_MAX)
		return -ENODATA;
	w->pos += 8 * (uint64_t)(v.len + width);
	if (fc->slot >= 0 && w->slots)
		w->slots[fc->slot] = (int64_t)(uintptr_t)v.text;
	return leaf(w, &v);
}

/* Text and blobs: the bytes as they are. */
static int walk_bytes(struct ctf_walk *w, const struct ctf_fc *fc, struct ctf_value *v,
		      uint64_t nr_bytes)
{
	if (!room_for(w, 0) || nr_bytes > (w->end - w->pos) >> 3)
		return -ENODATA;
	v->text = w->data + (w->pos >> 3);
	v->len = nr_bytes;
	w->pos += 8 * nr_bytes;
	if (fc->role == CTF_ROLE_UUID && nr_bytes == 16 && w->roles)
		w->roles->uuid = v->text;
	if (fc->slot >= 0 && w->slots)
		w->slots[fc->slot] = (int64_t)(uintptr_t)v->text;
	if (ctf_is_text_array(fc)) {
		size_t len = text_len(v->text, nr_bytes, char_bytes(fc));

		v->len = len == SIZE_MAX ? nr_bytes : len;
	}
	return leaf(w, v);
}

/* Nobody looks and nothing is saved: step over all elements at once. */
static bool can_leap(const struct ctf_walk *w, const struct ctf_fc *elem)
{
	return !w->visitor && elem->kind == CTF_INT && elem->reg < 0 &&
	       elem->size % elem->align == 0;
}

static int walk_elements(struct ctf_walk *w, const struct ctf_fc *fc, uint64_t nr)
{
	if (nr && can_leap(w, fc->elem)) {
		w->pos = ctf_align_up(w->pos, fc->elem->align);
		if (!room_for(w, 0) || nr > (w->end - w->pos) / fc->elem->size)
			return -ENODATA;
		w->pos += nr * fc->elem->size;
		return 0;
	}
	for (uint64_t i = 0; i < nr; i++) {
		int ret = walk(w, fc->elem, NULL);

		if (ret)
			return ret;
	}
	return 0;
}

static int walk_array(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	uint64_t nr = fc->ref ? w->regs[fc->ref_reg] : fc->len;
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos, .len = nr};
	bool is_bytes = fc->is_blob || ctf_is_text_array(fc);
	int ret;

	if (fc->ref && fc->ref_signed && (int64_t)nr < 0)
		return -EINVAL;
	if (w->pos % 8 == 0 && (is_bytes || fc->role == CTF_ROLE_UUID))
		return walk_bytes(w, fc, &v, nr);
	if (w->visitor && !w->visitor->open(w->visitor_data, &v))
		return -ECANCELED;
	ret = walk_elements(w, fc, nr);
	if (!ret && w->visitor)
		w->visitor->close(w->visitor_data, &v);
	return ret;
}

static int walk_struct(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos, .len = fc->nr_members};
	int ret = 0;

	if (w->visitor && !w->visitor->open(w->visitor_data, &v))
		return -ECANCELED;
	for (unsigned i = 0; !ret && i < fc->nr_members; i++)
		ret = walk(w, fc->members[i].fc, fc->members[i].name);
	if (!ret && w->visitor)
		w->visitor->close(w->visitor_data, &v);
	return ret;
}

static bool is_selected(const struct ctf_member *option, uint64_t selector, bool is_signed)
{
	for (unsigned i = 0; i < option->nr_ranges; i++) {
		if (ctf_range_has(&option->ranges[i], selector, is_signed))
			return true;
	}
	return false;
}

static int walk_variant(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	uint64_t selector = w->regs[fc->ref_reg];

	for (unsigned i = 0; selector != CTF_REG_UNSET && i < fc->nr_members; i++) {
		if (is_selected(&fc->members[i], selector, fc->ref_signed))
			return walk(w, fc->members[i].fc, name);
	}
	return -EINVAL;
}

static int walk_optional(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	struct ctf_value v = {.name = name, .fc = fc, .pos = w->pos};
	uint64_t selector = w->regs[fc->ref_reg];
	const struct ctf_member *member = &fc->members[0];
	bool present =
		member->nr_ranges ? is_selected(member, selector, fc->ref_signed) : selector != 0;

	if (selector == CTF_REG_UNSET)
		return -EINVAL;
	return present ? walk(w, member->fc, name) : leaf(w, &v);
}

static int walk(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	int ret = align(w, fc);

	if (ret)
		return ret;
	if (!w->fuel--)
		return -EINVAL;
	switch ((enum ctf_kind)fc->kind) {
	case CTF_INT:
		return walk_int(w, fc, name);
	case CTF_VARINT:
		return walk_varint(w, fc, name);
	case CTF_FLOAT:
		return walk_float(w, fc, name);
	case CTF_STRING:
		return walk_string(w, fc, name);
	case CTF_ARRAY:
		return walk_array(w, fc, name);
	case CTF_STRUCT:
		return walk_struct(w, fc, name);
	case CTF_VARIANT:
		return walk_variant(w, fc, name);
	case CTF_OPTIONAL:
		return walk_optional(w, fc, name);
	}
	return -EINVAL;
}

int ctf_walk_record(struct ctf_walk *w, const struct ctf_fc *fc, const char *name)
{
	return fc ? walk(w, fc, name) : 0;
}
