/* SPDX-License-Identifier: Apache-2.0 */
#include "history/painter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/segment.h"

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	memset(p, 0, sizeof(*p));
	p->begin = begin;
	p->end = end;
	p->pixels = pixels;
	p->per_ns = (double)pixels / (double)span;
	p->item_room = 64;
	p->edges = malloc((pixels + 1ull) * sizeof(*p->edges));
	p->runs = malloc((size_t)pixels * sizeof(*p->runs));
	p->items = malloc(p->item_room * sizeof(*p->items));
	if (!p->edges || !p->runs || !p->items) {
		painter_release(p);
		return -ENOMEM;
	}
	for (unsigned i = 0; i <= pixels; i++) {
		uint64_t at = (uint64_t)((unsigned __int128)span * i / pixels);

		p->edges[i] = (ns_t)((uint64_t)begin + at);
	}
	return 0;
}

void painter_release(struct painter *p)
{
	free(p->edges);
	free(p->runs);
	free(p->items);
	memset(p, 0, sizeof(*p));
}

void painter_row(struct painter *p)
{
	p->pixel = 0;
	p->nr_items = 0;
	p->nr_runs = 0;
	p->exact = true;
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
	const struct painter_item *best = &p->items[0];

	double share;

	for (unsigned i = 1; i < p->nr_items; i++) {
		if (p->items[i].weight > best->weight)
			best = &p->items[i];
	}
	share = width ? (double)best->sure * 255 / (double)width : 255;
	if (best->sure < width && share > 254)
		share = 254;
	put_run(p, 1, best->value, (uint8_t)share, p->exact);
	p->nr_items = 0;
	p->exact = true;
}

static struct painter_item *find_item(struct painter *p, uint32_t value)
{
	uint16_t *hint = &p->hints[value * 0x9e3779b1u >> 24];

	if (*hint < p->nr_items && p->items[*hint].value == value)
		return &p->items[*hint];
	for (unsigned i = 0; i < p->nr_items; i++) {
		if (p->items[i].value == value) {
			*hint = (uint16_t)i;
			return &p->items[i];
		}
	}
	if (p->nr_items == p->item_room) {
		void *items = realloc(p->items, p->item_room * 2 * sizeof(*p->items));

		if (!items) {
			p->failed = true;
			return &p->items[0];
		}
		p->items = items;
		p->item_room *= 2;
	}
	*hint = (uint16_t)p->nr_items;
	p->items[p->nr_items] = (struct painter_item){.value = value};
	return &p->items[p->nr_items++];
}

/* Time the value surely had in @inside ns of a piece of @whole ns. */
static uint64_t sure_time(uint64_t inside, uint64_t whole, unsigned share)
{
	uint64_t missing;

	if (share == SHARE_ALL)
		return inside;
	missing = whole - whole / SHARE_ALL * share;
	return inside > missing ? inside - missing : 0;
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

void painter_add(struct painter *p, const struct piece *piece)
{
	uint64_t whole = (uint64_t)piece->end - (uint64_t)piece->begin;
	ns_t at = piece->begin > p->begin ? piece->begin : p->begin;
	ns_t end = piece->end < p->end ? piece->end : p->end;

	while (at < end && p->pixel < p->pixels) {
		ns_t edge = p->edges[p->pixel + 1];
		ns_t stop = edge < end ? edge : end;
		struct painter_item *item;

		if (!p->nr_items && at == p->edges[p->pixel] && edge <= end &&
		    piece->share == SHARE_ALL) {
			unsigned upto = whole_pixels_upto(p, end);

			put_run(p, upto - p->pixel, piece->value, 255, piece->exact);
			at = p->edges[upto];
			continue;
		}
		item = find_item(p, piece->value);
		item->weight += ((uint64_t)stop - (uint64_t)at) * (piece->share + 1);
		item->sure += sure_time((uint64_t)stop - (uint64_t)at, whole, piece->share);
		p->exact &= piece->exact;
		at = stop;
		if (at == edge)
			end_pixel(p);
	}
}
