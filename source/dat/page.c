/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dat/page.h"

#define TID_MAX (1 << 22)   /* PID_MAX_LIMIT */
#define RECORD_MIN_BYTES 8  /* where there is room for another record, a page does not end */
#define LATER_IDS_MAX 1024u /* modules' events get the next numbers */
#define PAGES_BELIEVED 10   /* ... of which so many are enough */
#define PAGES_BACK 64	    /* looked at for the time before a page */

int64_t record_mark_read(const uint8_t *pos, const uint8_t *end, struct record_head h,
			 uint64_t *time, bool swap)
{
	uint64_t word = load32(pos, swap);
	uint64_t high = *time >> TIME_STAMP_BITS << TIME_STAMP_BITS;
	uint64_t delta = h.delta;

	if (h.type_len == RECORD_PADDING) {
		if (!delta)
			return 0;
		if (word < 4 || word > (uint64_t)(end - pos))
			return -1;
		*time += delta;
		return (int64_t)word;
	}
	delta |= word << RECORD_DELTA_BITS;
	if (h.type_len == RECORD_TIME_EXTEND) {
		*time += delta;
		return 4;
	}
	delta &= (UINT64_C(1) << TIME_STAMP_BITS) - 1;
	delta |= high;
	if (high && delta < *time) /* the low bits went round since */
		delta += UINT64_C(1) << TIME_STAMP_BITS;
	*time = delta;
	return 4;
}

bool page_rest_is_padding(const uint8_t *pos, const uint8_t *end, bool swap)
{
	struct record_head h;

	if (end - pos != 4)
		return false;
	h = record_head_read(pos, swap);
	return h.type_len == RECORD_PADDING && !h.delta;
}

static bool event_can_be(const struct dat_events *events, const uint8_t *data, uint32_t len,
			 bool swap)
{
	uint32_t id = load16(data + events->form.type_offset, swap);
	uint32_t tid = load32(data + events->form.tid_offset, swap);
	const struct dat_plan *plan = &events->plans[events->plan_of_id[id]];

	return tid <= TID_MAX && len >= plan->min_len &&
	       (plan->type || (id && id <= events->last_id + LATER_IDS_MAX));
}

/* Whom a context switch gives the CPU to; -1 where the record does not say. */
static int32_t switch_to(const struct dat_plan *plan, const uint8_t *data, bool swap)
{
	for (unsigned i = 0; i < plan->nr_numbers; i++) {
		if (plan->numbers[i].slot == 1 && plan->numbers[i].shift == 32)
			return (int32_t)load32(data + plan->numbers[i].offset, swap);
	}
	return -1;
}

/* As source/seam.h has it, of the records of one page. */
static void note_thread(struct page_look *look, const struct dat_events *events,
			const uint8_t *data, bool swap)
{
	const struct dat_plan *plan =
		&events->plans[events->plan_of_id[load16(data + events->form.type_offset, swap)]];
	int32_t tid = (int32_t)load32(data + events->form.tid_offset, swap);

	if (look->first < 0)
		look->first = tid;
	look->breaks |= look->running >= 0 && tid != look->running && tid != look->leaving;
	if (plan->kind == EV_SCHED_SWITCH) {
		look->switches = true;
		look->leaving = tid;
		look->running = switch_to(plan, data, swap);
	} else if (tid != look->leaving) {
		look->leaving = -1;
		look->running = tid;
	}
}

/* What walking the records of a page meets. */
struct page_walk {
	const struct dat *d;
	struct page_look *look;
	const uint8_t *pos, *end;
	uint64_t time;
	bool swap;
};

enum step { STEP_RECORD, STEP_END, STEP_BEYOND, STEP_BAD };

/* Behind the record at w->pos.  BEYOND: it does not end where it should. */
static enum step walk_record(struct page_walk *w)
{
	const struct dat_events *events = &w->d->events;
	const uint8_t *pos = w->pos;
	uint64_t time = w->time;
	struct record_head h;
	uint32_t len;

	if (w->end - pos < 8)
		return page_rest_is_padding(pos, w->end, w->swap) ? STEP_END : STEP_BEYOND;
	h = record_head_read(pos, w->swap);
	pos += 4;
	if (h.type_len >= RECORD_PADDING) {
		int64_t skip = record_mark_read(pos, w->end, h, &w->time, w->swap);

		w->pos = pos + skip;
		if (skip <= 0)
			return skip || w->end - w->pos >= RECORD_MIN_BYTES ? STEP_BEYOND : STEP_END;
		return w->time < time ? STEP_BAD : STEP_RECORD;
	}
	len = h.type_len * 4;
	if (!h.type_len) {
		len = load32(pos, w->swap) - 4; /* its own length field counts */
		pos += 4;
	}
	if (len < events->form.common_len || len > DAT_MAX_PAGE)
		return STEP_BAD;
	if (len > w->end - pos)
		return STEP_BEYOND;
	if (!event_can_be(events, pos, len, w->swap))
		return STEP_BAD;
	note_thread(w->look, events, pos, w->swap);
	w->time = time + h.delta;
	w->pos = pos + ((len + 3) & ~3u);
	return w->time < time ? STEP_BAD : STEP_RECORD;
}

static enum step walk_records(struct page_walk *w)
{
	enum step step = STEP_RECORD;

	while (w->pos < w->end && step == STEP_RECORD)
		step = walk_record(w);
	return step;
}

bool page_take(const struct page_run *run, const uint8_t *page, struct page_look *out)
{
	uint64_t left = (uint64_t)(run->end - page), room;

	*out = (struct page_look){.begin = page + run->d->form.data_offset,
				  .first = -1,
				  .leaving = -1,
				  .running = -1};
	if (!page_head_read(run->d, page, run->page_size, left, &out->head))
		return false;
	room = (left < run->page_size ? left : run->page_size) - run->d->form.data_offset;
	out->end = out->begin + (out->head.len_bytes > room ? room : out->head.len_bytes);
	return true;
}

static enum page_state look_at(const struct page_run *run, const uint8_t *page,
			       struct page_look *out)
{
	struct page_walk w = {.d = run->d, .look = out, .swap = run->d->file.swap};
	enum step step;
	bool is_cut;

	if (run->end - page < run->d->form.data_offset)
		return PAGE_CUT;
	if (!page_take(run, page, out))
		return PAGE_BAD_HEAD;
	if (!out->head.len_bytes)
		return PAGE_HOLE;
	w.pos = out->begin;
	w.end = out->end;
	w.time = out->head.time;
	step = walk_records(&w);
	out->last = w.time;
	is_cut = out->end < out->begin + out->head.len_bytes;
	if (step == STEP_BAD || (step == STEP_BEYOND && !is_cut))
		return PAGE_BAD_RECORDS;
	return is_cut ? PAGE_CUT : PAGE_HOLDS;
}

static const struct page_seen *see(struct page_run *run, const uint8_t *page)
{
	size_t nr = (size_t)(page - run->begin) / run->page_size;
	struct page_seen *seen = &run->seen[nr % PAGES_SEEN];

	if (seen->page != page) {
		seen->page = page;
		seen->state = look_at(run, page, &seen->look);
	}
	return seen;
}

static bool is_bad(struct page_run *run, const uint8_t *page)
{
	enum page_state state = see(run, page)->state;

	return state != PAGE_HOLDS && state != PAGE_CUT;
}

enum page_state page_judge(struct page_run *run, const uint8_t *page, struct page_look *out)
{
	const struct page_seen *seen = see(run, page);
	uint32_t size = run->page_size;

	*out = seen->look;
	if (seen->state != PAGE_HOLDS)
		return seen->state;
	if ((page - run->begin >= size && is_bad(run, page - size)) ||
	    (run->end - page > size && is_bad(run, page + size)))
		return PAGE_NEXT_TO_BAD;
	return PAGE_HOLDS;
}

/* When the next page that looks like one begins, from *page on, which is then behind it. */
static bool time_after(const struct page_run *run, const uint8_t **page, uint64_t *time)
{
	while (*page < run->end) {
		uint64_t left = (uint64_t)(run->end - *page);
		struct page_head h = {0};
		bool is_page =
			page_head_read(run->d, *page, run->page_size, left, &h) && h.len_bytes;

		*page = left > run->page_size ? *page + run->page_size : run->end;
		*time = h.time;
		if (is_page)
			return true;
	}
	return false;
}

enum page_place page_place(const struct page_run *run, const uint8_t *page,
			   const struct page_look *look, uint64_t last)
{
	const uint8_t *next = run->end - page > run->page_size ? page + run->page_size : run->end;
	uint64_t time, time2;

	if (look->head.time < last || look->head.time < run->d->earliest ||
	    look->head.time > run->d->latest)
		return PAGE_ASTRAY;
	if (!time_after(run, &next, &time) || time >= look->last || time < last)
		return PAGE_IN_PLACE;
	return !time_after(run, &next, &time2) || time2 < look->last ? PAGE_ASTRAY : PAGE_IN_DOUBT;
}

static bool is_led_to(const struct page_look *before, int32_t tid)
{
	return tid == before->running || tid == before->leaving;
}

bool page_is_foreign(struct page_run *run, const uint8_t *page)
{
	const struct page_look *before, *here, *behind;

	if (page == run->begin || run->end - page <= run->page_size)
		return false;
	before = &see(run, page - run->page_size)->look;
	here = &see(run, page)->look;
	behind = &see(run, page + run->page_size)->look;
	return (before->switches || here->switches || behind->switches) && before->running >= 0 &&
	       here->running >= 0 && behind->first >= 0 && !here->head.lost && !behind->head.lost &&
	       !before->breaks && !here->breaks && !behind->breaks &&
	       !is_led_to(before, here->first) && !is_led_to(here, behind->first);
}

/* Pages of an earlier time may stand there, several in a row: the latest counts of those that are
 * not astray themselves. */
bool page_last_before(struct page_run *run, const uint8_t *page, uint64_t *last)
{
	unsigned believed = 0;

	*last = 0;
	for (unsigned i = 0; i < PAGES_BACK && page - run->begin >= run->page_size; i++) {
		struct page_look look;

		page -= run->page_size;
		if (believed == PAGES_BELIEVED)
			break;
		if (page_judge(run, page, &look) != PAGE_HOLDS ||
		    page_is_astray(run, page, &look, 0))
			continue;
		believed++;
		*last = look.last > *last ? look.last : *last;
	}
	return believed;
}
