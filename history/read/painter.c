/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/painter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/parts/segment.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define WEIGHT_ALL (SHARE_ALL + 1u) /* of 1 ns in which the value certainly held */

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
	p->thin = span <= pixels;
	p->pixels_per_ns = p->thin ? 0 : (uint64_t)(((unsigned __int128)pixels << 64) / span);
	p->share_per_ns = (uint64_t)(((unsigned __int128)255 << 56) / (span / pixels + 1));
	p->stamp = 0;
	p->leader = p->slots;
	memset(p->slots, 0, sizeof(p->slots));
	p->edges = malloc((pixels + 2ull) * sizeof(*p->edges));
	p->runs = calloc(pixels + 1ull, sizeof(*p->runs)); /* put_run() reads them, too */
	if (!p->edges || !p->runs) {
		painter_release(p);
		return -ENOMEM;
	}
	make_edges(p, span);
	p->edges[pixels + 1] = NS_MIN; /* nothing ends inside the pixel behind the last */
	return 0;
}

void painter_release(struct painter *p)
{
	free(p->edges);
	free(p->runs);
	p->edges = NULL;
	p->runs = NULL;
}

static __attribute__((noinline)) void restart_stamps(struct painter *p)
{
	memset(p->slots, 0, sizeof(p->slots));
	p->stamp = 1;
}

static ALWAYS_INLINE void next_stamp(struct painter *p)
{
	p->most = 0;
	p->exact = true;
	p->mixed = false;
	if (unlikely(!++p->stamp))
		restart_stamps(p);
}

void painter_row(struct painter *p)
{
	p->pixel = 0;
	p->last = p->runs;
	*p->last = (struct pixel_run){.nr = 0};
	p->last_value = 0;
	p->any_none = false;
	next_stamp(p);
}

const struct pixel_run *painter_end(struct painter *p, unsigned *nr)
{
	struct pixel_run *end = p->runs + 1;

	for (struct pixel_run *r = end; p->any_none && r <= p->last; r++) {
		if (r->value)
			*end++ = *r;
	}
	*nr = (unsigned)((p->any_none ? end : p->last + 1) - (p->runs + 1));
	return p->runs + 1;
}

/* The next @nr pixels have the value: more of the last run, or a new one. */
static ALWAYS_INLINE void put_run(struct painter *p, unsigned nr, uint32_t value, unsigned share,
				  bool exact)
{
	bool other = value != p->last_value;
	struct pixel_run *r = p->last + other;
	uint32_t old = (uint32_t)other - 1; /* all ones: the run is not new */

	nr += r->nr & old;
	share = share < (r->share | (~old & 255)) ? share : r->share | (~old & 255);
	p->pixel += nr - (r->nr & old);
	r->first = p->pixel - nr;
	r->nr = nr;
	r->value = value;
	r->share = (uint8_t)share;
	r->exact = (r->exact | other) & exact;
	p->last = r;
	p->last_value = value;
	p->any_none |= !value;
}

/* Rounded down, so what is not all is less than 255. */
static ALWAYS_INLINE unsigned share_of(const struct painter *p, uint64_t sure_ns, uint64_t width_ns)
{
	unsigned share = (unsigned)((unsigned __int128)sure_ns * p->share_per_ns >> 56);

	return sure_ns >= width_ns ? 255 : share;
}

static ALWAYS_INLINE void end_pixel(struct painter *p)
{
	uint64_t width = (uint64_t)p->edges[p->pixel + 1] - (uint64_t)p->edges[p->pixel];
	uint64_t sure_ns = p->mixed ? p->sure_ns[p->leader - p->slots] : p->most;

	put_run(p, 1, (uint32_t)p->leader->key, share_of(p, sure_ns, width), p->exact);
	next_stamp(p);
}

/* Slots that are looked at for a value before it is given up. */
#define PROBES_MAX 64

/* Another value has the slot: the next one.  Where there is none, the value is not counted and the
 * pixel is not exact: NULL. */
static __attribute__((noinline)) struct painter_slot *find_slot(struct painter *p, uint64_t key,
								struct painter_slot *slot)
{
	for (unsigned i = 0; i < PROBES_MAX; i++) {
		if (slot->key == key || slot->key >> 32 != key >> 32)
			return slot;
		if (++slot == p->slots + PAINTER_SLOTS)
			slot = p->slots;
	}
	p->exact = false;
	return NULL;
}

/* The pixel being filled, as the hot loops hold it. */
struct filling {
	uint64_t key; /* stamp << 32 */
	uint64_t most;
	struct painter_slot *leader;
};

static ALWAYS_INLINE struct filling fill(const struct painter *p)
{
	return (struct filling){
		.key = (uint64_t)p->stamp << 32, .most = p->most, .leader = p->leader};
}

static ALWAYS_INLINE void filled(struct painter *p, const struct filling *f)
{
	p->most = f->most;
	p->leader = f->leader;
}

/* Adds to the pixel.  The value that leads is known at any time, since none ever loses anything.
 * @mixed is always a constant. */
static ALWAYS_INLINE void add(struct painter *p, struct filling *f, uint32_t value, uint64_t weight,
			      bool mixed, uint64_t sure_ns)
{
	struct painter_slot *slot = p->slots + (value * 0x9e3779b1u >> 22);
	uint64_t key = f->key | value;
	uint64_t other = slot->key ^ key;
	uint64_t known;

	if (unlikely(other - 1 < UINT32_MAX)) {
		slot = find_slot(p, key, slot);
		if (!slot)
			return;
		other = slot->key ^ key;
	}
	known = -(uint64_t)!other;
	weight += slot->weight & known;
	slot->key = key;
	slot->weight = weight;
	if (mixed)
		p->sure_ns[slot - p->slots] = (p->sure_ns[slot - p->slots] & known) + sure_ns;
	f->leader = weight > f->most ? slot : f->leader;
	f->most = weight > f->most ? weight : f->most;
}

/* From changes, in a pixel that is not mixed. */
static ALWAYS_INLINE void add_sure(struct painter *p, struct filling *f, uint32_t value,
				   uint64_t len_ns)
{
	add(p, f, value, len_ns, false, 0);
}

static ALWAYS_INLINE void add_one_sure(struct painter *p, uint32_t value, uint64_t len_ns)
{
	struct filling f = fill(p);

	add_sure(p, &f, value, len_ns);
	filled(p, &f);
}

/* Happens where a row changes over from changes to a summary. */
static __attribute__((noinline)) void mix_slots(struct painter *p)
{
	for (unsigned i = 0; i < PAINTER_SLOTS; i++) {
		p->sure_ns[i] = p->slots[i].weight;
		p->slots[i].weight *= WEIGHT_ALL;
	}
	p->most *= WEIGHT_ALL;
}

/* From now on something in the pixel comes from a summary. */
static ALWAYS_INLINE void mix(struct painter *p)
{
	if (!p->mixed && p->most)
		mix_slots(p);
	p->mixed = true;
	p->exact = false;
}

static ALWAYS_INLINE void add_one(struct painter *p, uint32_t value, uint64_t weight,
				  uint64_t sure_ns)
{
	struct filling f = fill(p);

	add(p, &f, value, weight, true, sure_ns);
	filled(p, &f);
}

/* From a summary: the value had at least @sure_ns. */
static ALWAYS_INLINE void add_part(struct painter *p, uint32_t value, uint64_t weight,
				   uint64_t sure_ns)
{
	mix(p);
	add_one(p, value, weight, sure_ns);
}

/* The value had all of a piece of the pixel. */
static void add_whole(struct painter *p, uint32_t value, uint64_t len_ns, bool exact)
{
	if (!exact)
		add_part(p, value, len_ns * WEIGHT_ALL, len_ns);
	else if (p->mixed)
		add_one(p, value, len_ns * WEIGHT_ALL, len_ns);
	else
		add_one_sure(p, value, len_ns);
}

/* The pixel that holds @t, which lies in the window; pixels are not thin. */
static ALWAYS_INLINE unsigned pixel_of(const struct painter *p, ns_t t)
{
	uint64_t behind = (uint64_t)t - (uint64_t)p->begin;
	unsigned i = (unsigned)((unsigned __int128)behind * p->pixels_per_ns >> 64);

	/* That was rounded down, and so are the edges. */
	i += p->edges[i + 1] <= t;
	while (unlikely(p->edges[i + 1] <= t))
		i++;
	return i;
}

/* The pixel behind the last one that begins before @t and ends at or before it.  (Where a pixel is
 * narrower than 1 ns, one that begins at @t also ends there, but is not before @t.) */
static unsigned whole_pixels_upto(const struct painter *p, ns_t t)
{
	unsigned i = p->pixel;

	if (t >= p->end)
		return p->pixels;
	if (!p->thin)
		return pixel_of(p, t);
	while (i < p->pixels && p->edges[i + 1] <= t && p->edges[i] < t)
		i++;
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

		if (at == p->edges[p->pixel] && edge <= end) {
			unsigned upto = whole_pixels_upto(p, end);

			put_run(p, upto - p->pixel, value, 255, exact);
			at = p->edges[upto];
			continue;
		}
		add_whole(p, value, (uint64_t)(stop - at), exact);
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

		add_part(p, value, inside * (share + 1), inside > missing ? inside - missing : 0);
		at = stop;
		if (at == edge)
			end_pixel(p);
	}
}

void painter_share(struct painter *p, ns_t begin, ns_t end, uint32_t value, unsigned share)
{
	if (share < SHARE_ALL)
		add_shared(p, begin, end, value, share);
	else
		add_pure(p, begin, end, value, false);
}

/* A row of buckets. */
struct buckets {
	const uint32_t *values, *end;
	const uint8_t *shares;
	uint64_t begin, width;
};

static ALWAYS_INLINE void next_bucket(struct buckets *b)
{
	b->begin += b->width;
	b->values++;
	b->shares++;
}

/* The buckets that end before the pixel does. */
static ALWAYS_INLINE void add_buckets(struct painter *p, struct buckets *b)
{
	const uint64_t edge = (uint64_t)p->edges[p->pixel + 1] - b->width;
	const uint64_t part = b->width / SHARE_ALL;
	struct filling f = fill(p);

	for (; b->values < b->end && (ns_t)b->begin < (ns_t)edge; next_bucket(b)) {
		uint64_t share = *b->shares;

		add(p, &f, *b->values, b->width * (share + 1), true, part * share);
	}
	filled(p, &f);
}

/* The bucket with which the pixel ends, and perhaps the next one begins. */
static ALWAYS_INLINE void split_bucket(struct painter *p, struct buckets *b)
{
	uint64_t share = *b->shares;
	uint64_t missing = b->width - b->width / SHARE_ALL * share;
	uint64_t inside = (uint64_t)p->edges[p->pixel + 1] - b->begin;

	add_one(p, *b->values, inside * (share + 1), inside > missing ? inside - missing : 0);
	end_pixel(p);
	inside = b->width - inside;
	if (inside)
		add_part(p, *b->values, inside * (share + 1),
			 inside > missing ? inside - missing : 0);
	next_bucket(b);
}

void painter_buckets(struct painter *p, ns_t begin, ns_t width_ns, const uint32_t *values,
		     const uint8_t *shares, uint32_t nr)
{
	struct buckets b = {.values = values,
			    .end = values + nr,
			    .shares = shares,
			    .begin = (uint64_t)begin,
			    .width = (uint64_t)width_ns};

	while (b.values < b.end) {
		mix(p);
		add_buckets(p, &b);
		if (b.values < b.end)
			split_bucket(p, &b);
	}
}

/* The pixel consists of two pieces of changes, the first of them @first_ns long. */
static ALWAYS_INLINE void put_pair(struct painter *p, uint64_t first_ns, uint32_t first,
				   uint32_t second)
{
	uint64_t width = (uint64_t)p->edges[p->pixel + 1] - (uint64_t)p->edges[p->pixel];
	uint64_t second_ns = width - first_ns;
	uint32_t swap = -(uint32_t)(second_ns > first_ns);
	uint64_t longer_ns = second_ns > first_ns ? second_ns : first_ns;

	put_run(p, 1, first ^ ((first ^ second) & swap), share_of(p, longer_ns, width), true);
}

/*
 * Changes of which each lies behind the begin of the pixel being filled, and none behind the
 * window.
 *
 * The piece with which a pixel begins is kept apart until a second change in the same pixel comes.
 * Often none does, and the pixel is a pair.
 */
struct changes {
	const uint64_t *times, *end;
	const uint32_t *values;
	uint64_t at; /* the row has @value since */
	uint32_t value;
};

/* Goes on to the pixel of the next change, past the end of this one, which is full. */
static ALWAYS_INLINE void next_pixel(struct painter *p, uint64_t t, uint32_t value)
{
	if ((ns_t)t >= p->edges[p->pixel + 1])
		put_run(p, pixel_of(p, (ns_t)t) - p->pixel, value, 255, true);
}

/* The changes inside the pixel, up to the first one behind it. */
static ALWAYS_INLINE void fill_pixel(struct painter *p, struct changes *c)
{
	const ns_t edge = p->edges[p->pixel + 1];
	struct filling f = fill(p);

	while (c->times < c->end && (ns_t)*c->times < edge) {
		add_sure(p, &f, c->value, *c->times - c->at);
		c->at = *c->times++;
		c->value = *c->values++;
	}
	filled(p, &f);
}

static void paint_changes(struct painter *p, struct changes *c)
{
	for (;;) {
		uint32_t first;
		uint64_t first_ns, edge;

		/* The pixel is not empty. */
		fill_pixel(p, c);
		if (c->times == c->end)
			return;
		edge = (uint64_t)p->edges[p->pixel + 1];
		add_one_sure(p, c->value, edge - c->at);
		end_pixel(p);
		for (;;) {
			/* The pixel is empty, and the next change lies in it or behind. */
			next_pixel(p, *c->times, c->value);
			first = c->value;
			first_ns = *c->times - (uint64_t)p->edges[p->pixel];
			c->at = *c->times++;
			c->value = *c->values++;
			if (c->times == c->end || (ns_t)*c->times < p->edges[p->pixel + 1])
				break;
			put_pair(p, first_ns, first, c->value);
		}
		add_one_sure(p, first, first_ns);
	}
}

/* Any change, anywhere. */
static void add_change(struct painter *p, struct changes *c)
{
	add_pure(p, (ns_t)c->at, (ns_t)*c->times, c->value, true);
	c->at = *c->times++;
	c->value = *c->values++;
}

void painter_changes(struct painter *p, ns_t *at, uint32_t *value, const ns_t *times,
		     const uint32_t *values, uint32_t nr)
{
	struct changes c = {.times = (const uint64_t *)times,
			    .end = (const uint64_t *)times + nr,
			    .values = values,
			    .at = (uint64_t)*at,
			    .value = *value};

	while (c.times < c.end && (p->mixed || p->thin || (ns_t)c.end[-1] >= p->end))
		add_change(p, &c);
	paint_changes(p, &c);
	*at = (ns_t)c.at;
	*value = c.value;
}
