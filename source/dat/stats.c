/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU a CPUSTAT is about.  Statistics name a buffer and a CPU, and a file may have many of
 * both, and several buffers of one name: each CPU is looked up among the statistics once.
 */
#include "source/dat/file.h"
#include "base/map.h"
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct by_place {
	struct strings buffers;
	struct map newest; /* buffer and CPU -> index into list */
	const struct dat_stat **list;
	uint32_t nr;
};

static uint64_t place(uint32_t buffer, int cpu)
{
	return (uint64_t)buffer << 32 | (uint32_t)cpu;
}

/* The newest of a place counts, and it comes first. */
static int put_stat(struct by_place *p, const struct dat_stat *s)
{
	uint32_t buffer = strings_put(&p->buffers, s->buffer, strlen(s->buffer));

	if (buffer == UINT32_MAX)
		return -ENOMEM;
	if (map_get(&p->newest, place(buffer, s->cpu)))
		return 0;
	p->list[p->nr] = s;
	return map_put(&p->newest, place(buffer, s->cpu), p->nr++);
}

/* Of several CPUs of one place the first has the statistics. */
static void take_stat(struct by_place *p, uint32_t buffer, struct dat_cpu *c)
{
	const uint32_t *at = map_get(&p->newest, place(buffer, c->cpu));
	const struct dat_stat *s;

	if (!at)
		return;
	s = p->list[*at];
	c->has_stats = true;
	c->stat_lost = s->lost;
	c->stat_kept = s->kept;
	c->stat_unread = s->unread;
	c->stat_oldest = s->oldest;
	map_del(&p->newest, place(buffer, c->cpu));
}

int dat_stats_assign(struct dat_file *f)
{
	struct by_place p = {0};
	int ret = 0;

	p.list = calloc(f->nr_stats + (size_t)1, sizeof(*p.list));
	if (!p.list)
		return -ENOMEM;
	for (const struct dat_stat *s = f->stats; s && !ret; s = s->next)
		ret = put_stat(&p, s);
	for (unsigned i = 0; i < f->nr_buffers && !ret; i++) {
		const struct dat_buffer *u = &f->buffers[i];
		uint32_t buffer = strings_find(&p.buffers, u->name, strlen(u->name));

		for (unsigned j = 0; j < u->nr_cpus && buffer != UINT32_MAX; j++)
			take_stat(&p, buffer, &u->cpus[j]);
	}
	map_release(&p.newest);
	strings_release(&p.buffers);
	free(p.list);
	return ret;
}
