/* SPDX-License-Identifier: Apache-2.0 */
#include "history/painter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/segment.h"

/* edges[i] = begin + floor(i * span / pixels), without a division each. */
static void make_edges(struct painter *p, uint64_t span)
{
	uint64_t step = span / p->pixels, rest = span % p->pixels;
	uint64_t at = (uint64_t)p->begin, sum = 0;

	for (unsigned i = 0; i <= p->pixels; i++) {
		p->edges[i] = (ns_t)at;
		at += step;
		sum += rest;
		if (sum >= p->pixels) {
			sum -= p->pixels;
			at++;
		}
	}
}

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	p->begin = begin;
	p->end = end;
	p->pixels = pixels;
	p->per_ns = (double)pixels / (double)span;
	p->share_per_ns = 255 / ((double)(span / pixels) + 1);
	p->stamp = 0;
	memset(p->slots, 0, sizeof(p->slots));
	p->edges = malloc((pixels + 2ull) * sizeof(*p->edges));
	p->runs = malloc((size_t)pixels * sizeof(*p->runs));
	if (!p->edges || !p->runs) {
		painter_release(p);
		return -ENOMEM;
	}
	make_edges(p, span);
	p->edges[pixels + 1] = NS_MIN; /* nothing is inside the pixel behind the last */
	return 0;
}

void painter_release(struct painter *p)
{
	free(p->edges);
	free(p->runs);
	p->edges = NULL;
	p->runs = NULL;
}

static void next_stamp(struct painter *p)
{
	p->nr_items = 0;
	p->exact = true;
	if (!++p->stamp) {
		memset(p->slots, 0, sizeof(p->slots));
		p->stamp = 1;
	}
}

void painter_row(struct painter *p)
{
	p->pixel = 0;
	p->nr_runs = 0;
	next_stamp(p);
}

static void put_run(struct painter *p, unsigned nr, uint32_t value, uint8_t share, bool exact)
{
	struct pixel_run *last = p->nr_runs ? &p->runs[p->nr_runs - 1] : NULL;

	if (last && value == last->value && last->first + last->nr == p->pixel) {
		last->nr += nr;
		last->share = share < last->share ? share : last->share;
		last->exact &= exact;
	} else if (value) {
		p->runs[p->nr_runs++] = (struct pixel_run){.first = p->pixel,
							   .nr = nr,
							   .value = value,
							   .share = share,
							   .exact = exact};
	}
	p->pixel += nr;
}

static void end_pixel(struct painter *p)
{
	uint64_t width = (uint64_t)p->edges[p->pixel + 1] - (uint64_t)p->edges[p->pixel];
	const struct painter_item *best;
	uint64_t most = 0;
	unsigned longest = 0;
	double share;

	for (unsigned i = 0; i < p->nr_items; i++) {
		uint64_t weight = p->items[i].weight;

		longest = weight > most ? i : longest;
		most = weight > most ? weight : most;
	}
	best = &p->items[longest];
	share = (double)best->sure * p->share_per_ns;
	put_run(p, 1, best->value,
		best->sure >= width ? 255
		: share > 254	    ? 254
				    : (uint8_t)share,
		p->exact);
	next_stamp(p);
}

/* Another value has the slot: the next one.  When there is no room for more values the last one
 * takes their place, and the pixel no longer counts as exact. */
static void add_item_slow(struct painter *p, uint32_t at, uint32_t value, uint64_t weight,
			  uint64_t sure)
{
	struct painter_slot *slot = &p->slots[at];
	struct painter_item *item = &p->items[PAINTER_ITEMS_MAX - 1];

	while (slot->stamp == p->stamp && slot->value != value) {
		at = (at + 1) & (PAINTER_SLOTS - 1);
		slot = &p->slots[at];
	}
	if (slot->stamp == p->stamp) {
		item = &p->items[slot->item];
	} else if (p->nr_items < PAINTER_ITEMS_MAX) {
		item = &p->items[p->nr_items];
		*slot = (struct painter_slot){
			.value = value, .stamp = p->stamp, .item = p->nr_items++};
		*item = (struct painter_item){.value = value};
	} else {
		*item = (struct painter_item){.value = value};
		p->exact = false;
	}
	item->weight += weight;
	item->sure += sure;
}

/* Whether a value is new to the pixel cannot be foreseen, so there is no branch on it. */
static inline void add_item(struct painter *p, uint32_t value, uint64_t weight, uint64_t sure)
{
	uint32_t at = value * 0x9e3779b1u >> 22;
	struct painter_slot *slot = &p->slots[at];
	uint64_t old = -(uint64_t)(slot->stamp == p->stamp);
	uint32_t i = (slot->item & (uint32_t)old) | (p->nr_items & ~(uint32_t)old);
	struct painter_item *item = &p->items[i];

	if (unlikely((slot->value ^ value) & (uint32_t)old) || unlikely(i == PAINTER_ITEMS_MAX)) {
		add_item_slow(p, at, value, weight, sure);
		return;
	}
	*slot = (struct painter_slot){.value = value, .stamp = p->stamp, .item = i};
	item->value = value;
	item->weight = (item->weight & old) + weight;
	item->sure = (item->sure & old) + sure;
	p->nr_items += 1 + (uint32_t)old;
}

/* The pixel behind the last one that begins before @t and ends at or before it.  (Where a pixel is
 * narrower than 1 ns, one that begins at @t also ends there, but is not before @t.) */
static unsigned whole_pixels_upto(const struct painter *p, ns_t t)
{
	double guess = (double)((uint64_t)t - (uint64_t)p->begin) * p->per_ns;
	unsigned i = guess < p->pixels ? (unsigned)guess : p->pixels;

	while (i < p->pixels && p->edges[i + 1] <= t && p->edges[i] < t)
		i++;
	while (i > p->pixel && (p->edges[i] > t || p->edges[i - 1] >= t))
		i--;
	return i;
}

/* The value had all of [begin, end). */
static void add_pure(struct painter *p, ns_t begin, ns_t end, uint32_t value, bool exact)
{
	ns_t at = begin > p->begin ? begin : p->begin;

	end = end < p->end ? end : p->end;
	while (at < end && p->pixel < p->pixels) {
		ns_t edge = p->edges[p->pixel + 1];
		ns_t stop = edge < end ? edge : end;

		if (!p->nr_items && at == p->edges[p->pixel] && edge <= end) {
			unsigned upto = whole_pixels_upto(p, end);

			put_run(p, upto - p->pixel, value, 255, exact);
			at = p->edges[upto];
			continue;
		}
		p->exact &= exact;
		add_item(p, value, (uint64_t)(stop - at) * (SHARE_ALL + 1), (uint64_t)(stop - at));
		at = stop;
		if (at == edge)
			end_pixel(p);
	}
}

void painter_value(struct painter *p, ns_t begin, ns_t end, uint32_t value)
{
	add_pure(p, begin, end, value, true);
}

static void add_shared(struct painter *p, ns_t begin, ns_t end, uint32_t value, unsigned share)
{
	uint64_t whole = (uint64_t)end - (uint64_t)begin;
	uint64_t missing = whole - whole / SHARE_ALL * share;
	ns_t at = begin > p->begin ? begin : p->begin;

	end = end < p->end ? end : p->end;
	while (at < end && p->pixel < p->pixels) {
		ns_t edge = p->edges[p->pixel + 1];
		ns_t stop = edge < end ? edge : end;
		uint64_t inside = (uint64_t)(stop - at);

		p->exact = false;
		add_item(p, value, inside * (share + 1), inside > missing ? inside - missing : 0);
		at = stop;
		if (at == edge)
			end_pixel(p);
	}
}

/* The usual case, which the functions below make short. */
static inline bool inside_pixel(const struct painter *p, ns_t begin, ns_t end)
{
	return begin >= p->edges[p->pixel] && end < p->edges[p->pixel + 1];
}

void painter_share(struct painter *p, ns_t begin, ns_t end, uint32_t value, unsigned share)
{
	if (share < SHARE_ALL && inside_pixel(p, begin, end)) {
		uint64_t part = (uint64_t)(end - begin) / SHARE_ALL;

		p->exact = false;
		add_item(p, value, (uint64_t)(end - begin) * (share + 1), part * share);
	} else if (share < SHARE_ALL) {
		add_shared(p, begin, end, value, share);
	} else {
		add_pure(p, begin, end, value, false);
	}
}

void painter_changes(struct painter *p, ns_t *at, uint32_t *value, const uint64_t *times,
		     const uint32_t *values, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		ns_t end = (ns_t)times[i];

		if (inside_pixel(p, *at, end) && end > *at) {
			uint64_t inside = (uint64_t)(end - *at);

			add_item(p, *value, inside * (SHARE_ALL + 1), inside);
		} else {
			add_pure(p, *at, end, *value, true);
		}
		*at = end;
		*value = values[i];
	}
}
