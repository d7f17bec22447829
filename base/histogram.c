/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <stdlib.h>
#include <string.h>

ns_t histogram_bucket_begin(unsigned bucket)
{
	unsigned octave = bucket / HISTOGRAM_STEPS;
	uint64_t step = bucket % HISTOGRAM_STEPS;

	return octave ? (ns_t)((HISTOGRAM_STEPS + step) << (octave - 1)) : (ns_t)step;
}

void histogram_add_sums(struct histogram *h, uint64_t count, ns_t total_ns, ns_t least_ns,
			ns_t greatest_ns)
{
	if (!h->count || least_ns < h->least_ns)
		h->least_ns = least_ns;
	if (greatest_ns > h->greatest_ns)
		h->greatest_ns = greatest_ns;
	h->count += count;
	h->total_ns += total_ns;
}

uint32_t *histogram_row(struct histogram *h, unsigned row)
{
	if (!h->rows[row])
		h->rows[row] = calloc(HISTOGRAM_STEPS, sizeof(*h->rows[row]));
	return h->rows[row];
}

bool histogram_add(struct histogram *h, ns_t length_ns)
{
	if (length_ns < 0)
		length_ns = 0;
	if (!histogram_count(h, length_ns))
		return false;
	histogram_add_sums(h, 1, length_ns, length_ns, length_ns);
	return true;
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
	for (unsigned row = 0; row < HISTOGRAM_ROWS; row++) {
		for (unsigned i = 0; h->rows[row] && i < HISTOGRAM_STEPS; i++) {
			seen += h->rows[row][i];
			if (seen >= rank)
				return middle_of(h, row * HISTOGRAM_STEPS + i);
		}
	}
	return h->greatest_ns;
}

/* The power of two that the lengths in a bucket are of: the same for a whole row, but for the
 * first. */
static unsigned power_of(unsigned row, unsigned i)
{
	if (row)
		return row - 1 + HISTOGRAM_BITS;
	return i ? 31u - (unsigned)__builtin_clz(i) : 0;
}

void histogram_powers(const struct histogram *h, uint64_t counts[HISTOGRAM_POWERS])
{
	memset(counts, 0, HISTOGRAM_POWERS * sizeof(*counts));
	for (unsigned row = 0; row < HISTOGRAM_ROWS; row++) {
		for (unsigned i = 0; h->rows[row] && i < HISTOGRAM_STEPS; i++)
			counts[power_of(row, i)] += h->rows[row][i];
	}
}

void histogram_release(struct histogram *h)
{
	for (unsigned i = 0; i < HISTOGRAM_ROWS; i++)
		free(h->rows[i]);
	*h = (struct histogram){0};
}

void histogram_free(struct histogram *h)
{
	if (h)
		histogram_release(h);
	free(h);
}
