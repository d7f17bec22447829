/* SPDX-License-Identifier: Apache-2.0 */
#include "history/sorted.h"

static void put_low(uint8_t *to, const uint64_t *x, uint32_t nr, unsigned low_bits)
{
	struct bits_sink sink = {.p = to};
	uint64_t mask = bits_mask(low_bits);

	for (uint32_t i = 0; i < nr; i++)
		bits_sink_put(&sink, x[i] & mask, low_bits);
}

static void put_high(uint8_t *to, const uint64_t *x, uint32_t nr, unsigned low_bits)
{
	uint64_t word = 0, at = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t bit = (x[i] >> low_bits) + i;

		if (bit >> 6 != at) {
			set_u64(to + at * 8, word);
			word = 0;
			at = bit >> 6;
		}
		word |= 1ull << (bit & 63);
	}
	set_u64(to + at * 8, word);
}

void sorted_put(uint8_t *to, const uint64_t *x, uint32_t nr, unsigned low_bits)
{
	if (low_bits)
		put_low(to, x, nr, low_bits);
	put_high(to + sorted_low_bytes(nr, low_bits), x, nr, low_bits);
}

bool sorted_open(struct sorted *s, const uint8_t *from, uint64_t len_bytes, uint32_t nr,
		 unsigned low_bits, uint64_t high_max)
{
	if (low_bits > SORTED_LOW_BITS_MAX || high_max > len_bytes * 8 || nr > len_bytes * 8)
		return false;
	if (sorted_bytes(nr, low_bits, high_max) + BITS_SLACK_BYTES > len_bytes)
		return false;
	s->low = from;
	s->high = from + sorted_low_bytes(nr, low_bits);
	s->nr = nr;
	s->low_bits = low_bits;
	s->high_max = high_max;
	return true;
}

/* The k-th (from 0) set bit of @v, which has more than k: first its byte, by adding up the counts
 * of all bytes at once, then the bit. */
static unsigned nth_set(uint64_t v, unsigned k)
{
	const uint64_t ones = 0x0101010101010101ull;
	uint64_t n = v - (v >> 1 & 0x5555555555555555ull);
	uint64_t upto;
	unsigned byte;

	n = (n & 0x3333333333333333ull) + (n >> 2 & 0x3333333333333333ull);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0full;
	upto = n * ones; /* byte i: how many bits are set in bytes 0 .. i */
	byte = (unsigned)__builtin_ctzll(((upto | ones << 7) - (k + 1) * ones) & ones << 7) & ~7u;
	k -= (unsigned)(upto << 8 >> byte & 0xff);
	v >>= byte;
	while (k--)
		v &= v - 1;
	return byte + (unsigned)__builtin_ctzll(v);
}

/*
 * Long rows are searched by counting bits, for which most x86 processors have an instruction, but
 * not the oldest.  So both searches exist twice, and @popcnt is always a constant.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE unsigned count(uint64_t v, bool popcnt)
{
	return popcnt ? (unsigned)__builtin_popcountll(v) : bits_count(v);
}

/* The bit after the @k-th zero (from 1) of the row; the row's end when it has fewer. */
static ALWAYS_INLINE uint64_t search_zero(const struct sorted *s, uint64_t k, bool popcnt)
{
	uint64_t row_bits = s->nr + s->high_max + 1;
	uint64_t at;

	for (at = 0; at < row_bits; at += 64) {
		uint64_t zeros = ~get_u64(s->high + (at >> 3));
		unsigned n = count(zeros, popcnt);

		if (n >= k) {
			at += nth_set(zeros, (unsigned)k - 1) + 1;
			return at < row_bits ? at : row_bits;
		}
		k -= n;
	}
	return row_bits;
}

static ALWAYS_INLINE uint64_t search_entry(const struct sorted *s, uint32_t i, uint64_t from,
					   uint32_t before, bool popcnt)
{
	uint64_t row_bits = s->nr + s->high_max + 1;
	uint64_t at = from & ~7ull;
	uint64_t word;
	unsigned k = i - before;

	if (from >= row_bits)
		return row_bits;
	word = get_u64(s->high + (at >> 3)) & ~bits_mask(from & 7);
	for (;;) {
		unsigned n = count(word, popcnt);

		if (n > k)
			return at + nth_set(word, k);
		k -= n;
		at += 64;
		if (at >= row_bits)
			return row_bits;
		word = get_u64(s->high + (at >> 3));
	}
}

#ifdef __x86_64__
__attribute__((target("popcnt"))) static uint64_t after_zero_popcnt(const struct sorted *s,
								    uint64_t k)
{
	return search_zero(s, k, true);
}

__attribute__((target("popcnt"))) static uint64_t select_popcnt(const struct sorted *s, uint32_t i,
								uint64_t from, uint32_t before)
{
	return search_entry(s, i, from, before, true);
}
#endif

static uint64_t after_zero(const struct sorted *s, uint64_t k)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("popcnt"))
		return after_zero_popcnt(s, k);
#endif
	return search_zero(s, k, false);
}

uint64_t sorted_select(const struct sorted *s, uint32_t i, uint64_t from, uint32_t before)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("popcnt"))
		return select_popcnt(s, i, from, before);
#endif
	return search_entry(s, i, from, before, false);
}

/* The last set bit of the row before bit @at; there is one. */
static uint64_t set_before(const struct sorted *s, uint64_t at)
{
	while (at & 7) {
		at--;
		if (s->high[at >> 3] >> (at & 7) & 1)
			return at;
	}
	for (; at >= 8; at -= 8) {
		unsigned byte = s->high[(at >> 3) - 1];

		if (byte)
			return at - 8 + 31 - (unsigned)__builtin_clz(byte);
	}
	return 0;
}

uint32_t sorted_upto(const struct sorted *s, uint64_t x, uint64_t *last)
{
	uint64_t hi = x >> s->low_bits;
	uint64_t low = x & bits_mask(s->low_bits);
	uint64_t bit = s->nr + s->high_max + 1;
	uint32_t i = s->nr;

	if (hi <= s->high_max) {
		bit = hi ? after_zero(s, hi) : 0;
		if (bit < hi || bit - hi > s->nr)
			return 0;
		i = (uint32_t)(bit - hi);
		while (i < s->nr && (s->high[bit >> 3] >> (bit & 7) & 1) &&
		       bits_get(s->low, (uint64_t)i * s->low_bits, s->low_bits) <= low) {
			i++;
			bit++;
		}
	}
	if (i && last)
		*last = sorted_join(s, i - 1, set_before(s, bit));
	return i;
}

void sorted_decode(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t *out,
		   uint64_t *hint)
{
	uint64_t row_bits = s->nr + s->high_max + 1;
	uint64_t bit =
		*hint ? sorted_select(s, first, *hint, first) : sorted_select(s, first, 0, 0);
	uint64_t at = bit & ~7ull;
	uint64_t mask = bits_mask(s->low_bits);
	uint64_t low_at = (uint64_t)first * s->low_bits;
	uint64_t word;

	if (!nr)
		return;
	word = at < row_bits ? get_u64(s->high + (at >> 3)) & ~bits_mask(bit & 7) : 0;
	for (uint32_t i = first; i < first + nr; i++, low_at += s->low_bits) {
		while (!word && at + 64 < row_bits) {
			at += 64;
			word = get_u64(s->high + (at >> 3));
		}
		bit = word ? at + (unsigned)__builtin_ctzll(word) : row_bits;
		word &= word - 1;
		*out++ = (bit - i) << s->low_bits |
			 (get_u64(s->low + (low_at >> 3)) >> (low_at & 7) & mask);
	}
	*hint = bit + 1;
}
