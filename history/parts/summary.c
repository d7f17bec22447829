/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/summary.h"

#include <stdlib.h>

#include "base/grow.h"
#include "history/parts/find.h"

/* An attribute's finest level has buckets at least this many times as long as its intervals. */
#define PACE 3
#define CHUNK_RUNS 32768
#define LAST_CHILD ((1ull << SUMMARY_STEP) - 1) /* number of a parent's last child */
#define NO_LEVEL UINT8_MAX

/* A row is covered once it has changed this often.  Most attributes of a run are threads that live
 * shortly: reading their few changes is cheaper than keeping a bucket open on every level. */
#define COVERED_CHANGES_MIN 256

/* Time of each value in one bucket. */
struct tally {
	uint64_t *times_ns; /* owned; the values stand behind the times */
	uint8_t nr, room;
};

static uint32_t *tally_values(const struct tally *t)
{
	return (uint32_t *)(t->times_ns + t->room);
}

/* One attribute on one level: the bucket being filled. */
struct open {
	int64_t bucket;
	struct tally tally;
	uint32_t run_value; /* of the last run that was put, if started */
	uint8_t run_share;
	bool started;
	bool partial; /* the bucket's beginning is not in the tally */
};

struct row {
	ns_t at; /* time is accounted for up to here */
	ns_t paced_at;
	uint64_t interval_ns; /* typical */
	struct open *open;    /* owned: levels base .. base + nr - 1 */
	uint32_t value;
	uint32_t changes; /* before it was covered */
	uint8_t base, nr;
};

/* A run in the buffer; the share stands in the lowest bits of place. */
struct run {
	uint64_t place; /* bucket, counted from the chunk's first, << SHARE_BITS | share */
	uint32_t attr, value;
};

struct level {
	struct run *runs; /* owned */
	uint32_t nr, room;
	uint32_t nr_rows; /* attributes on it */
	int64_t first;	  /* bucket */
	bool any;
};

struct summary {
	struct row *rows; /* owned, by attribute */
	uint32_t nr_rows;
	struct level levels[SUMMARY_LEVELS];
	struct node_writer node;
	struct bytes payload;
	/* For sorting a chunk. */
	uint32_t *start, start_room;
	uint32_t *order, order_room;
	uint64_t *places;
	uint32_t *values;
	uint8_t *shares;
	bool failed;
};

struct summary *summary_new(void)
{
	struct summary *s = calloc(1, sizeof(*s));

	if (s && node_writer_init(&s->node)) {
		free(s);
		return NULL;
	}
	return s;
}

static void close_opens(struct row *r)
{
	for (unsigned i = 0; i < r->nr; i++)
		free(r->open[i].tally.times_ns);
	free(r->open);
	r->open = NULL;
	r->nr = 0;
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr_rows; i++)
		close_opens(&s->rows[i]);
	for (unsigned i = 0; i < SUMMARY_LEVELS; i++)
		free(s->levels[i].runs);
	node_writer_release(&s->node);
	bytes_release(&s->payload);
	free(s->rows);
	free(s->start);
	free(s->order);
	free(s->places);
	free(s->values);
	free(s->shares);
	free(s);
}

/* ---- tallies -------------------------------------------------------------------------------- */

static bool tally_grow(struct summary *s, struct tally *t)
{
	uint8_t room = t->room ? t->room * 2 : 4;
	size_t pad = FIND_PAD * sizeof(uint32_t);
	uint64_t *times = malloc(room * (sizeof(uint64_t) + sizeof(uint32_t)) + pad);

	if (!times) {
		s->failed = true;
		return false;
	}
	memset(times + room, 0, room * sizeof(uint32_t) + pad);
	if (t->room) {
		memcpy(times, t->times_ns, t->nr * sizeof(*times));
		memcpy(times + room, tally_values(t), t->nr * sizeof(uint32_t));
	}
	free(t->times_ns);
	t->times_ns = times;
	t->room = room;
	return true;
}

static unsigned least_of(const struct tally *t)
{
	unsigned least = 0;

	for (unsigned i = 1; i < t->nr; i++)
		least = t->times_ns[i] < t->times_ns[least] ? i : least;
	return least;
}

static unsigned longest_of(const struct tally *t)
{
	unsigned longest = 0;

	for (unsigned i = 1; i < t->nr; i++)
		longest = t->times_ns[i] > t->times_ns[longest] ? i : longest;
	return longest;
}

/* A value that is new to the bucket goes behind the others or, where there is no room, in place of
 * the least one. */
static void tally_new(struct summary *s, struct tally *t, uint32_t value, uint64_t time_ns)
{
	unsigned i = t->nr;

	if (t->nr == SUMMARY_VALUES_MAX)
		i = least_of(t);
	else if (t->nr == t->room && !tally_grow(s, t))
		return;
	else
		t->nr++;
	tally_values(t)[i] = value;
	t->times_ns[i] = time_ns;
}

static inline void tally_add(struct summary *s, struct tally *t, uint32_t value, uint64_t time_ns)
{
	unsigned i = find_u32(tally_values(t), t->nr, value);

	if (i < t->nr)
		t->times_ns[i] += time_ns;
	else
		tally_new(s, t, value, time_ns);
}

/* Adds what counts of a bucket @width_ns wide, in which entry @longest is the longest, to its
 * parent's. */
static void tally_raise(struct summary *s, const struct tally *from, unsigned longest,
			uint64_t width_ns, struct tally *to)
{
	uint64_t limit = width_ns / SUMMARY_RAISE_PART;

	for (unsigned i = 0; i < from->nr; i++) {
		if (from->times_ns[i] >= limit || i == longest)
			tally_add(s, to, tally_values(from)[i], from->times_ns[i]);
	}
}

/* ---- buckets -------------------------------------------------------------------------------- */

static void put_run(struct summary *s, struct row *r, unsigned level, int64_t bucket,
		    uint32_t value, unsigned share)
{
	struct open *o = &r->open[level - r->base];
	struct level *l = &s->levels[level];

	if (o->started && o->run_value == value && o->run_share == share)
		return;
	if (!room_for_one(&l->runs, l->nr, &l->room)) {
		s->failed = true;
		return;
	}
	o->started = true;
	o->run_value = value;
	o->run_share = (uint8_t)share;
	l->runs[l->nr++] =
		(struct run){.place = (uint64_t)(bucket - l->first) << SHARE_BITS | share,
			     .attr = (uint32_t)(r - s->rows),
			     .value = value};
}

/* The level above @level, made if new; NULL above the highest. */
static struct open *parent_of(struct summary *s, struct row *r, unsigned level, int64_t bucket)
{
	unsigned i = level + 1 - r->base;
	struct open *open;

	if (i < r->nr)
		return &r->open[i];
	if (level + 1 == SUMMARY_LEVELS)
		return NULL;
	open = realloc(r->open, (r->nr + 1u) * sizeof(*open));
	if (!open) {
		s->failed = true;
		return NULL;
	}
	r->open = open;
	r->nr++;
	open[i] = (struct open){.bucket = bucket >> SUMMARY_STEP,
				.partial = (bucket & LAST_CHILD) || open[i - 1].partial};
	s->levels[level + 1].nr_rows++;
	return &open[i];
}

static unsigned share_of(uint64_t time_ns, uint64_t width_ns)
{
	unsigned share;

	if (time_ns >= width_ns)
		return SHARE_ALL;
	share = (unsigned)((double)time_ns * SHARE_ALL / (double)width_ns);
	return share < SHARE_ALL ? share : SHARE_ALL - 1;
}

/* Puts the run of the open bucket, of which @width_ns have gone by, and raises its values. */
static void end_tally(struct summary *s, struct row *r, unsigned level, uint64_t width_ns,
		      struct open *up)
{
	struct open *o = &r->open[level - r->base];
	unsigned longest = longest_of(&o->tally);

	if (!o->tally.nr)
		return;
	if (!o->partial)
		put_run(s, r, level, o->bucket, tally_values(&o->tally)[longest],
			share_of(o->tally.times_ns[longest], width_ns));
	if (up)
		tally_raise(s, &o->tally, longest, width_ns, &up->tally);
}

/* The open bucket is full: puts its run, and adds it to the level above. */
static void close_bucket(struct summary *s, struct row *r, unsigned level)
{
	for (;; level++) {
		struct open *o = &r->open[level - r->base];
		struct open *up = parent_of(s, r, level, o->bucket);

		o = &r->open[level - r->base];
		end_tally(s, r, level, 1ull << summary_shift(level), up);
		o->tally.nr = 0;
		o->partial = false;
		o->bucket++;
		if (!up || o->bucket & LAST_CHILD)
			return;
	}
}

/* The attribute has @value all through @nr buckets, of which the first is the open one, still
 * empty.  Levels above get as many whole buckets as there are. */
static void pass_buckets(struct summary *s, struct row *r, unsigned level, uint64_t nr,
			 uint32_t value)
{
	struct open *o = &r->open[level - r->base];
	struct open *up = parent_of(s, r, level, o->bucket);
	uint64_t width = 1ull << summary_shift(level);
	uint64_t some;

	o = &r->open[level - r->base];
	put_run(s, r, level, o->bucket, value, SHARE_ALL);
	if (!up) {
		o->bucket += (int64_t)nr;
		return;
	}
	if (o->bucket & LAST_CHILD || up->partial || up->tally.nr) {
		some = LAST_CHILD + 1 - (uint64_t)(o->bucket & LAST_CHILD);
		some = some < nr ? some : nr;
		tally_add(s, &up->tally, value, some * width);
		o->bucket += (int64_t)some;
		nr -= some;
		if (!(o->bucket & LAST_CHILD))
			close_bucket(s, r, level + 1);
	}
	if (nr > LAST_CHILD) {
		pass_buckets(s, r, level + 1, nr >> SUMMARY_STEP, value);
		o = &r->open[level - r->base];
		o->bucket += (int64_t)(nr & ~LAST_CHILD);
		nr &= LAST_CHILD;
	}
	if (nr) {
		o = &r->open[level - r->base];
		o->bucket += (int64_t)nr;
		tally_add(s, &r->open[level + 1 - r->base].tally, value, nr * width);
	}
}

/* The row keeps its value up to @t. */
static void advance(struct summary *s, struct row *r, ns_t t)
{
	unsigned shift = summary_shift(r->base);
	int64_t bucket = t >> shift;
	struct open *o = r->open;

	if (o->bucket < bucket && (o->partial || o->tally.nr)) {
		ns_t edge = summary_time(o->bucket + 1, r->base);

		tally_add(s, &o->tally, r->value, (uint64_t)(edge - r->at));
		close_bucket(s, r, r->base);
		r->at = edge;
		o = r->open;
	}
	if (o->bucket < bucket) {
		pass_buckets(s, r, r->base, (uint64_t)(bucket - o->bucket), r->value);
		r->at = summary_time(bucket, r->base);
		o = r->open;
	}
	if (t > r->at)
		tally_add(s, &o->tally, r->value, (uint64_t)(t - r->at));
	r->at = t;
}

/* ---- the finest level of a row -------------------------------------------------------------- */

static unsigned level_for(uint64_t interval_ns)
{
	unsigned level = 0;

	while (level + 1 < SUMMARY_LEVELS && 1ull << summary_shift(level) < PACE * interval_ns)
		level++;
	return level;
}

/* From its open bucket on the finest level no longer covers the row. */
static void drop_level(struct summary *s, struct row *r)
{
	struct open *o = &r->open[0];
	struct open *up = parent_of(s, r, r->base, o->bucket);

	o = &r->open[0];
	if (!up)
		return;
	if (o->started)
		put_run(s, r, r->base, o->bucket, 0, SHARE_NONE);
	tally_raise(s, &o->tally, longest_of(&o->tally), 0, &up->tally);
	free(o->tally.times_ns);
	memmove(r->open, r->open + 1, --r->nr * sizeof(*r->open));
	s->levels[r->base].nr_rows--;
	r->base++;
}

/* A finer level begins to cover the row. */
static void add_level(struct summary *s, struct row *r)
{
	struct open *open = realloc(r->open, (r->nr + 1u) * sizeof(*open));
	unsigned shift;

	if (!open) {
		s->failed = true;
		return;
	}
	memmove(open + 1, open, r->nr++ * sizeof(*open));
	r->open = open;
	r->base--;
	shift = summary_shift(r->base);
	open[0] =
		(struct open){.bucket = r->at >> shift, .partial = r->at & (ns_t)bits_mask(shift)};
	s->levels[r->base].nr_rows++;
}

static void begin_row(struct summary *s, struct row *r, ns_t at, unsigned level)
{
	r->at = at;
	r->base = (uint8_t)(level + 1);
	r->nr = 0;
	add_level(s, r);
}

/* Follows the row's pace; a level is changed only when it is clearly wrong. */
static void set_pace(struct summary *s, struct row *r, ns_t begin, ns_t end, uint32_t nr)
{
	uint64_t interval = ((uint64_t)end - (uint64_t)r->paced_at) / nr;
	unsigned wanted;

	r->paced_at = end;
	if (r->base == NO_LEVEL) {
		r->interval_ns = (uint64_t)(end - begin) / nr;
		begin_row(s, r, begin, level_for(r->interval_ns));
		return;
	}
	r->interval_ns = r->interval_ns - r->interval_ns / 4 + interval / 4;
	wanted = level_for(r->interval_ns - r->interval_ns / 3);
	while (r->base < wanted && r->base + 1 < SUMMARY_LEVELS && !s->failed)
		drop_level(s, r);
	wanted = level_for(r->interval_ns + r->interval_ns / 3);
	while (r->base > wanted && !s->failed)
		add_level(s, r);
}

static bool room_for_row(struct summary *s, uint32_t attr)
{
	uint32_t nr = s->nr_rows ? s->nr_rows : 256;
	void *rows;

	if (attr < s->nr_rows)
		return true;
	while (nr <= attr)
		nr *= 2;
	rows = realloc(s->rows, nr * sizeof(*s->rows));
	if (!rows) {
		s->failed = true;
		return false;
	}
	s->rows = rows;
	for (; s->nr_rows < nr; s->nr_rows++)
		s->rows[s->nr_rows] = (struct row){.base = NO_LEVEL};
	return true;
}

void summary_row(struct summary *s, uint32_t attr, ns_t begin, ns_t end, const uint64_t *times,
		 const uint32_t *values, uint32_t nr)
{
	struct row *r;

	if (s->failed || !room_for_row(s, attr))
		return;
	r = &s->rows[attr];
	for (unsigned i = 0; !s->levels[0].any && i < SUMMARY_LEVELS; i++)
		s->levels[i].first = begin >> summary_shift(i);
	s->levels[0].any = true;
	if (r->base == NO_LEVEL && r->changes + nr < COVERED_CHANGES_MIN) {
		r->changes += nr;
		r->value = values[nr - 1];
		return;
	}
	set_pace(s, r, begin, end, nr);
	for (uint32_t i = 0; i < nr && !s->failed; i++) {
		ns_t t = begin + (ns_t)times[i];

		if (t > r->at)
			advance(s, r, t);
		r->value = values[i];
	}
}

/* ---- chunks --------------------------------------------------------------------------------- */

static bool grow(void *array, uint32_t nr, size_t item_bytes)
{
	void **a = array;
	void *p = realloc(*a, nr * item_bytes);

	if (p)
		*a = p;
	return p;
}

static bool room_to_sort(struct summary *s, uint32_t nr)
{
	if (s->start_room < s->nr_rows + 1) {
		if (!grow(&s->start, s->nr_rows + 1, sizeof(*s->start)))
			return false;
		s->start_room = s->nr_rows + 1;
	}
	if (s->order_room < nr) {
		if (!grow(&s->order, nr, sizeof(*s->order)) ||
		    !grow(&s->places, nr, sizeof(*s->places)) ||
		    !grow(&s->values, nr, sizeof(*s->values)) ||
		    !grow(&s->shares, nr, sizeof(*s->shares)))
			return false;
		s->order_room = nr;
	}
	return true;
}

/* start[a] .. start[a + 1] of s->order are the runs of attribute a, in order of time. */
static void sort_runs(struct summary *s, const struct level *l)
{
	uint32_t sum = 0;

	memset(s->start, 0, (s->nr_rows + 1) * sizeof(*s->start));
	for (uint32_t i = 0; i < l->nr; i++)
		s->start[l->runs[i].attr]++;
	for (uint32_t a = 0; a <= s->nr_rows; a++) {
		uint32_t nr = s->start[a];

		s->start[a] = sum;
		sum += nr;
	}
	for (uint32_t i = 0; i < l->nr; i++)
		s->order[s->start[l->runs[i].attr]++] = i;
}

/* Writes runs before bucket @end as a chunk; the next one begins there. */
static void flush_level(struct summary *s, unsigned level, int64_t end, ns_t end_ns,
			struct outfile *file)
{
	struct level *l = &s->levels[level];
	ns_t begin_ns = summary_time(l->first, level);
	uint32_t at = 0;

	s->failed |= !room_to_sort(s, l->nr);
	if (s->failed)
		return;
	sort_runs(s, l);
	node_start(&s->node, true);
	for (uint32_t a = 0; a < s->nr_rows; a++) {
		struct segment_entries e = {
			.places = s->places, .values = s->values, .shares = s->shares};

		for (; at < s->start[a]; at++) {
			const struct run *r = &l->runs[s->order[at]];

			if ((int64_t)(r->place >> SHARE_BITS) >= end - l->first)
				continue;
			s->places[e.nr] = r->place >> SHARE_BITS;
			s->shares[e.nr] = r->place & SHARE_ALL;
			s->values[e.nr++] = r->value;
		}
		if (e.nr)
			node_add(&s->node, a, 0, &e);
	}
	bytes_clear(&s->payload);
	node_finish(&s->node, begin_ns, NULL, 0, NULL, &s->payload);
	outfile_part(file, PART_SUMMARY, level, begin_ns, end_ns, &s->payload);
	l->first = end;
	l->nr = 0;
}

static bool is_full(const struct level *l)
{
	return l->nr >= CHUNK_RUNS && l->nr / 4 >= l->nr_rows;
}

static void report(struct summary *s, struct outfile *file)
{
	const struct bytes none = {.failed = true};

	if (s->failed)
		outfile_part(file, PART_SUMMARY, 0, 0, 0, &none);
}

/* Brings all rows up to @end, so that what is put from now on lies in later buckets. */
static void advance_all(struct summary *s, ns_t end)
{
	for (uint32_t i = 0; i < s->nr_rows && !s->failed; i++) {
		struct row *r = &s->rows[i];

		if (r->base != NO_LEVEL && r->at < end)
			advance(s, r, end);
	}
}

/* Runs do not reach over the begin of a chunk. */
static void restart_runs(struct summary *s, unsigned level)
{
	for (uint32_t i = 0; i < s->nr_rows; i++) {
		struct row *r = &s->rows[i];

		if (r->base <= level && level < r->base + r->nr)
			r->open[level - r->base].started = false;
	}
}

void summary_slice(struct summary *s, ns_t end, struct outfile *file)
{
	bool full = false;

	for (unsigned i = 0; i < SUMMARY_LEVELS; i++)
		full |= is_full(&s->levels[i]);
	if (full && !s->failed) {
		advance_all(s, end);
		for (unsigned i = 0; i < SUMMARY_LEVELS && !s->failed; i++) {
			int64_t bucket = end >> summary_shift(i);

			if (!is_full(&s->levels[i]) || bucket == s->levels[i].first)
				continue;
			flush_level(s, i, bucket, summary_time(bucket, i), file);
			restart_runs(s, i);
		}
	}
	report(s, file);
}

/* The last bucket of each level ends with the history. */
static void finish_row(struct summary *s, struct row *r, ns_t end)
{
	for (unsigned i = 0; i < r->nr && !s->failed; i++) {
		struct open *o = &r->open[i];
		struct open *up = i + 1u < r->nr ? &r->open[i + 1] : NULL;
		uint64_t width = (uint64_t)(end - summary_time(o->bucket, r->base + i));

		end_tally(s, r, r->base + i, width, up);
	}
}

void summary_finish(struct summary *s, ns_t end, struct outfile *file)
{
	advance_all(s, end);
	for (uint32_t i = 0; i < s->nr_rows && !s->failed; i++) {
		if (s->rows[i].base != NO_LEVEL)
			finish_row(s, &s->rows[i], end);
	}
	for (unsigned i = 0; i < SUMMARY_LEVELS && !s->failed; i++) {
		if (s->levels[i].nr)
			flush_level(s, i, (end >> summary_shift(i)) + 1, end, file);
	}
	report(s, file);
}
