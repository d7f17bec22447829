/* SPDX-License-Identifier: Apache-2.0 */
#include "history/write/encoder.h"
#include "history/parts/names.h"
#include "history/parts/summary.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A slice's changes are sorted by attribute (counting sort, which keeps them in time order) and
 * encoded attribute by attribute.  Attributes with few changes in the slice would cost more in
 * directory than in content, and a reader would have to visit many slices for them: their changes
 * wait, and are encoded together when the group ends.
 */
struct encoder {
	struct outfile *file;
	struct node_writer node;
	struct totals totals;
	struct summary *summary;
	struct bytes payload, snapshot, names;

	/* Per attribute. */
	uint32_t nr_attrs, attr_room;
	uint32_t *last_value;
	ns_t *last_time;	     /* of the last change, NS_MIN: none */
	struct snapshot_entry *last; /* room for both, of all that have changed */
	uint32_t *start;	     /* counting sort; all 0 between batches */
	uint32_t *mask;		     /* slices of this group that have the attribute */
	uint8_t *flags;

	/* The batch at hand, sorted by attribute. */
	uint32_t *touched; /* attributes in it */
	uint32_t nr_touched;
	uint64_t *times;	      /* distances from base, rising in a slice */
	uint32_t *time_of, *value_of; /* number of its time; value */
	uint32_t room;
	struct segment_entries row;
	uint64_t *row_places, *row_times;
	uint32_t *row_values;

	/* The group at hand. */
	struct change *waiting;
	uint32_t nr_waiting, waiting_room;
	unsigned nr_slices;
	uint64_t nr_ended; /* slices of the groups before */
	ns_t group_begin;
	bool failed;
};

int encoder_new(struct encoder **out, struct outfile *file)
{
	struct encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->file = file;
	e->summary = summary_new();
	if (node_writer_init(&e->node) || !e->summary) {
		encoder_free(e);
		return -ENOMEM;
	}
	*out = e;
	return 0;
}

void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	node_writer_release(&e->node);
	totals_release(&e->totals);
	summary_free(e->summary);
	bytes_release(&e->payload);
	bytes_release(&e->snapshot);
	bytes_release(&e->names);
	free(e->last_value);
	free(e->last_time);
	free(e->last);
	free(e->start);
	free(e->mask);
	free(e->flags);
	free(e->touched);
	free(e->times);
	free(e->time_of);
	free(e->value_of);
	free(e->row_places);
	free(e->row_times);
	free(e->row_values);
	free(e->waiting);
	free(e);
}

/* Resizes an array to @room items, the new ones zeroed. */
static bool resize(void *array, size_t old_room, size_t room, size_t item_bytes)
{
	char **a = array;
	char *p = realloc(*a, room * item_bytes);

	if (!p)
		return false;
	memset(p + old_room * item_bytes, 0, (room - old_room) * item_bytes);
	*a = p;
	return true;
}

static bool room_for_attrs(struct encoder *e, uint32_t nr)
{
	uint32_t room = e->attr_room ? e->attr_room : 256;

	while (room < nr)
		room *= 2;
	if (room == e->attr_room)
		return true;
	if (!resize(&e->last_value, e->attr_room, room, sizeof(*e->last_value)) ||
	    !resize(&e->last_time, e->attr_room, room, sizeof(*e->last_time)) ||
	    !resize(&e->last, e->attr_room, room, sizeof(*e->last)) ||
	    !resize(&e->start, e->attr_room, room, sizeof(*e->start)) ||
	    !resize(&e->mask, e->attr_room, room, sizeof(*e->mask)) ||
	    !resize(&e->flags, e->attr_room, room, sizeof(*e->flags)) ||
	    !resize(&e->touched, e->attr_room, room, sizeof(*e->touched)))
		return false;
	for (uint32_t i = e->attr_room; i < room; i++)
		e->last_time[i] = NS_MIN;
	e->attr_room = room;
	return true;
}

static bool room_for_changes(struct encoder *e, uint32_t nr)
{
	if (nr <= e->room)
		return true;
	if (!resize(&e->times, e->room, nr, sizeof(*e->times)) ||
	    !resize(&e->time_of, e->room, nr, sizeof(*e->time_of)) ||
	    !resize(&e->value_of, e->room, nr, sizeof(*e->value_of)) ||
	    !resize(&e->row_places, e->room, nr, sizeof(*e->row_places)) ||
	    !resize(&e->row_times, e->room, nr, sizeof(*e->row_times)) ||
	    !resize(&e->row_values, e->room, nr, sizeof(*e->row_values)))
		return false;
	e->room = nr;
	return true;
}

static int compare_u32(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return a < b ? -1 : a > b;
}

/* The touched attributes in order; also turns their counts into start places. */
static void order_touched(struct encoder *e)
{
	uint32_t at = 0;

	if (e->nr_touched > e->nr_attrs / 16) {
		e->nr_touched = 0;
		for (uint32_t i = 0; i < e->nr_attrs; i++) {
			if (e->start[i])
				e->touched[e->nr_touched++] = i;
		}
	} else {
		qsort(e->touched, e->nr_touched, sizeof(*e->touched), compare_u32);
	}
	for (uint32_t i = 0; i < e->nr_touched; i++) {
		uint32_t *start = &e->start[e->touched[i]];
		uint32_t nr = *start;

		*start = at;
		at += nr;
	}
}

/* Sorts by attribute.  Afterwards start[attr] is where the attribute's changes end.  Returns the
 * number of entries of e->times. */
static uint32_t sort_changes(struct encoder *e, const struct change *c, uint32_t nr, ns_t base,
			     bool in_time_order)
{
	uint32_t nr_times = 0;
	ns_t last = NS_MIN;

	e->nr_touched = 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (!e->start[c[i].attr]++)
			e->touched[e->nr_touched++] = c[i].attr;
	}
	order_touched(e);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = e->start[c[i].attr]++;

		if (!in_time_order || c[i].t != last)
			e->times[nr_times++] = (uint64_t)c[i].t - (uint64_t)base;
		last = c[i].t;
		e->time_of[at] = nr_times - 1;
		e->value_of[at] = c[i].value;
	}
	return nr_times;
}

/* Collects the changes of one attribute, [from, to) of the sorted batch, into e->row: of several
 * at one time the last, and none that changes nothing. */
static void collect_row(struct encoder *e, uint32_t attr, uint32_t from, uint32_t to, bool numbered)
{
	uint32_t value = e->last_value[attr];
	uint32_t nr = 0;

	for (uint32_t i = from; i < to; i++) {
		uint32_t number = e->time_of[i];

		if ((i + 1 < to && e->time_of[i + 1] == number) || e->value_of[i] == value)
			continue;
		value = e->value_of[i];
		e->row_times[nr] = e->times[number];
		e->row_places[nr] = number;
		e->row_values[nr++] = value;
	}
	e->row = (struct segment_entries){.places = numbered ? e->row_places : e->row_times,
					  .values = e->row_values,
					  .nr = nr};
}

static void add_totals(struct encoder *e, uint32_t attr, ns_t base)
{
	uint32_t value = e->last_value[attr];
	ns_t from = e->last_time[attr] > e->group_begin ? e->last_time[attr] : e->group_begin;

	for (uint32_t i = 0; i < e->row.nr; i++) {
		ns_t t = base + (ns_t)e->row_times[i];

		if (value && t > from)
			totals_add(&e->totals, attr, value, t - from);
		from = t;
		value = e->row_values[i];
	}
}

static void keep_waiting(struct encoder *e, uint32_t attr, ns_t base)
{
	if (e->nr_waiting + e->row.nr > e->waiting_room) {
		uint32_t room = e->waiting_room ? e->waiting_room * 2 : SLICE_CHANGES / 4;

		if (!resize(&e->waiting, e->waiting_room, room, sizeof(*e->waiting))) {
			e->failed = true;
			return;
		}
		e->waiting_room = room;
	}
	for (uint32_t i = 0; i < e->row.nr; i++) {
		e->waiting[e->nr_waiting++] = (struct change){
			.t = base + (ns_t)e->row_times[i], .attr = attr, .value = e->row_values[i]};
	}
}

static void slice_row(struct encoder *e, uint32_t attr, ns_t base, ns_t end)
{
	if (e->flags[attr] & ATTR_SUMMED)
		add_totals(e, attr, base);
	summary_row(e->summary, attr, base, end, e->row_times, e->row_values, e->row.nr);
	e->last_time[attr] = base + (ns_t)e->row_times[e->row.nr - 1];
	e->last_value[attr] = e->row_values[e->row.nr - 1];
	if (e->row.nr < SLICE_ROW_MIN) {
		keep_waiting(e, attr, base);
		return;
	}
	node_add(&e->node, attr, 0, &e->row);
	e->mask[attr] |= 1u << e->nr_slices;
}

static void write_node(struct encoder *e, enum part_kind kind, ns_t begin, ns_t end,
		       uint32_t nr_times, const struct bytes *extra)
{
	bytes_clear(&e->payload);
	node_finish(&e->node, begin, nr_times ? e->times : NULL, nr_times, extra, &e->payload);
	e->payload.failed |= e->failed;
	outfile_part(e->file, kind, 0, begin, end, &e->payload);
}

static void encode_slice(struct encoder *e, const struct batch *b)
{
	ns_t base = b->changes[0].t;
	uint32_t nr_times = sort_changes(e, b->changes, b->nr, base, true);
	bool numbered = nr_times < b->nr / 4 * 3;
	uint32_t from = 0;

	node_start(&e->node, false);
	for (uint32_t i = 0; i < e->nr_touched; i++) {
		uint32_t attr = e->touched[i];
		uint32_t to = e->start[attr];

		e->start[attr] = 0;
		collect_row(e, attr, from, to, numbered);
		if (e->row.nr)
			slice_row(e, attr, base, b->end);
		from = to;
	}
	write_node(e, PART_SLICE, base, b->end, numbered ? nr_times : 0, NULL);
	summary_slice(e->summary, b->end, e->file);
}

static void group_rows(struct encoder *e)
{
	uint32_t from = 0;

	for (uint32_t attr = 0; attr < e->nr_attrs; attr++) {
		uint32_t to = e->start[attr];

		if (!to && !e->mask[attr])
			continue;
		e->row.nr = 0;
		if (to) {
			for (uint32_t i = from; i < to; i++) {
				e->row_times[e->row.nr] = e->times[e->time_of[i]];
				e->row_values[e->row.nr++] = e->value_of[i];
			}
			from = to;
		}
		e->row.places = e->row_times;
		e->row.values = e->row_values;
		node_add(&e->node, attr, e->mask[attr], &e->row);
		e->start[attr] = 0;
		e->mask[attr] = 0;
	}
}

static void group_totals(struct encoder *e, ns_t end)
{
	for (uint32_t attr = 0; attr < e->nr_attrs; attr++) {
		ns_t from =
			e->last_time[attr] > e->group_begin ? e->last_time[attr] : e->group_begin;

		if (e->flags[attr] & ATTR_SUMMED && e->last_value[attr] && end > from)
			totals_add(&e->totals, attr, e->last_value[attr], end - from);
	}
	totals_group(&e->totals, e->group_begin, end, e->file);
}

static void end_group(struct encoder *e, ns_t end)
{
	struct bytes packed = {0};

	if (!room_for_changes(e, e->nr_waiting)) {
		e->failed = true;
		e->nr_waiting = 0;
	}
	sort_changes(e, e->waiting, e->nr_waiting, e->group_begin, false);
	node_start(&e->node, false);
	group_rows(e);
	group_totals(e, end);
	write_node(e, PART_GROUP, e->group_begin, end, 0, &e->snapshot);
	names_pack(&e->names, &packed);
	bytes_clear(&e->names);
	outfile_part(e->file, PART_NAMES, 0, e->group_begin, end, &packed);
	bytes_release(&packed);
	e->nr_waiting = 0;
	e->nr_ended += e->nr_slices;
	e->nr_slices = 0;
}

/* What a killed writer leaves reaches to the end of the last whole group.  So the first ones are
 * short, each about a GROUP_GROWTHth of all before it; but not so short that they would be
 * snapshots above all. */
static bool group_is_full(const struct encoder *e)
{
	bool is_long = (uint64_t)e->nr_slices * GROUP_GROWTH >= e->nr_ended ||
		       (e->file->packs && e->nr_slices >= GROUP_PACKED_SLICES);

	if (e->nr_slices == SLICES_PER_GROUP_MAX || e->nr_waiting >= GROUP_WAITING_MAX)
		return true;
	return is_long && e->nr_slices * SLICE_CHANGES >= GROUP_ATTR_CHANGES * e->nr_attrs;
}

static void take_snapshot(struct encoder *e)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < e->nr_attrs; i++) {
		if (e->last_time[i] != NS_MIN)
			e->last[nr++] = (struct snapshot_entry){
				.attr = i, .value = e->last_value[i], .since = e->last_time[i]};
	}
	bytes_clear(&e->snapshot);
	snapshot_put(&e->snapshot, e->group_begin, e->last, nr);
}

/* Lets the file know: nothing that follows could be right. */
static void out_of_memory(struct encoder *e)
{
	const struct bytes none = {.failed = true};

	e->failed = true;
	outfile_part(e->file, PART_SLICE, 0, 0, 0, &none);
}

void encoder_batch(struct encoder *e, const struct batch *b)
{
	if (!room_for_attrs(e, b->nr_attrs) || !room_for_changes(e, b->nr)) {
		out_of_memory(e);
		return;
	}
	if (b->nr_attrs > b->first_flag)
		memcpy(e->flags + b->first_flag, b->flags, b->nr_attrs - b->first_flag);
	e->nr_attrs = b->nr_attrs;
	if (!e->nr_slices) {
		e->group_begin = b->changes[0].t;
		take_snapshot(e);
	}
	bytes_put(&e->names, b->names.data, b->names.len_bytes);
	e->names.failed |= b->names.failed;
	encode_slice(e, b);
	e->nr_slices++;
	if (b->last || group_is_full(e))
		end_group(e, b->end);
}

void encoder_finish(struct encoder *e, ns_t end)
{
	summary_finish(e->summary, end, e->file);
}
