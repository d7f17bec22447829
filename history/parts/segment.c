/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/segment.h"

#include <stdlib.h>

/*
 * First byte of a segment: low 6 bits low_bits, bit 6: has a dictionary.  Then varints: nr,
 * high_max; a byte value_bits; varint value_min; with a dictionary: byte dict_bits, varint
 * nr_dict.  Then the arrays, each from a byte boundary on: places, dictionary, values, shares.
 */
#define HAS_DICT 0x40
#define LOW_BITS_MASK 0x3f

#define DICT_BITS_MAX 10
#define DICT_MAX (1u << DICT_BITS_MAX) /* more distinct values are not worth a dictionary */
#define DICT_SLOTS 4096		       /* power of two */

struct segment_work {
	uint32_t key[DICT_SLOTS], number[DICT_SLOTS], round[DICT_SLOTS];
	uint32_t dict[DICT_MAX];
	uint32_t *numbers; /* dictionary number of each entry */
	uint32_t room;
	uint32_t this_round; /* slots with another round are empty */
};

struct segment_work *segment_work_new(void)
{
	return calloc(1, sizeof(struct segment_work));
}

void segment_work_free(struct segment_work *w)
{
	if (w)
		free(w->numbers);
	free(w);
}

static uint64_t packed_bytes(uint64_t nr, unsigned bits)
{
	return (nr * bits + 7) / 8;
}

/* Whether a dictionary of @nr_dict values makes the column smaller.  Once it does not, no longer
 * one does. */
static bool dict_pays(uint32_t nr, uint32_t nr_dict, unsigned wide_bits)
{
	uint64_t plain = (uint64_t)nr * wide_bits;
	uint64_t coded =
		(uint64_t)nr * bits_width(nr_dict - 1) + (uint64_t)nr_dict * wide_bits + 16;

	return nr_dict <= DICT_MAX && coded < plain;
}

/* Numbers the distinct values in order of appearance; 0 when they are too many. */
static uint32_t make_dict(struct segment_work *w, const uint32_t *values, uint32_t nr,
			  unsigned wide_bits, uint32_t *numbers)
{
	uint32_t nr_dict = 0;

	if (!++w->this_round) {
		memset(w->round, 0, sizeof(w->round));
		w->this_round = 1;
	}
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t slot = values[i] * 0x9e3779b1u >> 20;

		while (w->round[slot] == w->this_round && w->key[slot] != values[i])
			slot = (slot + 1) & (DICT_SLOTS - 1);
		if (w->round[slot] != w->this_round) {
			if (!dict_pays(nr, nr_dict + 1, wide_bits))
				return 0;
			w->round[slot] = w->this_round;
			w->key[slot] = values[i];
			w->number[slot] = nr_dict;
			w->dict[nr_dict++] = values[i];
		}
		numbers[i] = w->number[slot];
	}
	return nr_dict;
}

static uint8_t *put_packed(uint8_t *to, const uint32_t *v, uint32_t nr, uint32_t min, unsigned bits)
{
	struct bits_sink sink = {.p = to};

	for (uint32_t i = 0; bits && i < nr; i++)
		bits_sink_put(&sink, v[i] - min, bits);
	return to + packed_bytes(nr, bits);
}

static void put_shares(uint8_t *to, const uint8_t *shares, uint32_t nr)
{
	struct bits_sink sink = {.p = to};

	for (uint32_t i = 0; i < nr; i++)
		bits_sink_put(&sink, shares[i], SHARE_BITS);
}

struct value_plan {
	uint32_t min, nr_dict;
	unsigned wide_bits; /* of a value above min */
	unsigned bits;	    /* of what stands in the column */
};

static uint32_t *numbers_room(struct segment_work *w, uint32_t nr)
{
	if (w->room < nr) {
		free(w->numbers);
		w->room = nr * 2;
		w->numbers = malloc(w->room * sizeof(*w->numbers));
		if (!w->numbers)
			w->room = 0;
	}
	return w->numbers;
}

/* Chooses the smaller of both forms of the value column. */
static struct value_plan plan_values(const struct segment_entries *e, struct segment_work *w)
{
	struct value_plan p = {.min = e->values[0]};
	uint32_t max = e->values[0];
	uint32_t *numbers;

	for (uint32_t i = 1; i < e->nr; i++) {
		p.min = e->values[i] < p.min ? e->values[i] : p.min;
		max = e->values[i] > max ? e->values[i] : max;
	}
	p.wide_bits = bits_width(max - p.min);
	p.bits = p.wide_bits;
	if (p.wide_bits < 3 || e->nr < 6 || !w)
		return p;
	numbers = numbers_room(w, e->nr);
	p.nr_dict = numbers ? make_dict(w, e->values, e->nr, p.wide_bits, numbers) : 0;
	if (p.nr_dict)
		p.bits = bits_width(p.nr_dict - 1);
	return p;
}

void segment_put(struct bytes *out, const struct segment_entries *e, struct segment_work *work)
{
	unsigned low_bits = sorted_low_bits(e->nr, e->places[e->nr - 1]);
	uint64_t high_max = e->places[e->nr - 1] >> low_bits;
	struct value_plan plan = plan_values(e, work);
	uint64_t len_bytes;
	uint8_t *p;

	bytes_put_u8(out, (uint8_t)(low_bits | (plan.nr_dict ? HAS_DICT : 0)));
	bytes_put_varint(out, e->nr);
	bytes_put_varint(out, high_max);
	bytes_put_u8(out, (uint8_t)plan.bits);
	bytes_put_varint(out, plan.min);
	if (plan.nr_dict) {
		bytes_put_u8(out, (uint8_t)plan.wide_bits);
		bytes_put_varint(out, plan.nr_dict);
	}
	len_bytes = sorted_bytes(e->nr, low_bits, high_max) +
		    packed_bytes(plan.nr_dict, plan.wide_bits) + packed_bytes(e->nr, plan.bits) +
		    packed_bytes(e->shares ? e->nr : 0, SHARE_BITS);
	p = bytes_room(out, len_bytes + BITS_SLACK_BYTES);
	if (!p)
		return;
	sorted_put(p, e->places, e->nr, low_bits);
	p += sorted_bytes(e->nr, low_bits, high_max);
	if (plan.nr_dict) {
		p = put_packed(p, work->dict, plan.nr_dict, plan.min, plan.wide_bits);
		p = put_packed(p, work->numbers, e->nr, 0, plan.bits);
	} else {
		p = put_packed(p, e->values, e->nr, plan.min, plan.bits);
	}
	if (e->shares)
		put_shares(p, e->shares, e->nr);
	out->len_bytes += (size_t)len_bytes;
}

bool segment_open(struct segment *s, const uint8_t *from, uint64_t len_bytes, bool has_shares)
{
	struct cursor c = {.p = from, .end = from + len_bytes};
	const uint8_t *first = cursor_take(&c, 1);
	uint64_t nr = cursor_varint(&c);
	uint64_t high_max = cursor_varint(&c);
	const uint8_t *value_bits = cursor_take(&c, 1);
	uint64_t need;

	s->value_min = (uint32_t)cursor_varint(&c);
	s->nr_dict = 0;
	s->dict_bits = 0;
	if (c.bad || !nr || nr > UINT32_MAX / 2)
		return false;
	if (*first & HAS_DICT) {
		const uint8_t *dict_bits = cursor_take(&c, 1);

		s->nr_dict = (uint32_t)cursor_varint(&c);
		if (c.bad)
			return false;
		s->dict_bits = *dict_bits;
	}
	s->value_bits = *value_bits;
	if (c.bad || s->value_bits > 32 || s->dict_bits > 32 ||
	    !sorted_open(&s->places, c.p, (uint64_t)(c.end - c.p), (uint32_t)nr,
			 *first & LOW_BITS_MASK, high_max))
		return false;
	c.p = s->places.high + sorted_high_bytes((uint32_t)nr, high_max);
	need = packed_bytes(s->nr_dict, s->dict_bits) + packed_bytes(nr, s->value_bits) +
	       packed_bytes(has_shares ? nr : 0, SHARE_BITS) + BITS_SLACK_BYTES;
	if (need > (uint64_t)(c.end - c.p))
		return false;
	s->dict = *first & HAS_DICT ? c.p : NULL;
	s->values = c.p + packed_bytes(s->nr_dict, s->dict_bits);
	s->shares = has_shares ? s->values + packed_bytes(nr, s->value_bits) : NULL;
	return true;
}

/* Below this number of entries looking each one up is faster than making the dictionary plain. */
#define PLAIN_DICT_MIN 48

static void look_up(const struct segment *s, uint32_t nr, uint32_t *values)
{
	uint64_t mask = bits_mask(s->dict_bits);

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t at = (uint64_t)values[i] * s->dict_bits;

		values[i] = s->value_min;
		if (at < (uint64_t)s->nr_dict * s->dict_bits)
			values[i] += (uint32_t)(get_u64(s->dict + (at >> 3)) >> (at & 7) & mask);
	}
}

/* Four numbers at once come from one load. */
#define UNPACK_BITS_MAX (BITS_GET_MAX / 4)

static void unpack(const uint8_t *from, uint64_t at, uint32_t nr, unsigned bits, uint32_t min,
		   uint32_t *out)
{
	const uint64_t mask = bits_mask(bits);
	uint32_t i = 0;

	for (; bits <= UNPACK_BITS_MAX && i + 4 <= nr; i += 4, at += 4 * bits) {
		uint64_t four = get_u64(from + (at >> 3)) >> (at & 7);

		out[i] = min + (uint32_t)(four & mask);
		four >>= bits;
		out[i + 1] = min + (uint32_t)(four & mask);
		four >>= bits;
		out[i + 2] = min + (uint32_t)(four & mask);
		four >>= bits;
		out[i + 3] = min + (uint32_t)(four & mask);
	}
	for (; i < nr; i++, at += bits)
		out[i] = min + (uint32_t)(get_u64(from + (at >> 3)) >> (at & 7) & mask);
}

/* The dictionary, with something for each number that fits in DICT_BITS_MAX. */
static void make_plain(const struct segment *s, uint32_t *plain)
{
	uint32_t room = 1u << s->value_bits;

	unpack(s->dict, 0, s->nr_dict, s->dict_bits, s->value_min, plain);
	for (uint32_t i = s->nr_dict; i < room; i++)
		plain[i] = plain[s->nr_dict - 1];
}

/* The same as unpack(), and each is looked up. */
static void unpack_plain(const struct segment *s, uint64_t at, uint32_t nr, uint32_t *out)
{
	const unsigned bits = s->value_bits;
	const uint64_t mask = bits_mask(bits);
	const uint8_t *from = s->values;
	uint32_t plain[DICT_MAX];
	uint32_t i = 0;

	make_plain(s, plain);
	for (; i + 4 <= nr; i += 4, at += 4 * bits) {
		uint64_t four = get_u64(from + (at >> 3)) >> (at & 7);

		out[i] = plain[four & mask];
		four >>= bits;
		out[i + 1] = plain[four & mask];
		four >>= bits;
		out[i + 2] = plain[four & mask];
		four >>= bits;
		out[i + 3] = plain[four & mask];
	}
	for (; i < nr; i++, at += bits)
		out[i] = plain[get_u64(from + (at >> 3)) >> (at & 7) & mask];
}

/* Whether making the dictionary plain pays. */
static bool is_plain(const struct segment *s, uint32_t nr)
{
	return nr >= PLAIN_DICT_MIN && nr >= s->nr_dict && s->nr_dict && s->nr_dict <= DICT_MAX &&
	       s->value_bits <= DICT_BITS_MAX;
}

void segment_values(const struct segment *s, uint32_t first, uint32_t nr, uint32_t *out)
{
	uint64_t at = (uint64_t)first * s->value_bits;

	if (s->dict && is_plain(s, nr)) {
		unpack_plain(s, at, nr, out);
		return;
	}
	unpack(s->values, at, nr, s->value_bits, s->dict ? 0 : s->value_min, out);
	if (s->dict)
		look_up(s, nr, out);
}

void segment_shares(const struct segment *s, uint32_t first, uint32_t nr, uint8_t *out)
{
	for (uint64_t i = first; i < (uint64_t)first + nr; i++)
		*out++ = (uint8_t)bits_get(s->shares, i * SHARE_BITS, SHARE_BITS);
}
