/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <string.h>

/* Lengths below HISTOGRAM_STEPS have a bucket each; from there on the buckets of a doubling are
 * told by the bits behind the highest one. */
unsigned histogram_bucket(ns_t length_ns)
{
	uint64_t v = length_ns > 0 ? (uint64_t)length_ns : 0;
	unsigned octave;

	if (v < HISTOGRAM_STEPS)
		return (unsigned)v;
	octave = 63u - (unsigned)__builtin_clzll(v) - HISTOGRAM_BITS;
	return (octave + 1) * HISTOGRAM_STEPS + (unsigned)((v >> octave) & (HISTOGRAM_STEPS - 1));
}

ns_t histogram_bucket_begin(unsigned bucket)
{
	unsigned octave = bucket / HISTOGRAM_STEPS;
	uint64_t step = bucket % HISTOGRAM_STEPS;

	return octave ? (ns_t)((HISTOGRAM_STEPS + step) << (octave - 1)) : (ns_t)step;
}

void histogram_add(struct histogram *h, ns_t length_ns)
{
	uint32_t *bucket;

	if (length_ns < 0)
		length_ns = 0;
	bucket = &h->buckets[histogram_bucket(length_ns)];
	if (!h->count || length_ns < h->least_ns)
		h->least_ns = length_ns;
	if (length_ns > h->greatest_ns)
		h->greatest_ns = length_ns;
	h->count++;
	h->total_ns += length_ns;
	h->squares += (double)length_ns * (double)length_ns;
	*bucket += *bucket < UINT32_MAX;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (!from->count)
		return;
	if (!into->count || from->least_ns < into->least_ns)
		into->least_ns = from->least_ns;
	if (from->greatest_ns > into->greatest_ns)
		into->greatest_ns = from->greatest_ns;
	into->count += from->count;
	into->total_ns += from->total_ns;
	into->squares += from->squares;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t sum = (uint64_t)into->buckets[i] + from->buckets[i];

		into->buckets[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	}
}

/* The middle of the bucket that holds it, but never beyond what there really was. */
static ns_t middle_of(const struct histogram *h, unsigned bucket)
{
	ns_t first = histogram_bucket_begin(bucket);
	ns_t next = bucket + 1 < HISTOGRAM_BUCKETS ? histogram_bucket_begin(bucket + 1) : NS_MAX;
	ns_t middle = first + (next - first) / 2;

	if (middle < h->least_ns)
		return h->least_ns;
	return middle > h->greatest_ns ? h->greatest_ns : middle;
}

ns_t histogram_quantile(const struct histogram *h, unsigned ppm)
{
	/* The rank-th shortest, counted from 1. */
	uint64_t rank = (uint64_t)(((unsigned __int128)h->count * ppm + 999999) / 1000000);
	uint64_t seen = 0;

	if (!h->count)
		return -1;
	if (rank <= 1)
		return h->least_ns;
	if (rank >= h->count)
		return h->greatest_ns;
	for (unsigned i = histogram_bucket(h->least_ns); i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			return middle_of(h, i);
	}
	return h->greatest_ns;
}

/* The power of two that the lengths in a bucket are of. */
static unsigned power_of(unsigned bucket)
{
	ns_t least = histogram_bucket_begin(bucket);

	return least ? 63u - (unsigned)__builtin_clzll((uint64_t)least) : 0;
}

void histogram_powers(const struct histogram *h, uint64_t counts[HISTOGRAM_POWERS])
{
	unsigned last = histogram_bucket(h->greatest_ns);
	unsigned i = histogram_bucket(h->least_ns);

	memset(counts, 0, HISTOGRAM_POWERS * sizeof(*counts));
	while (h->count && i <= last) {
		unsigned power = power_of(i);
		unsigned next = power + 1 < HISTOGRAM_POWERS ? histogram_bucket((ns_t)1 << (power + 1))
							     : HISTOGRAM_BUCKETS;

		for (; i < next && i <= last; i++)
			counts[power] += h->buckets[i];
	}
}
