/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "source/trace.h"

#define PARTS_KNOWN (1u << 20) /* each of some 10 KB, mostly */
#define CHAIN 4		       /* samples in a row that are no accident */

int perf_parts_init(struct perf_parts *p)
{
	*p = (struct perf_parts){.nr = 1, .first = 1};
	p->cpus = calloc(TRACE_CPUS_MAX, sizeof(*p->cpus));
	return p->cpus ? 0 : -ENOMEM;
}

void perf_parts_release(struct perf_parts *p)
{
	map_release(&p->bytes);
	free(p->cpus);
}

void perf_parts_begin(struct perf_parts *p)
{
	map_release(&p->bytes);
	p->first = ++p->nr;
	p->sampled = false;
}

bool perf_parts_enter(struct perf_parts *p, const uint8_t *data, uint64_t len)
{
	if (len >= 4 && load_u32(data) == ZSTD_MAGICNUMBER)
		p->frame = p->nr;
	p->hash = XXH3_64bits(data, len);
	return !map_get(&p->bytes, p->hash);
}

bool perf_parts_sample(struct perf_parts *p, const struct perf_place *place)
{
	struct perf_part_times *c;

	p->sampled = true;
	if (!place || place->cpu >= TRACE_CPUS_MAX)
		return true;
	c = &p->cpus[place->cpu];
	if (c->nr != p->nr) {
		*c = (struct perf_part_times){
			.nr = p->nr,
			.first = place->time,
			.limit = c->nr >= p->first ? c->first : 0,
		};
	}
	c->first = place->time < c->first ? place->time : c->first;
	c->behind = place->time < c->limit ? c->behind + 1 : 0;
	return c->behind < CHAIN;
}

int perf_parts_add(struct perf_parts *p, struct perf_part_place where)
{
	bool sampled = p->sampled;

	p->last[p->nr++ % PERF_PARTS_BACK] = where;
	p->sampled = false;
	if (!sampled)
		return 0;
	if (p->bytes.nr == PARTS_KNOWN) /* a copy stands near */
		map_clear(&p->bytes);
	return map_put(&p->bytes, p->hash, 1);
}

const struct perf_part_place *perf_parts_back(const struct perf_parts *p)
{
	uint64_t from = p->frame < p->nr ? p->frame : p->nr - 1;

	if (p->nr == p->first)
		return NULL;
	from = from > p->first ? from : p->first;
	from = p->nr - from > PERF_PARTS_BACK ? p->nr - PERF_PARTS_BACK : from;
	return &p->last[from % PERF_PARTS_BACK];
}
