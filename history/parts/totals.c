/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/totals.h"

#include <stdlib.h>

#include "base/grow.h"

void totals_release(struct totals *t)
{
	for (unsigned i = 0; i < TOTALS_LEVELS; i++) {
		map_release(&t->levels[i].places);
		free(t->levels[i].list);
	}
	memset(t, 0, sizeof(*t));
}

static bool level_add(struct totals_level *l, const struct total *add)
{
	uint64_t key = (uint64_t)add->attr << 32 | add->value;
	uint32_t *place = map_get(&l->places, key);

	if (place) {
		l->list[*place].time_ns += add->time_ns;
		return true;
	}
	if (!room_for_one(&l->list, l->nr, &l->room))
		return false;
	if (map_put(&l->places, key, l->nr))
		return false;
	l->list[l->nr++] = *add;
	return true;
}

void totals_add(struct totals *t, uint32_t attr, uint32_t value, ns_t time_ns)
{
	struct total add = {.attr = attr, .value = value, .time_ns = time_ns};

	if (!level_add(&t->levels[0], &add))
		t->failed = true;
}

static int compare_totals(const void *pa, const void *pb)
{
	const struct total *a = pa, *b = pb;

	if (a->attr != b->attr)
		return a->attr < b->attr ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

static uint32_t attr_end(const struct total *list, uint32_t nr, uint32_t i)
{
	uint32_t end = i;

	while (end < nr && list[end].attr == list[i].attr)
		end++;
	return end;
}

void totals_put(const struct total *list, uint32_t nr, struct bytes *out)
{
	struct bytes lists = {0};
	uint32_t nr_attrs = 0;

	for (uint32_t i = 0; i < nr; i = attr_end(list, nr, i))
		nr_attrs++;
	bytes_put_u32(out, nr_attrs);
	for (uint32_t i = 0; i < nr;) {
		uint32_t end = attr_end(list, nr, i);

		bytes_put_u32(out, list[i].attr);
		bytes_put_u32(out, (uint32_t)(4 + nr_attrs * 8ull + lists.len_bytes));
		bytes_put_varint(&lists, end - i);
		for (; i < end; i++) {
			bytes_put_varint(&lists, list[i].value);
			bytes_put_varint(&lists, (uint64_t)list[i].time_ns);
		}
	}
	bytes_put(out, lists.data, lists.len_bytes);
	out->failed |= lists.failed;
	bytes_release(&lists);
}

static void level_flush(struct totals *t, unsigned level, ns_t end, struct outfile *file)
{
	struct totals_level *l = &t->levels[level];
	struct bytes payload = {.failed = t->failed};

	if (l->nr)
		qsort(l->list, l->nr, sizeof(*l->list), compare_totals);
	totals_put(l->list, l->nr, &payload);
	outfile_part(file, PART_TOTALS, level, l->begin, end, &payload);
	bytes_release(&payload);
	if (level + 1 < TOTALS_LEVELS) {
		struct totals_level *up = &t->levels[level + 1];

		for (uint32_t i = 0; i < l->nr; i++)
			t->failed |= !level_add(up, &l->list[i]);
		if (!up->nr_children++)
			up->begin = l->begin;
	}
	map_clear(&l->places);
	l->nr = 0;
	l->nr_children = 0;
}

void totals_group(struct totals *t, ns_t begin, ns_t end, struct outfile *file)
{
	t->levels[0].begin = begin;
	level_flush(t, 0, end, file);
	for (unsigned i = 1; i < TOTALS_LEVELS; i++) {
		if (t->levels[i].nr_children == TOTALS_FANOUT)
			level_flush(t, i, end, file);
	}
}
