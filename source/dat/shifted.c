/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of which bytes are missing in the middle.  How many is known: the CPUs' data ends so much
 * earlier than it should.  All data behind the place stands so much earlier, too.
 */
#include "source/dat/page.h"

#define PAGES_LOOKED 8

static uint64_t end_of_data(const struct dat_file *f)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < f->nr_buffers; i++) {
		for (unsigned k = 0; k < f->buffers[i].nr_cpus; k++) {
			const struct dat_cpu *c = &f->buffers[i].cpus[k];

			if (f->buffers[i].packed || c->len_bytes > UINT64_MAX - c->offset_bytes)
				return 0;
			if (c->offset_bytes + c->len_bytes > end)
				end = c->offset_bytes + c->len_bytes;
		}
	}
	return end;
}

/* How many of the first pages from @at on are pages. */
static unsigned pages_at(const struct dat *d, const struct dat_buffer *u, uint64_t at, uint64_t len)
{
	const struct mapfile *map = &d->file.map;
	struct page_run run = {.d = d, .page_size = u->page_size};
	unsigned nr = 0;

	if (at >= map->len_bytes)
		return 0;
	run.begin = map->data + at;
	run.end = run.begin + (len < map->len_bytes - at ? len : map->len_bytes - at);
	for (unsigned i = 0; i < PAGES_LOOKED && run.begin + (size_t)i * u->page_size < run.end;
	     i++) {
		struct page_look look;

		nr += page_judge(&run, run.begin + (size_t)i * u->page_size, &look) == PAGE_HOLDS;
	}
	return nr;
}

/* Pages of one CPU follow each other in time: where they go back, those of the next one begin. */
static bool begins_at(const struct dat *d, const struct dat_buffer *u, uint64_t at)
{
	const struct mapfile *map = &d->file.map;
	const uint8_t *page = map->data + at;
	struct page_head before, here;

	return at >= u->page_size && at < map->len_bytes &&
	       page_head_read(d, page - u->page_size, u->page_size, u->page_size, &before) &&
	       page_head_read(d, page, u->page_size, map->len_bytes - at, &here) &&
	       here.len_bytes && here.time < before.time;
}

/* Where whole pages are missing, there are pages at either place: time tells. */
static bool is_at(const struct dat *d, const struct dat_buffer *u, const struct dat_cpu *c,
		  uint64_t at)
{
	if ((c->offset_bytes - at) % u->page_size == 0)
		return begins_at(d, u, at) && !begins_at(d, u, c->offset_bytes);
	return pages_at(d, u, at, c->len_bytes) > pages_at(d, u, c->offset_bytes, c->len_bytes);
}

void dat_find_shifted(struct dat *d)
{
	struct dat_file *f = &d->file;
	uint64_t end = end_of_data(f),
		 missing = end > f->map.len_bytes ? end - f->map.len_bytes : 0;

	for (unsigned i = 0; missing && i < f->nr_buffers; i++) {
		const struct dat_buffer *u = &f->buffers[i];

		for (unsigned k = 0; k < u->nr_cpus && dat_page_size_ok(u->page_size); k++) {
			struct dat_cpu *c = &u->cpus[k];
			uint64_t at = c->offset_bytes - missing;

			if (missing > c->offset_bytes || !is_at(d, u, c, at))
				continue;
			c->offset_bytes = at;
			c->found = true;
			dat_problem(f, at, "%llu bytes in front of CPU %d's data are missing",
				    (unsigned long long)missing, c->cpu);
		}
	}
}
