/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "source/trace.h"

#define PARTS_KNOWN (1u << 20)	 /* each of some 10 KB, mostly */
#define CHAIN 4			 /* samples in a row that are no accident */
#define SAMPLES_KNOWN (1u << 15) /* far more than a CPU's buffer has, of which some may be copied */

int perf_parts_init(struct perf_parts *p)
{
	*p = (struct perf_parts){.nr = 1, .first = 1};
	p->cpus = calloc(TRACE_CPUS_MAX, sizeof(*p->cpus));
	return p->cpus ? 0 : -ENOMEM;
}

void perf_parts_release(struct perf_parts *p)
{
	map_release(&p->bytes);
	map_release(&p->samples[0]);
	map_release(&p->samples[1]);
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

static uint64_t hash_of(const struct perf_part_sample *s)
{
	return XXH3_64bits(s->data, s->len);
}

/* A sample with these bytes was in order. */
static bool is_known(const struct perf_parts *p, const struct perf_part_sample *s)
{
	uint64_t hash = hash_of(s);

	return map_get(&p->samples[0], hash) || map_get(&p->samples[1], hash);
}

static int note_sample(struct perf_parts *p, const struct perf_part_sample *s)
{
	if (p->samples[p->newer].nr == SAMPLES_KNOWN) {
		p->newer = !p->newer;
		map_clear(&p->samples[p->newer]);
	}
	return map_put(&p->samples[p->newer], hash_of(s), 1);
}

static int take_in_order(struct perf_parts *p, struct perf_part_times *c,
			 const struct perf_part_sample *s)
{
	if (perf_order_breaks(&c->order, *s->level, s->place->time))
		return is_known(p, s);
	perf_order_take(&c->order, *s->level, s->place->time);
	return note_sample(p, s) ? -ENOMEM : 1;
}

/* Its part is the first one with samples of the CPU, or the next. */
static void begin_part(const struct perf_parts *p, struct perf_part_times *c, uint64_t time)
{
	if (c->nr < p->first)
		*c = (struct perf_part_times){0};
	c->limit = c->first;
	c->first = time;
	c->behind = 0;
	c->nr = p->nr;
}

int perf_parts_sample(struct perf_parts *p, const struct perf_part_sample *s)
{
	const struct perf_place *place = s->place;
	struct perf_part_times *c;

	p->sampled = true;
	if (!place || place->cpu >= TRACE_CPUS_MAX)
		return 1;
	c = &p->cpus[place->cpu];
	if (c->nr != p->nr)
		begin_part(p, c, place->time);
	c->first = place->time < c->first ? place->time : c->first;
	c->behind = place->time < c->limit ? c->behind + 1 : 0;
	if (c->behind >= CHAIN)
		return 0;
	return s->level ? take_in_order(p, c, s) : 1;
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
