/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all records: which CPU's are where, and what is missing. */
#include "source/perf/reader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define BLOCK_BYTES (64u << 10)
#define FORGET_BYTES (16u << 20)
#define STEP_BYTES 8	 /* records begin at such places */
#define CHAIN 4		 /* records in a row that are no accident */
#define FAR_TIMES 10	 /* a time is none that is so many times as long as all else took */
#define TIDS_MORE 8	 /* samples whose threads agree, more than others, are no accident */
#define COPIES_SOUGHT 64 /* places where records may begin to be there twice, of a CPU */

struct walk {
	struct perf *p;
	struct perf_index *x;
	uint64_t begin, end;		  /* of this file's records */
	uint32_t part;			  /* ... in the directory: 0 is its "data", 1 is "data.0" */
	struct perf_cpu *last;		  /* whose record the last one was */
	uint64_t last_next;		  /* where that ends */
	uint64_t lost, lost_samples;	  /* as two kinds of records have it: of the same events */
	uint64_t forgotten;		  /* up to there */
	uint64_t tids_agree, tids_differ; /* samples */
	uint64_t unplaced, damaged;	  /* samples that cannot be used */
	uint64_t astray;		  /* records, likewise */
};

/* The first record of a CPU is far from the second: judge_begins() may leave it out. */
static bool is_far_first(const struct perf_cpu *c, uint64_t time)
{
	return c->nr == 1 && c->blocks[0].nr == 1 && time > c->time + PERF_FAR_NS;
}

/*
 * True when the CPU's last block may go on to @next.  Other CPUs' records between are no harm: who
 * decodes the block skips them.  But they cost time, so there have to be about as many of its own
 * as of each other CPU.
 */
static bool goes_on(const struct walk *w, const struct perf_cpu *c, uint64_t next)
{
	const struct perf_block *b = c->nr ? &c->blocks[c->nr - 1] : NULL;
	uint64_t span = b ? next - b->offset_bytes : 0;

	if (!b || c->holes != w->x->holes || span > BLOCK_BYTES)
		return false;
	return w->last == c ||
	       (c != &w->x->tasks && span <= (uint64_t)b->own_bytes * 2 * w->x->nr_cpus);
}

static struct perf_cpu *cpu_of(struct walk *w, uint32_t cpu)
{
	if (!w->x->cpus[cpu])
		w->x->cpus[cpu] = calloc(1, sizeof(**w->x->cpus));
	return w->x->cpus[cpu];
}

static int take(struct walk *w, struct perf_cpu *c, uint64_t at, uint64_t next, uint64_t time)
{
	struct perf_block *b;
	bool far;

	if (!c)
		return -ENOMEM;
	far = is_far_first(c, time);

	c->before = (struct perf_before){.nr = c->nr, .max = c->max, .order = c->order};
	if (c->nr)
		c->before.block = c->blocks[c->nr - 1];
	c->time = time;
	if (far || !goes_on(w, c, next)) {
		if (!room_for_one(&c->blocks, c->nr, &c->room))
			return -ENOMEM;
		c->blocks[c->nr] = (struct perf_block){
			.offset_bytes = at,
			.min = UINT64_MAX,
			.before = c->max,
			.gap = c->holes != w->x->holes,
		};
		w->x->nr_cpus += !c->nr;
		c->nr++;
		c->holes = w->x->holes;
	}
	w->last = c;
	w->last_next = next;
	b = &c->blocks[c->nr - 1];
	b->len_bytes = (uint32_t)(next - b->offset_bytes);
	b->own_bytes += (uint32_t)(next - at);
	b->nr++;
	b->min = time < b->min ? time : b->min;
	b->max = time > b->max ? time : b->max;
	c->max = time > c->max ? time : c->max;
	return 0;
}

/* Takes back the CPU's last record.  The caller says that there is a hole. */
static void untake(struct walk *w, struct perf_cpu *c)
{
	c->nr = c->before.nr;
	c->max = c->before.max;
	c->time = c->max;
	c->order = c->before.order;
	if (c->nr)
		c->blocks[c->nr - 1] = c->before.block;
	else
		w->x->nr_cpus--;
	if (w->last == c)
		w->last = NULL;
}

/* Records are missing here, and nothing says of which CPU. */
static void hole(struct walk *w)
{
	w->x->holes++;
}

/*
 * A tracepoint's record says once more which thread it is of: false when that is another, which
 * damage made.  Within a container, perf numbers threads as the container does, unlike the events'
 * own fields: there most differ.
 */
static bool tids_agree(struct walk *w, const struct perf_record *r)
{
	const struct perf_attr *a = perf_sample_attr(&w->p->attrs, r);
	const struct dat_record_form *form = &w->p->events.form;
	const uint8_t *raw;
	uint32_t len;
	int32_t tid, common;

	if (a->type != PERF_TYPE_TRACEPOINT || a->tid == PERF_NOWHERE ||
	    !perf_sample_raw(a, r, &raw, &len) || len < form->common_len)
		return true;
	tid = (int32_t)load_u32(r->data + a->tid + 4);
	common = (int32_t)load_u32(raw + form->tid_offset);
	if (tid <= 0 || common <= 0)
		return true;
	if (tid == common)
		w->tids_agree++;
	else
		w->tids_differ++;
	return tid == common || w->tids_agree < w->tids_differ + TIDS_MORE;
}

/*
 * Damage leaves times that are none.  A record that is far from the one before it and the one
 * behind it, when these are near each other, is not believed.
 */
static void judge_last(struct walk *w, struct perf_cpu *c, uint64_t time)
{
	uint64_t before = c->before.max;
	bool ahead = c->time > before + PERF_FAR_NS && time < before + (c->time - before) / 2;
	bool behind = c->time + PERF_FAR_NS < before && time + PERF_FAR_NS / 2 > before;

	/* Of the first one, nothing is before; but the next is never so much older. */
	if (!c->before.nr)
		ahead = c->nr && c->time > time + PERF_FAR_NS;
	if (!ahead && (!c->before.nr || !behind))
		return;
	untake(w, c);
	w->astray++;
	hole(w);
}

/* Behind a hole, what is older than what was before it does not belong there. */
static bool is_misplaced(const struct walk *w, const struct perf_cpu *c, uint64_t time)
{
	return c->nr && c->holes != w->x->holes && time < c->max;
}

static bool find_level(const struct walk *w, const struct perf_record *r, enum perf_level *level)
{
	return perf_level_find(&w->p->attrs, &w->p->events.form, r, level);
}

/* perf may copy a part of a buffer twice: the record is there already, behind the one that the last
 * copy was of, or in the CPU's last block. */
static bool is_copy(const struct walk *w, struct perf_cpu *c, const struct perf_record *r,
		    uint64_t at)
{
	const uint8_t *file = w->p->map.data;
	uint32_t len = RECORD_HEAD_BYTES + r->len_bytes;
	struct perf_record other;
	uint64_t pos, end;

	if (!c->copied && (!c->nr || c->copies_sought++ >= COPIES_SOUGHT))
		return false;
	pos = c->copied ? c->copied : c->blocks[c->nr - 1].offset_bytes;
	end = at - pos > BLOCK_BYTES ? pos + BLOCK_BYTES : at;
	for (; pos < end && perf_record_read(file, pos, at, &other); pos = other.next) {
		if (other.len_bytes == r->len_bytes && !memcmp(file + pos, file + at, len)) {
			c->copied = other.next;
			return true;
		}
	}
	c->copied = 0;
	return false;
}

/*
 * The CPU's times went back, to @time, and nobody knows since when they are wrong: no block that
 * has later ones is believed.
 */
static void drop_later(struct walk *w, struct perf_cpu *c, uint64_t time)
{
	const struct perf_block *last = c->nr ? &c->blocks[c->nr - 1] : NULL;

	perf_order_restart(&c->order, time);
	while (c->nr && (last->max > time || last->before > time)) {
		w->astray += last->nr;
		last--;
		w->x->nr_cpus -= !--c->nr;
	}
	c->max = !c->nr ? 0 : last->max > last->before ? last->max : last->before;
	c->time = c->max;
	c->before = (struct perf_before){.nr = c->nr, .max = c->max, .order = c->order};
	if (c->nr)
		c->before.block = *last;
	if (w->last == c)
		w->last = NULL;
}

/* Nobody knows which is wrong: the time of a record behind a hole, or those in front of it. */
static void judge_misplaced(struct walk *w, struct perf_cpu *c, const struct perf_record *r,
			    uint64_t at, uint64_t time)
{
	bool far = time + PERF_FAR_NS < c->max;
	bool chained = far && time >= c->far_time && time < c->far_time + PERF_FAR_NS;
	enum perf_level level;

	w->astray++;
	hole(w);
	c->far_behind = chained ? c->far_behind + 1 : far;
	c->far_time = time;
	if (far) { /* the record; but so many of them, in order, are right */
		if (c->far_behind == CHAIN)
			drop_later(w, c, time);
	} else if (find_level(w, r, &level) && perf_order_breaks(&c->order, level, time) &&
		   !is_copy(w, c, r, at)) {
		drop_later(w, c, time);
	}
}

static int take_in_order(struct walk *w, struct perf_cpu *c, const struct perf_record *r,
			 uint64_t at, uint64_t time)
{
	enum perf_level level;
	bool known = find_level(w, r, &level), breaks;
	int ret;

	breaks = known && perf_order_breaks(&c->order, level, time);
	if (breaks && !is_copy(w, c, r, at)) {
		if (time + PERF_FAR_NS >
		    c->max) /* else it is the one that is wrong, or more follow */
			drop_later(w, c, time);
		w->astray++;
		hole(w);
		return 0;
	}
	ret = take(w, c, at, r->next, time);
	if (known && !breaks) {
		perf_order_take(&c->order, level, time);
		c->copied = 0;
	}
	return ret;
}

static int take_sample(struct walk *w, const struct perf_record *r, uint64_t at)
{
	struct perf_place place;
	struct perf_cpu *c;
	enum perf_sample_state state = perf_sample_place(&w->p->attrs, r, &place);

	if (state == PERF_SAMPLE_UNPLACED) {
		w->unplaced++;
		return 0;
	}
	if (state == PERF_SAMPLE_DAMAGED || place.cpu >= TRACE_CPUS_MAX || !tids_agree(w, r)) {
		w->damaged++;
		hole(w);
		return 0;
	}
	c = cpu_of(w, place.cpu);
	if (!c)
		return -ENOMEM;
	judge_last(w, c, place.time);
	if (is_misplaced(w, c, place.time)) {
		judge_misplaced(w, c, r, at, place.time);
		return 0;
	}
	c->far_behind = 0;
	return take_in_order(w, c, r, at, place.time);
}

/* Events were lost since the last one of its CPU; how its own time compares with the next event's
 * is open. */
static int take_lost(struct walk *w, const struct perf_record *r, uint64_t at)
{
	struct perf_place place;
	struct perf_cpu *c;
	uint32_t trailer;

	if (r->len_bytes < 16)
		return 0;
	w->lost += load_u64(r->data + 8);
	if (!perf_record_place(&w->p->attrs, r, &place, &trailer) || place.cpu >= TRACE_CPUS_MAX) {
		hole(w);
		return 0;
	}
	c = w->x->cpus[place.cpu];
	/* A hole says so already, until a sample ends it. */
	if (!c || !c->nr || c->holes != w->x->holes)
		return 0;
	return take(w, c, at, r->next, c->max);
}

/* What perf itself wrote has no time; and when tracing begins with samples, it has not begun. */
static int take_comm(struct walk *w, const struct perf_record *r, uint64_t at)
{
	struct perf_place place;
	struct perf_cpu *c;
	uint32_t trailer;

	if (!perf_record_place(&w->p->attrs, r, &place, &trailer) || !place.time)
		return take(w, &w->x->tasks, at, r->next, 0);
	if (place.cpu >= TRACE_CPUS_MAX)
		return 0;
	c = w->x->cpus[place.cpu];
	if (!c || !c->nr)
		return take(w, &w->x->tasks, at, r->next, 0);
	return is_misplaced(w, c, place.time) ? 0 : take(w, c, at, r->next, place.time);
}

static int look(struct walk *w, const struct perf_record *r, uint64_t at)
{
	switch (r->type) {
	case RECORD_SAMPLE:
		return take_sample(w, r, at);
	case RECORD_LOST:
		return take_lost(w, r, at);
	case RECORD_COMM:
		return take_comm(w, r, at);
	case RECORD_LOST_SAMPLES:
		if (r->len_bytes >= 8 && !(r->misc & RECORD_MISC_BPF))
			w->lost_samples += load_u64(r->data);
		return 0;
	default:
		return 0;
	}
}

/* Of a sample whose type is damaged nothing is used, neither how much may stand behind it. */
static bool skip_former_sample(struct walk *w, const struct perf_record *r, uint64_t *at)
{
	if (!perf_record_was_sample(&w->p->attrs, r))
		return false;
	w->damaged++;
	hole(w);
	*at += RECORD_HEAD_BYTES + r->len_bytes;
	return true;
}

/* So many records in a row, the samples among them of known events. */
static bool is_chain(const struct walk *w, uint64_t at)
{
	const struct perf *p = w->p;
	struct perf_record r;

	for (unsigned i = 0; i < CHAIN && at < w->end; i++) {
		if (!perf_record_read(p->map.data, at, w->end, &r))
			return false;
		if (r.type == RECORD_SAMPLE && !perf_sample_attr(&p->attrs, &r))
			return false;
		at = r.next;
	}
	return true;
}

/*
 * What stands behind two kinds of records is as long as they say.  A damaged length leads over
 * records, and when it leads to another one, nothing shows it but they.  No record is longer than a
 * block: if there are any, a sample begins in the last two.
 */
static bool leads_over_samples(const struct walk *w, uint64_t at, const struct perf_record *r)
{
	uint64_t pos = at + RECORD_HEAD_BYTES + r->len_bytes;
	struct perf_record inner;
	struct perf_place place;

	if (r->next - pos > 2 * BLOCK_BYTES)
		pos += (r->next - pos - 2 * BLOCK_BYTES) / STEP_BYTES * STEP_BYTES;
	for (; pos < r->next; pos += STEP_BYTES) {
		if (perf_record_read(w->p->map.data, pos, r->next, &inner) &&
		    inner.type == RECORD_SAMPLE &&
		    perf_sample_place(&w->p->attrs, &inner, &place) == PERF_SAMPLE_SOUND &&
		    place.cpu < TRACE_CPUS_MAX && is_chain(w, pos))
			return true;
	}
	return false;
}

/* A record begins at @at, and the file ends within it. */
static bool is_cut_off(const struct walk *w, uint64_t at)
{
	const uint8_t *data = w->p->map.data + at;

	return w->end - at < RECORD_HEAD_BYTES ||
	       (load_u32(data) && load_u16(data + 6) > w->end - at);
}

/* The damage may have begun within the record before it: what that says is not to be trusted, not
 * even its time. */
static void drop_last(struct walk *w, uint64_t at)
{
	struct perf_cpu *c = w->last;

	if (!c || w->last_next != at || is_cut_off(w, at))
		return;
	untake(w, c);
}

/* What the user has is the file that the records came from. */
static void tell_skipped(const struct walk *w, uint64_t at, uint64_t len)
{
	const struct perf *p = w->p;
	const char *slash = strrchr(p->trace->path, '/');
	int dir_len = w->part && slash ? (int)(slash + 1 - p->trace->path) : 0;
	uint64_t offset = at - w->begin + (p->compressed ? 0 : p->parts[w->part].at);
	char name[32] = "";

	if (w->part)
		snprintf(name, sizeof(name), "data.%u", w->part - 1);
	trace_problem(p->trace,
		      "%.*s%s, offset %llu%s: %llu bytes are no records; they are skipped",
		      w->part ? dir_len : (int)strlen(p->trace->path), p->trace->path, name,
		      (unsigned long long)offset, p->compressed ? " when decompressed" : "",
		      (unsigned long long)len);
}

/* Where records go on behind damaged bytes; the end when they do not. */
static uint64_t resume(struct walk *w, uint64_t at)
{
	struct perf *p = w->p;
	uint64_t next = at + STEP_BYTES - (at - w->begin) % STEP_BYTES;

	drop_last(w, at);
	while (next < w->end && !is_chain(w, next))
		next += STEP_BYTES;
	next = next < w->end ? next : w->end;
	tell_skipped(w, at, next - at);
	p->trace->loss.bytes_skipped += next - at;
	p->trace->loss.unknown++;
	hole(w);
	return next;
}

static void forget(struct walk *w, uint64_t at)
{
	if (at - w->forgotten < FORGET_BYTES)
		return;
	mapfile_forget(&w->p->map, w->forgotten, at - w->forgotten);
	w->forgotten = at;
}

/* {u64 entries, then of each u64 number, index, CPU, thread}: the thread is -1 where an event was
 * recorded of all.  Else switches and wake-ups of all others are missing, and no gap tells of it.
 */
static bool is_of_threads(const struct perf_record *r)
{
	uint64_t nr = r->len_bytes >= 8 ? load_u64(r->data) : 0;

	if (r->type != RECORD_ID_INDEX || !nr || nr > (r->len_bytes - 8) / 32)
		return false;
	for (uint64_t i = 0; i < nr; i++) {
		if ((int64_t)load_u64(r->data + 8 + i * 32 + 24) < 0)
			return false;
	}
	return true;
}

static int walk_part(struct walk *w, struct error *err)
{
	struct perf *p = w->p;
	uint64_t at = w->begin;
	struct perf_record r;

	while (at < w->end) {
		if (!perf_record_read(p->map.data, at, w->end, &r) ||
		    leads_over_samples(w, at, &r)) {
			at = resume(w, at);
			continue;
		}
		if (skip_former_sample(w, &r, &at))
			continue;
		if (r.type == RECORD_COMPRESSED || r.type == RECORD_COMPRESSED2)
			return fail(
				err, -ENOTSUP,
				"%s has compressed records, and its header does not say that they "
				"are zstd's; perf data convert -i %s --to-ctf DIRECTORY makes a "
				"trace of it that Sonde reads",
				p->trace->path, p->trace->path);
		if (is_of_threads(&r))
			return fail(err, -ENOTSUP,
				    "%s was recorded of some threads only: what CPUs did needs the "
				    "whole machine (perf record -a)",
				    p->trace->path);
		if (look(w, &r, at))
			return fail(err, -ENOMEM, "out of memory opening %s", p->trace->path);
		at = r.next;
		forget(w, at);
	}
	return 0;
}

static int walk(struct walk *w, struct error *err)
{
	struct perf *p = w->p;
	int ret = 0;

	w->end = p->begin;
	for (uint32_t i = 0; i < p->nr_parts && !ret; i++) {
		w->part = i;
		w->begin = w->end;
		w->end = p->parts[i].end;
		ret = walk_part(w, err);
		if (p->parts[i].cut)
			hole(w);
	}
	p->other_namespace = w->tids_differ > w->tids_agree;
	return ret;
}

/* The latest time of all CPUs but one. */
static uint64_t last_but(const struct perf_index *x, const struct perf_cpu *but)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		const struct perf_cpu *c = x->cpus[i];

		if (c && c != but && c->nr && c->max > last)
			last = c->max;
	}
	return last;
}

static uint64_t first_of_all(const struct perf_index *x)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		const struct perf_cpu *c = x->cpus[i];

		if (c && c->nr && c->blocks[0].min < first)
			first = c->blocks[0].min;
	}
	return first;
}

/* The latest time of all records but the CPU's last one. */
static uint64_t last_of_rest(const struct perf_index *x, const struct perf_cpu *c)
{
	uint64_t others = last_but(x, c);

	return c->before.nr && c->before.max > others ? c->before.max : others;
}

/* A CPU's last record has none behind it: all the others tell how long it took. */
static void judge_ends(struct walk *w)
{
	uint64_t first = first_of_all(w->x);

	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		struct perf_cpu *c = w->x->cpus[i];
		uint64_t rest = c && c->nr ? last_of_rest(w->x, c) : 0;

		if (rest <= first || c->time <= rest + PERF_FAR_NS ||
		    (c->time - rest) / FAR_TIMES <= rest - first)
			continue;
		untake(w, c);
		w->astray++;
		hole(w);
	}
	w->x->last = last_but(w->x, NULL);
}

/* Nor has its first record one in front. */
static void judge_begins(struct walk *w)
{
	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		struct perf_cpu *c = w->x->cpus[i];
		struct perf_block one;
		uint64_t others;

		if (!c || c->nr < 2 || c->blocks[0].nr != 1)
			continue;
		one = c->blocks[0];
		c->blocks[0].min = c->blocks[1].min;
		others = first_of_all(w->x);
		c->blocks[0].min = one.min;
		if (others <= one.min + PERF_FAR_NS || w->x->last < others ||
		    (others - one.min) / FAR_TIMES <= w->x->last - others)
			continue;
		c->nr--;
		memmove(c->blocks, c->blocks + 1, c->nr * sizeof(*c->blocks));
		c->blocks[0].before = 0;
		c->blocks[0].gap |= one.gap;
		w->astray++;
		hole(w);
	}
}

static void conclude(struct walk *w)
{
	struct perf *p = w->p;
	struct trace *t = p->trace;

	if (p->cut) {
		trace_problem(t, "%s ends within its records", t->path);
		t->loss.unknown++;
		hole(w);
	}
	t->loss.events += w->lost;
	if (w->lost_samples > w->lost) { /* no event of that CPU came after it */
		t->loss.events += w->lost_samples - w->lost;
		trace_problem(t, "%s: %llu events are lost, and no record says on which CPUs",
			      t->path, (unsigned long long)(w->lost_samples - w->lost));
		hole(w);
	}
	if (w->damaged) {
		t->loss.unknown++;
		trace_problem(t,
			      "%s: samples skipped that are damaged, or of events that it does not "
			      "describe: %llu",
			      t->path, (unsigned long long)w->damaged);
	}
	if (w->astray) {
		t->loss.unknown++;
		trace_problem(t, "%s: records skipped whose times are not where they stand: %llu",
			      t->path, (unsigned long long)w->astray);
	}
	if (w->unplaced)
		trace_problem(t, "%s: %llu samples have no time or no CPU; they are skipped",
			      t->path, (unsigned long long)w->unplaced);
}

static void drop_cpu(struct perf_index *x, unsigned cpu)
{
	if (x->cpus[cpu])
		free(x->cpus[cpu]->blocks);
	free(x->cpus[cpu]);
	x->cpus[cpu] = NULL;
}

/* Of some, only a record was there that is not to be trusted. */
static void drop_empty(struct perf_index *x)
{
	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		if (x->cpus[i] && !x->cpus[i]->nr)
			drop_cpu(x, i);
	}
}

int perf_index_make(struct perf *p, struct perf_index *out, struct error *err)
{
	struct walk w = {.p = p, .x = out, .forgotten = p->begin};
	int ret;

	out->cpus = calloc(TRACE_CPUS_MAX, sizeof(*out->cpus));
	if (!out->cpus)
		return fail(err, -ENOMEM, "out of memory opening %s", p->trace->path);
	ret = perf_columns_learn(p);
	if (ret)
		return fail(err, ret, "out of memory opening %s", p->trace->path);
	ret = walk(&w, err);
	if (ret)
		return ret;
	judge_ends(&w);
	judge_begins(&w);
	drop_empty(out);
	conclude(&w);
	return 0;
}

void perf_index_release(struct perf_index *x)
{
	for (unsigned i = 0; x->cpus && i < TRACE_CPUS_MAX; i++)
		drop_cpu(x, i);
	free(x->cpus);
	free(x->tasks.blocks);
}
