/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, one per CPU, and their packets.  A packet ends where all records behind it are younger
 * than all in it, so that each can be sorted alone; where that is nowhere for long, it ends all the
 * same, and what is older behind it is given the time before, and told of.
 *
 * A file's header says how many bytes of records there are.  Nothing says it of those of a
 * directory: not even a record at their end does.  So each of their CPUs is known up to its last
 * record.
 */
#include "source/perf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES (256u << 10)
#define PACKET_BYTES_MAX (32u << 20)
#define PACKET_SPAN_MAX (1ull << 30) /* its records' places in the file, counted from its begin */
#define PACKETS_MAX 1024u

static void settle_after(struct perf_stream *ps)
{
	uint64_t after = UINT64_MAX;

	for (uint32_t i = ps->nr_blocks; i-- > 0;) {
		ps->blocks[i].after = after;
		after = ps->blocks[i].min < after ? ps->blocks[i].min : after;
	}
}

static uint64_t latest(const struct perf_block *b)
{
	return b->before > b->max ? b->before : b->max;
}

/* True when the packet that block @i was added to ends with it. */
static bool ends_packet(const struct perf_stream *ps, const struct perf_block *first, uint32_t i,
			uint64_t len, uint64_t enough)
{
	const struct perf_block *b = &ps->blocks[i];
	const struct perf_block *next = b + 1;

	if (i + 1 == ps->nr_blocks || next->gap || next->tasks != b->tasks)
		return true;
	if (next->offset_bytes + next->len_bytes - first->offset_bytes > PACKET_SPAN_MAX)
		return true;
	return (len >= enough && latest(b) < b->after) || len >= PACKET_BYTES_MAX;
}

/* Gives the packets to @s, or only counts them. */
static uint32_t cut(struct perf_stream *ps, struct stream *s, bool count)
{
	uint64_t all = 0, len = 0, min = UINT64_MAX, enough;
	uint32_t nr = 0, items = 0, first = 0;

	for (uint32_t i = 0; i < ps->nr_blocks; i++)
		all += ps->blocks[i].own_bytes;
	enough = all / PACKETS_MAX > PACKET_BYTES ? all / PACKETS_MAX : PACKET_BYTES;
	for (uint32_t i = 0; i < ps->nr_blocks; i++) {
		const struct perf_block *b = &ps->blocks[first];

		len += ps->blocks[i].own_bytes;
		items += ps->blocks[i].nr;
		min = ps->blocks[i].min < min ? ps->blocks[i].min : min;
		if (!ends_packet(ps, b, i, len, enough))
			continue;
		if (!count) {
			ps->packets[nr] = (struct perf_packet){.first = first, .nr = i + 1 - first};
			/* Its end is not told: a CPU may have been idle since its last event. */
			s->packets[nr] = (struct packet){
				.begin = min > b->before ? min : b->before,
				.offset_bytes = b->offset_bytes,
				.len_bytes = len,
				.lost = b->gap ? UINT64_MAX : 0,
			};
			ps->items_max = items > ps->items_max ? items : ps->items_max;
		}
		nr++;
		len = 0;
		items = 0;
		min = UINT64_MAX;
		first = i + 1;
	}
	return nr;
}

/* Puts the threads' names in front of the first block. */
static int put_tasks(struct perf_stream *ps, struct perf_index *x)
{
	uint64_t begin = UINT64_MAX;
	struct perf_block *all;

	if (x->tasks.nr > UINT32_MAX / 2 - ps->nr_blocks)
		return -ENOMEM;
	all = calloc(x->tasks.nr + ps->nr_blocks, sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, x->tasks.blocks, x->tasks.nr * sizeof(*all));
	memcpy(all + x->tasks.nr, ps->blocks, ps->nr_blocks * sizeof(*all));
	for (uint32_t i = 0; i < ps->nr_blocks; i++)
		begin = ps->blocks[i].min < begin ? ps->blocks[i].min : begin;
	for (uint32_t i = 0; i < x->tasks.nr; i++) {
		all[i].min = begin;
		all[i].max = begin;
		all[i].gap = false;
		all[i].tasks = true;
	}
	free(ps->blocks);
	ps->blocks = all;
	ps->nr_blocks += x->tasks.nr;
	return 0;
}

static int stream_init(struct perf *p, struct stream *s, struct perf_index *x, unsigned cpu,
		       bool with_tasks)
{
	struct perf_cpu *c = x->cpus[cpu];
	struct perf_stream *ps = arena_alloc(&p->arena, sizeof(*ps));
	uint32_t nr;

	if (!ps)
		return -ENOMEM;
	ps->perf = p;
	ps->blocks = c->blocks;
	ps->nr_blocks = c->nr;
	c->blocks = NULL;
	*s = (struct stream){.trace = p->trace,
			     .path = p->trace->path,
			     .buffer = "",
			     .cpu = (int)cpu,
			     .reader = ps};
	if (ps->blocks[0].gap)
		s->start = START_MISSING;
	if (with_tasks && put_tasks(ps, x))
		return -ENOMEM;
	settle_after(ps);
	nr = cut(ps, s, true);
	ps->packets = calloc(nr, sizeof(*ps->packets));
	s->packets = calloc(nr, sizeof(*s->packets));
	if (!ps->packets || !s->packets)
		return -ENOMEM;
	s->nr_packets = cut(ps, s, false);
	s->cut = c->holes != x->holes;
	ps->packets[nr - 1].until = s->cut ? x->last : 0;
	s->packets[nr - 1].end = p->directory && !s->cut ? c->max : 0;
	for (uint32_t i = 0; i < nr; i++)
		p->trace->len_bytes += s->packets[i].len_bytes;
	return 0;
}

/* The CPU whose records begin first: it has the threads' names. */
static unsigned first_cpu(const struct perf_index *x)
{
	unsigned first = TRACE_CPUS_MAX;

	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		if (x->cpus[i] && (first == TRACE_CPUS_MAX ||
				   x->cpus[i]->blocks[0].min < x->cpus[first]->blocks[0].min))
			first = i;
	}
	return first;
}

int perf_streams_init(struct perf *p, struct perf_index *x, struct error *err)
{
	struct trace *t = p->trace;
	unsigned first = first_cpu(x);
	unsigned nr = 0;

	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++)
		nr += x->cpus[i] != NULL;
	if (!nr)
		return fail(err, -EINVAL, "%s holds no events", t->path);
	t->streams = calloc(nr, sizeof(*t->streams));
	if (!t->streams)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++) {
		bool with_tasks = i == first && x->tasks.nr && !p->other_namespace;

		if (!x->cpus[i])
			continue;
		t->nr_cpus = i + 1;
		if (stream_init(p, &t->streams[t->nr_streams++], x, i, with_tasks))
			return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	}
	/* Of the others nothing is known: they were not recorded (-C), or had nothing to say. */
	if (p->nr_online <= TRACE_CPUS_MAX && t->nr_cpus < p->nr_online)
		t->nr_cpus = p->nr_online;
	return 0;
}

void perf_streams_release(struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct perf_stream *ps = (struct perf_stream *)t->streams[i].reader;

		free(t->streams[i].packets);
		if (ps) {
			free(ps->blocks);
			free(ps->packets);
		}
	}
	free(t->streams);
}
