/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include "base/types.h"

/*
 * How long things took: count, sum, extremes, and how many there were of which length, in memory
 * that does not depend on how many there are.  Each doubling of the length is divided into
 * HISTOGRAM_STEPS buckets, so that a quantile is at most 1/HISTOGRAM_STEPS of it too large or too
 * small; count, sum, least and greatest are exact.  There is memory for doublings in which there
 * are lengths, mostly some of all.
 *
 * Zero-initialise, histogram_release() at the end.
 */
#define HISTOGRAM_BITS 7u
#define HISTOGRAM_STEPS (1u << HISTOGRAM_BITS)
#define HISTOGRAM_ROWS (64u - HISTOGRAM_BITS)
#define HISTOGRAM_BUCKETS (HISTOGRAM_ROWS * HISTOGRAM_STEPS)

struct histogram {
	uint64_t count;
	ns_t total_ns, least_ns, greatest_ns;
	/* Owned: HISTOGRAM_STEPS buckets each, which stop counting at UINT32_MAX; NULL: all are 0.
	 */
	uint32_t *rows[HISTOGRAM_ROWS];
};

/* Number of the bucket a length falls into, and the least length in a bucket.  Lengths below
 * 2 * HISTOGRAM_STEPS have a bucket each; from there on the buckets of a doubling are told by the
 * bits behind the highest one. */
static inline unsigned histogram_bucket(ns_t length_ns)
{
	uint64_t v = length_ns > 0 ? (uint64_t)length_ns : 0;
	unsigned octave = 63u - (unsigned)__builtin_clzll(v | HISTOGRAM_STEPS) - HISTOGRAM_BITS;

	return octave * HISTOGRAM_STEPS + (unsigned)(v >> octave);
}
ns_t histogram_bucket_begin(unsigned bucket);

/* How many lengths are in a bucket. */
static inline uint32_t histogram_at(const struct histogram *h, unsigned bucket)
{
	const uint32_t *row = h->rows[bucket / HISTOGRAM_STEPS];

	return row ? row[bucket % HISTOGRAM_STEPS] : 0;
}

/* A negative length counts as 0.  False: no memory. */
bool histogram_add(struct histogram *h, ns_t length_ns);

/* The same in two steps, for who adds very many: histogram_count() for each length, and
 * histogram_add_sums() with what they add up to, before anything is asked. */
uint32_t *histogram_row(struct histogram *h,
			unsigned row); /* made when it is new; NULL: no memory */
static inline bool histogram_count(struct histogram *h, ns_t length_ns)
{
	unsigned bucket = histogram_bucket(length_ns);
	uint32_t *row = h->rows[bucket / HISTOGRAM_STEPS];

	if (!row && !(row = histogram_row(h, bucket / HISTOGRAM_STEPS)))
		return false;
	row[bucket % HISTOGRAM_STEPS] += row[bucket % HISTOGRAM_STEPS] < UINT32_MAX;
	return true;
}
void histogram_add_sums(struct histogram *h, uint64_t count, ns_t total_ns, ns_t least_ns,
			ns_t greatest_ns);

/* The length that @ppm parts of a million are not longer than; -1 when there are none. */
ns_t histogram_quantile(const struct histogram *h, unsigned ppm);

/* How many lengths lie in [2^n, 2^(n+1)), for each n; those of 0 are with n = 0. */
#define HISTOGRAM_POWERS 63
void histogram_powers(const struct histogram *h, uint64_t counts[HISTOGRAM_POWERS]);

void histogram_release(struct histogram *h);
/* The same for one that was allocated, and NULL. */
void histogram_free(struct histogram *h);

#endif
