/* SPDX-License-Identifier: Apache-2.0 */
#include "history/painter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/find.h"
#include "history/segment.h"

static bool item_room(struct painter *p, unsigned room)
{
	uint32_t *values = realloc(p->item_values, (room + FIND_PAD) * sizeof(*values));
	uint64_t *weights = realloc(p->weights, room * sizeof(*weights));
	uint64_t *sure = realloc(p->sure, room * sizeof(*sure));

	p->item_values = values ? values : p->item_values;
	p->weights = weights ? weights : p->weights;
	p->sure = sure ? sure : p->sure;
	if (!values || !weights || !sure)
		return false;
	memset(values + p->item_room, 0, (room + FIND_PAD - p->item_room) * sizeof(*values));
	p->item_room = room;
	return true;
}

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	memset(p, 0, sizeof(*p));
	p->begin = begin;
	p->end = end;
	p->pixels = pixels;
	p->per_ns = (double)pixels / (double)span;
	p->edges = malloc((pixels + 1ull) * sizeof(*p->edges));
	p->runs = malloc((size_t)pixels * sizeof(*p->runs));
	if (!p->edges || !p->runs || !item_room(p, 64)) {
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
	free(p->item_values);
	free(p->weights);
	free(p->sure);
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
	unsigned best = 0;
	uint64_t sure;
	double share;

	for (unsigned i = 1; i < p->nr_items; i++)
		best = p->weights[i] > p->weights[best] ? i : best;
	sure = p->exact ? p->weights[best] / (SHARE_ALL + 1) : p->sure[best];
	share = width ? (double)sure * 255 / (double)width : 255;
	if (sure < width && share > 254)
		share = 254;
	put_run(p, 1, p->item_values[best], (uint8_t)share, p->exact);
	p->nr_items = 0;
	p->exact = true;
}

static unsigned find_item(struct painter *p, uint32_t value)
{
	unsigned i = find_u32(p->item_values, p->nr_items, value);

	if (i < p->nr_items)
		return i;
	if (i == p->item_room && !item_room(p, p->item_room * 2)) {
		p->failed = true;
		return 0;
	}
	p->item_values[i] = value;
	p->weights[i] = 0;
	p->sure[i] = 0;
	p->nr_items++;
	return i;
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
		unsigned item;

		if (!p->nr_items && at == p->edges[p->pixel] && edge <= end &&
		    piece->share == SHARE_ALL) {
			unsigned upto = whole_pixels_upto(p, end);

			put_run(p, upto - p->pixel, piece->value, 255, piece->exact);
			at = p->edges[upto];
			continue;
		}
		item = find_item(p, piece->value);
		p->weights[item] += ((uint64_t)stop - (uint64_t)at) * (piece->share + 1);
		p->sure[item] += sure_time((uint64_t)stop - (uint64_t)at, whole, piece->share);
		p->exact &= piece->exact;
		at = stop;
		if (at == edge)
			end_pixel(p);
	}
}

void painter_changes(struct painter *p, struct piece *piece, const uint64_t *times,
		     const uint32_t *values, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		ns_t at = piece->begin, end = (ns_t)times[i];

		if (p->nr_items && end < p->edges[p->pixel + 1] && at >= p->begin) {
			/* All inside the pixel that is being filled: the usual case, made short. */
			unsigned item = find_item(p, piece->value);

			p->weights[item] += (uint64_t)(end - at) * (SHARE_ALL + 1);
			p->sure[item] += (uint64_t)(end - at);
		} else {
			piece->end = end;
			painter_add(p, piece);
		}
		piece->begin = end;
		piece->value = values[i];
	}
}
