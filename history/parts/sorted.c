/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/sorted.h"

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

/*
 * The searches below count bits and look for the k-th one that is set.  Most x86 processors have
 * instructions for both, but the oldest have none, and on some the second is slower than doing
 * without it.  So each search exists twice, and @fast is always a constant.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef __x86_64__
#define FAST __attribute__((target("popcnt,bmi,bmi2")))

static inline bool is_fast(void)
{
	return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam17h");
}

FAST static inline unsigned fast_count(uint64_t v)
{
	return (unsigned)__builtin_popcountll(v);
}

FAST static inline unsigned fast_nth_set(uint64_t v, unsigned k)
{
	return (unsigned)__builtin_ctzll(__builtin_ia32_pdep_di(1ull << k, v));
}
#else
#define FAST
#define is_fast() false
#define fast_count bits_count
#define fast_nth_set slow_nth_set
#endif

/* The k-th (from 0) set bit of @v, which has more than k.  No branch depends on what is looked for,
 * for none could be foreseen: the half that has the bit is found by what the halves count, from
 * bytes down to single bits. */
static inline unsigned slow_nth_set(uint64_t v, unsigned k)
{
	const uint64_t ones = 0x0101010101010101ull;
	uint64_t pairs = v - (v >> 1 & 0x5555555555555555ull);
	uint64_t nibbles = (pairs & 0x3333333333333333ull) + (pairs >> 2 & 0x3333333333333333ull);
	/* Byte i: how many bits are set in bytes 0 .. i. */
	uint64_t upto = ((nibbles + (nibbles >> 4)) & 0x0f0f0f0f0f0f0f0full) * ones;
	unsigned at, n, skip;

	at = (unsigned)__builtin_ctzll(((upto | ones << 7) - (k + 1) * ones) & ones << 7) & ~7u;
	k -= (unsigned)(upto << 8 >> at & 0xff);
	n = (unsigned)(nibbles >> at) & 15;
	skip = -(unsigned)(k >= n);
	k -= n & skip;
	at += 4 & skip;
	n = (unsigned)(pairs >> at) & 3;
	skip = -(unsigned)(k >= n);
	k -= n & skip;
	at += 2 & skip;
	n = (unsigned)(v >> at) & 1;
	return at + (k >= n);
}

static ALWAYS_INLINE unsigned count(uint64_t v, bool fast)
{
	return fast ? fast_count(v) : bits_count(v);
}

static ALWAYS_INLINE unsigned nth_set(uint64_t v, unsigned k, bool fast)
{
	return fast ? fast_nth_set(v, k) : slow_nth_set(v, k);
}

/* The bit after the @k-th zero (from 1) of the row from bit @from on; the row's end when it has
 * fewer. */
static ALWAYS_INLINE uint64_t search_zero(const struct sorted *s, uint64_t k, uint64_t from,
					  bool fast)
{
	uint64_t row_bits = s->nr + s->high_max + 1;
	uint64_t ones = bits_mask(from & 7); /* bits that do not count */
	uint64_t at;

	for (at = from & ~7ull; at < row_bits; at += 64, ones = 0) {
		uint64_t zeros = ~(get_u64(s->high + (at >> 3)) | ones);
		unsigned n = count(zeros, fast);

		if (n >= k) {
			at += nth_set(zeros, (unsigned)k - 1, fast) + 1;
			return at < row_bits ? at : row_bits;
		}
		k -= n;
	}
	return row_bits;
}

static ALWAYS_INLINE uint64_t search_entry(const struct sorted *s, uint32_t i, uint64_t from,
					   uint32_t before, bool fast)
{
	uint64_t row_bits = s->nr + s->high_max + 1;
	uint64_t at = from & ~7ull;
	uint64_t word;
	unsigned k = i - before;

	if (from >= row_bits)
		return row_bits;
	word = get_u64(s->high + (at >> 3)) & ~bits_mask(from & 7);
	for (;;) {
		unsigned n = count(word, fast);

		if (n > k)
			return at + nth_set(word, k, fast);
		k -= n;
		at += 64;
		if (at >= row_bits)
			return row_bits;
		word = get_u64(s->high + (at >> 3));
	}
}

/* The last set bit of the row before bit @at; there is one. */
static uint64_t set_before_slow(const struct sorted *s, uint64_t at)
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

static ALWAYS_INLINE uint64_t set_before(const struct sorted *s, uint64_t at)
{
	uint64_t from = at < 56 ? 0 : (at - 56) & ~7ull;
	uint64_t word = get_u64(s->high + (from >> 3)) & bits_mask((unsigned)(at - from));

	if (unlikely(!word))
		return set_before_slow(s, at);
	return from + 63 - (unsigned)__builtin_clzll(word);
}

static ALWAYS_INLINE uint64_t low_part(const struct sorted *s, uint64_t i)
{
	return bits_get(s->low, i * s->low_bits, s->low_bits);
}

/* How many of the entries from @i on, whose bits stand in the row from @bit on without a gap, have
 * a low part up to @low.  Usually there are few. */
static ALWAYS_INLINE uint32_t count_low(const struct sorted *s, uint64_t bit, uint32_t i,
					uint64_t low)
{
	uint64_t row = get_u64(s->high + (bit >> 3)) >> (bit & 7);
	uint64_t first = row & (i < s->nr);
	uint64_t second = first & row >> 1 & (i + 1 < s->nr);
	uint32_t n = (uint32_t)(first & (low_part(s, first ? i : 0) <= low));

	n += (uint32_t)(second & (low_part(s, second ? i + 1 : 0) <= low));
	if (n < 2)
		return n;
	while (i + n < s->nr && (s->high[(bit + n) >> 3] >> ((bit + n) & 7) & 1) &&
	       low_part(s, i + n) <= low)
		n++;
	return n;
}

static ALWAYS_INLINE uint32_t search_upto(const struct sorted *s, uint64_t x, uint64_t *last,
					  uint64_t from, uint32_t before, bool fast)
{
	uint64_t hi = x >> s->low_bits;
	uint64_t zeros = from - before; /* that stand before @from */
	uint64_t bit = s->nr + s->high_max + 1;
	uint32_t i = s->nr;

	if (hi <= s->high_max) {
		uint32_t n;

		bit = hi > zeros ? search_zero(s, hi - zeros, from, fast) : from;
		if (bit < hi || bit - hi > s->nr)
			return 0;
		i = (uint32_t)(bit - hi);
		n = count_low(s, bit, i, x & bits_mask(s->low_bits));
		i += n;
		bit += n;
	}
	if (i && last)
		*last = sorted_join(s, i - 1, set_before(s, bit));
	return i;
}

FAST static uint32_t fast_upto(const struct sorted *s, uint64_t x, uint64_t *last, uint64_t from,
			       uint32_t before)
{
	return search_upto(s, x, last, from, before, true);
}

FAST static uint64_t fast_select(const struct sorted *s, uint32_t i, uint64_t from, uint32_t before)
{
	return search_entry(s, i, from, before, true);
}

static __attribute__((noinline)) uint32_t slow_upto(const struct sorted *s, uint64_t x,
						    uint64_t *last, uint64_t from, uint32_t before)
{
	return search_upto(s, x, last, from, before, false);
}

static __attribute__((noinline)) uint64_t slow_select(const struct sorted *s, uint32_t i,
						      uint64_t from, uint32_t before)
{
	return search_entry(s, i, from, before, false);
}

uint32_t sorted_upto(const struct sorted *s, uint64_t x, uint64_t *last)
{
	return is_fast() ? fast_upto(s, x, last, 0, 0) : slow_upto(s, x, last, 0, 0);
}

uint32_t sorted_upto_from(const struct sorted *s, uint64_t x, uint64_t from, uint32_t before)
{
	return is_fast() ? fast_upto(s, x, NULL, from, before)
			 : slow_upto(s, x, NULL, from, before);
}

uint64_t sorted_select(const struct sorted *s, uint32_t i, uint64_t from, uint32_t before)
{
	return is_fast() ? fast_select(s, i, from, before) : slow_select(s, i, from, before);
}

/* Entries being decoded one after the other. */
struct decoding {
	const uint8_t *high;
	uint64_t row_bits;
	uint64_t at, word; /* what is left of the 64 bits of the row from @at on */
	uint64_t rest; /* (.at less the number of the entry before) << low_bits, and what is added
			  to all */
	uint64_t add;
	uint64_t mask; /* of low parts */
	unsigned low_bits;
};

/* The next entry, whose low part stands at the begin of @lows.  A damaged row has too few: then it
 * is as if it were 0, which is less than the one before. */
static ALWAYS_INLINE uint64_t next_entry(struct decoding *d, uint64_t lows)
{
	uint64_t high;

	while (unlikely(!d->word)) {
		if (d->at + 64 >= d->row_bits)
			return d->add;
		d->at += 64;
		d->rest += 64ull << d->low_bits;
		d->word = get_u64(d->high + (d->at >> 3));
	}
	d->rest -= 1ull << d->low_bits;
	high = d->rest + ((uint64_t)__builtin_ctzll(d->word) << d->low_bits);
	d->word &= d->word - 1;
	return high + (lows & d->mask);
}

/* What becomes of entries. */
struct decoded {
	uint64_t *out;
	uint64_t add;	       /* to all, when there is no table */
	const uint64_t *table; /* NULL: none */
	int64_t last;	       /* of what came out of the table */
	bool rises;
};

static ALWAYS_INLINE void put_entry(struct decoded *to, uint64_t x, bool has_table)
{
	if (has_table) {
		int64_t t = (int64_t)to->table[x];

		to->rises &= t > to->last;
		to->last = t;
		x = (uint64_t)t;
	}
	*to->out++ = x;
}

/* Two entries, whose low parts stand in @lows; returns what is behind these. */
static ALWAYS_INLINE uint64_t put_two(struct decoding *d, struct decoded *to, uint64_t lows,
				      bool has_table)
{
	put_entry(to, next_entry(d, lows), has_table);
	lows >>= d->low_bits;
	put_entry(to, next_entry(d, lows), has_table);
	return lows >> d->low_bits;
}

/* So many low parts come from one load when they are not wider than that. */
#define FOUR_BITS_MAX (BITS_GET_MAX / 4)
#define TWO_BITS_MAX (BITS_GET_MAX / 2)

/* Entries [first, first + nr), at least one, the first of which has bit @bit; returns a bit behind
 * the last one's, no later than that of the entry after it.  @has_low and @has_table are constants:
 * numbers that lie close together have no low parts. */
static ALWAYS_INLINE uint64_t decode_by(const struct sorted *s, uint32_t first, uint32_t nr,
					uint64_t bit, struct decoded *out, bool has_low,
					bool has_table)
{
	const unsigned low_bits = has_low ? s->low_bits : 0;
	const uint8_t *low = s->low;
	uint64_t low_at = (uint64_t)first * low_bits;
	const uint64_t add = has_table ? 0 : out->add;
	struct decoding d = {.high = s->high,
			     .row_bits = s->nr + s->high_max + 1,
			     .at = bit & ~7ull,
			     .rest = (((bit & ~7ull) - first + 1) << low_bits) + add,
			     .add = add,
			     .mask = bits_mask(low_bits),
			     .low_bits = low_bits};
	struct decoded to = *out;
	uint64_t *const end = to.out + nr;

	if (d.at < d.row_bits)
		d.word = get_u64(d.high + (d.at >> 3)) & ~bits_mask(bit & 7);
	for (; low_bits <= FOUR_BITS_MAX && end - to.out >= 4; low_at += 4 * low_bits) {
		uint64_t lows = get_u64(low + (low_at >> 3)) >> (low_at & 7);

		put_two(&d, &to, put_two(&d, &to, lows, has_table), has_table);
	}
	for (; low_bits <= TWO_BITS_MAX && end - to.out >= 2; low_at += 2 * low_bits)
		put_two(&d, &to, get_u64(low + (low_at >> 3)) >> (low_at & 7), has_table);
	for (; to.out < end; low_at += low_bits)
		put_entry(&to, next_entry(&d, get_u64(low + (low_at >> 3)) >> (low_at & 7)),
			  has_table);
	*out = to;
	return d.word ? d.at + (unsigned)__builtin_ctzll(d.word) : d.at + 64;
}

static ALWAYS_INLINE uint64_t decode(const struct sorted *s, uint32_t first, uint32_t nr,
				     uint64_t bit, struct decoded *out)
{
	if (out->table)
		return s->low_bits ? decode_by(s, first, nr, bit, out, true, true)
				   : decode_by(s, first, nr, bit, out, false, true);
	return s->low_bits ? decode_by(s, first, nr, bit, out, true, false)
			   : decode_by(s, first, nr, bit, out, false, false);
}

FAST static uint64_t fast_decode(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t bit,
				 struct decoded *out)
{
	return decode(s, first, nr, bit, out);
}

static __attribute__((noinline)) uint64_t
slow_decode(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t bit, struct decoded *out)
{
	return decode(s, first, nr, bit, out);
}

static uint64_t first_bit(const struct sorted *s, uint32_t first, uint64_t hint)
{
	return hint ? sorted_select(s, first, hint, first) : sorted_select(s, first, 0, 0);
}

static void decode_to(const struct sorted *s, uint32_t first, uint32_t nr, struct decoded *out,
		      uint64_t *hint)
{
	uint64_t bit = first_bit(s, first, *hint);

	if (nr)
		*hint = is_fast() ? fast_decode(s, first, nr, bit, out)
				  : slow_decode(s, first, nr, bit, out);
}

void sorted_decode_from(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t add,
			uint64_t *out, uint64_t *hint)
{
	decode_to(s, first, nr, &(struct decoded){.out = out, .add = add}, hint);
}

bool sorted_below(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t limit,
		  uint64_t hint)
{
	uint64_t bit = first_bit(s, first, hint);
	uint64_t last = nr ? sorted_select(s, first + nr - 1, bit, first) : bit;
	uint64_t high = last - (first + nr - 1);

	/* Of entries that have the same upper part, a damaged file may have the greatest anywhere.
	 */
	return nr && last < s->nr + s->high_max + 1 && high <= limit >> s->low_bits &&
	       (high << s->low_bits | bits_mask(s->low_bits)) < limit;
}

bool sorted_look_up(const struct sorted *s, uint32_t first, uint32_t nr, const int64_t *table,
		    int64_t *last, int64_t *out, uint64_t *hint)
{
	struct decoded to = {.out = (uint64_t *)out,
			     .table = (const uint64_t *)table,
			     .last = *last,
			     .rises = true};

	decode_to(s, first, nr, &to, hint);
	*last = to.last;
	return to.rises;
}
