/* SPDX-License-Identifier: Apache-2.0 */
#include "model/io/doorbell.h"

#include <errno.h>

#include "model/identity/machine.h"
#include "model/state/state.h"

#define TIMES_MIN 2
#define STRAY_PERCENT 10

/* What is counted of requests that were answered. */
enum count {
	OF_VM,
	OF_DOORBELL,
	OF_LINE,
	OF_LINE_AT_DOORBELL,
	NR_COUNTS,
	/* Of the answers of its doorbell, which one the line's first and last was. */
	FIRST_OF_LINE = NR_COUNTS,
	LAST_OF_LINE,
};

static bool is_counted(const struct request *r)
{
	return r->cpu && r->irq_cpu && r->vector >= 0 && r->at[REQUEST_KICKED] != NS_MIN;
}

/* A line is a vector of a vCPU. */
static uint64_t key_of(const struct model *m, const struct request *r, enum count what)
{
	uint64_t key = (uint64_t)cpu_root(r->cpu)->machine->index << 8 | what;
	uint64_t line = (uint64_t)cpu_root(r->irq_cpu)->index << 8 | (uint8_t)r->vector;

	if (what != OF_VM && what != OF_LINE)
		key = hash_fold(key, m->secret) ^ (uint64_t)r->doorbell;
	if (what != OF_VM && what != OF_DOORBELL)
		key = hash_fold(key, m->secret) ^ line;
	return key;
}

/* Where the line stands among the answers of its doorbell. */
static int note_place(struct model *m, struct map *counts, const struct request *r)
{
	const uint32_t place = *map_get(counts, key_of(m, r, OF_DOORBELL));
	const uint64_t first = key_of(m, r, FIRST_OF_LINE);

	if (!map_get(counts, first) && map_put(counts, first, place))
		return -ENOMEM;
	return map_put(counts, key_of(m, r, LAST_OF_LINE), place) ? -ENOMEM : 0;
}

static int count(struct model *m, struct map *counts, const struct request *r)
{
	for (unsigned what = 0; what < NR_COUNTS; what++) {
		uint64_t key = key_of(m, r, what);
		uint32_t *nr;

		/* Whose else the line may be an unknown doorbell does not tell. */
		if (what == OF_LINE && !r->doorbell)
			continue;
		nr = map_get(counts, key);
		if (nr)
			++*nr;
		else if (map_put(counts, key, 1))
			return -ENOMEM;
	}
	return note_place(m, counts, r);
}

static uint64_t counted(const struct model *m, const struct map *counts, const struct request *r,
			enum count what)
{
	const uint32_t *nr = map_get(counts, key_of(m, r, what));

	return nr ? *nr : 0;
}

/* Most of what answered the doorbell from the line's first time to its last one. */
static bool is_usual_meanwhile(const struct model *m, const struct map *counts,
			       const struct request *r, uint64_t times)
{
	return 2 * times >
	       counted(m, counts, r, LAST_OF_LINE) - counted(m, counts, r, FIRST_OF_LINE) + 1;
}

static bool is_its_line(const struct model *m, const struct map *counts, const struct request *r)
{
	uint64_t times = counted(m, counts, r, OF_LINE_AT_DOORBELL);

	if (times < TIMES_MIN)
		return false;
	if (!r->doorbell)
		return times == counted(m, counts, r, OF_VM);
	return times * 100 >= counted(m, counts, r, OF_LINE) * (100 - STRAY_PERCENT) &&
	       times * 100 >= counted(m, counts, r, OF_DOORBELL) * STRAY_PERCENT &&
	       is_usual_meanwhile(m, counts, r, times);
}

void doorbells_settle(struct model *m)
{
	struct map counts = {0};
	int ret = 0;

	for (uint32_t i = 0; !ret && i < m->nr_requests; i++) {
		if (is_counted(&m->requests[i]))
			ret = count(m, &counts, &m->requests[i]);
	}
	if (ret)
		model_no_memory(m);
	for (uint32_t i = 0; !ret && i < m->nr_requests; i++) {
		struct request *r = &m->requests[i];

		r->answered = is_counted(r) && is_its_line(m, &counts, r);
	}
	map_release(&counts);
}
