/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/snapshot.h"

static uint64_t array_bytes(uint64_t nr, unsigned bits)
{
	return (nr * bits + 7) / 8;
}

struct widths {
	unsigned attr, value, since;
};

static struct widths measure(ns_t at, const struct snapshot_entry *list, uint32_t nr)
{
	uint32_t values = 0;
	uint64_t since = 0;

	for (uint32_t i = 0; i < nr; i++) {
		values |= list[i].value;
		since |= (uint64_t)at - (uint64_t)list[i].since;
	}
	return (struct widths){.attr = nr ? bits_width(list[nr - 1].attr) : 0,
			       .value = bits_width(values),
			       .since = bits_width(since)};
}

void snapshot_put(struct bytes *out, ns_t at, const struct snapshot_entry *list, uint32_t nr)
{
	struct widths w = measure(at, list, nr);
	uint64_t len_bytes = SNAPSHOT_HEADER_BYTES + array_bytes(nr, w.attr) +
			     array_bytes(nr, w.value) + array_bytes(nr, w.since) + BITS_SLACK_BYTES;
	uint8_t *h = bytes_room(out, len_bytes);
	struct bits_sink attrs = {0}, values = {0}, since = {0};

	if (!h)
		return;
	attrs.p = h + SNAPSHOT_HEADER_BYTES;
	values.p = attrs.p + array_bytes(nr, w.attr);
	since.p = values.p + array_bytes(nr, w.value);
	set_u32(h, nr);
	h[4] = (uint8_t)w.attr;
	h[5] = (uint8_t)w.value;
	h[6] = (uint8_t)w.since;
	/* A column at a time: the end of one is overwritten until the next begins. */
	for (uint32_t i = 0; i < nr; i++)
		bits_sink_put(&attrs, list[i].attr, w.attr);
	for (uint32_t i = 0; i < nr; i++)
		bits_sink_put(&values, list[i].value, w.value);
	for (uint32_t i = 0; i < nr; i++)
		bits_sink_put_wide(&since, (uint64_t)at - (uint64_t)list[i].since, w.since);
	out->len_bytes += len_bytes;
}

bool snapshot_open(struct snapshot *s, ns_t at, const uint8_t *from, uint64_t len_bytes)
{
	if (len_bytes < SNAPSHOT_HEADER_BYTES + BITS_SLACK_BYTES)
		return false;
	s->at = at;
	s->nr = get_u32(from);
	s->attr_bits = from[4];
	s->value_bits = from[5];
	s->since_bits = from[6];
	if (s->attr_bits > 32 || s->value_bits > 32 || s->since_bits > 64 ||
	    s->nr > 1ull << s->attr_bits)
		return false;
	s->attrs = from + SNAPSHOT_HEADER_BYTES;
	s->values = s->attrs + array_bytes(s->nr, s->attr_bits);
	s->since = s->values + array_bytes(s->nr, s->value_bits);
	return array_bytes(s->nr, s->attr_bits) + array_bytes(s->nr, s->value_bits) +
		       array_bytes(s->nr, s->since_bits) <=
	       len_bytes - SNAPSHOT_HEADER_BYTES - BITS_SLACK_BYTES;
}

static uint32_t entry_attr(const struct snapshot *s, uint32_t i)
{
	return (uint32_t)bits_get(s->attrs, (uint64_t)i * s->attr_bits, s->attr_bits);
}

static uint32_t entry_value(const struct snapshot *s, uint32_t i)
{
	return (uint32_t)bits_get(s->values, (uint64_t)i * s->value_bits, s->value_bits);
}

static ns_t entry_since(const struct snapshot *s, uint32_t i)
{
	uint64_t before = bits_get_wide(s->since, (uint64_t)i * s->since_bits, s->since_bits);

	return (ns_t)((uint64_t)s->at - before);
}

/* A column at a time: what its width tells is worked out once. */
void snapshot_entries(const struct snapshot *snap, uint32_t first, uint32_t nr,
		      struct snapshot_entry *out)
{
	const struct snapshot s = *snap; /* not changed by what is written */
	uint64_t at = (uint64_t)first * s.attr_bits;

	for (uint32_t i = 0; i < nr; i++, at += s.attr_bits)
		out[i].attr = (uint32_t)bits_get(s.attrs, at, s.attr_bits);
	at = (uint64_t)first * s.value_bits;
	for (uint32_t i = 0; i < nr; i++, at += s.value_bits)
		out[i].value = (uint32_t)bits_get(s.values, at, s.value_bits);
	if (s.since_bits > BITS_GET_MAX) {
		for (uint32_t i = 0; i < nr; i++)
			out[i].since = entry_since(&s, first + i);
		return;
	}
	at = (uint64_t)first * s.since_bits;
	for (uint32_t i = 0; i < nr; i++, at += s.since_bits)
		out[i].since = (ns_t)((uint64_t)s.at - bits_get(s.since, at, s.since_bits));
}

bool snapshot_find(const struct snapshot *s, uint32_t attr, uint32_t *value, ns_t *since)
{
	uint32_t low = 0, nr = s->nr;

	if (!nr)
		return false;
	while (nr > 1) {
		uint32_t half = nr / 2;

		low += entry_attr(s, low + half) <= attr ? half : 0;
		nr -= half;
	}
	if (entry_attr(s, low) != attr)
		return false;
	*value = entry_value(s, low);
	*since = entry_since(s, low);
	return true;
}
