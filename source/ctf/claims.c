/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTTng has one stream for each CPU of a channel, at any time.  Two that say to be of the same one
 * are a copy under another number, or of another machine: which is the CPU's own, nothing tells.
 */
#include "source/ctf/reader.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t end_of(const struct stream *s)
{
	const struct packet *p = &s->packets[s->nr_packets - 1];

	return p->end > p->begin ? p->end : p->begin;
}

static const struct ctf_stream_plan *plan_of(const struct stream *s)
{
	return ((const struct ctf_stream *)s->reader)->plan;
}

static bool is_same_cpu(const struct stream *a, const struct stream *b)
{
	return plan_of(a) == plan_of(b) && a->cpu == b->cpu;
}

static int by_cpu_and_begin(const void *a, const void *b)
{
	const struct stream *x = *(struct stream *const *)a, *y = *(struct stream *const *)b;
	uint64_t of_x[] = {(uintptr_t)plan_of(x), (uint64_t)x->cpu, x->packets[0].begin,
			   (uintptr_t)x};
	uint64_t of_y[] = {(uintptr_t)plan_of(y), (uint64_t)y->cpu, y->packets[0].begin,
			   (uintptr_t)y};

	for (unsigned i = 0; i < ARRAY_SIZE(of_x); i++) {
		if (of_x[i] != of_y[i])
			return of_x[i] < of_y[i] ? -1 : 1;
	}
	return 0;
}

/* Nobody's: as if nothing of it could be read. */
static void give_up(struct trace *t, struct stream *s)
{
	const struct ctf_stream *cs = s->reader;

	for (unsigned i = 0; i < cs->nr_files && s->nr_packets; i++)
		t->loss.bytes_skipped += cs->files[i].map.len_bytes;
	t->loss.unknown += s->nr_packets > 0;
	s->nr_packets = 0;
	s->cut = true;
}

static void settle(struct trace *t, struct stream **list, unsigned nr)
{
	struct stream *before = NULL, *pair[2] = {NULL, NULL};
	uint64_t before_ends = 0;
	unsigned disputes = 0;

	for (unsigned i = 0; i < nr; i++) {
		struct stream *s = list[i];
		uint64_t begin = s->packets[0].begin, end = end_of(s);
		bool is_next = before && is_same_cpu(before, s);

		if (is_next && begin < before_ends) {
			if (!disputes++) {
				pair[0] = before;
				pair[1] = s;
			}
			give_up(t, before);
			give_up(t, s);
		}
		if (!is_next || end > before_ends) {
			before = s;
			before_ends = end;
		}
	}
	if (disputes)
		trace_problem(
			t,
			"%s and %s both say to be CPU %d's at the same time, and %u more such "
			"pairs: they are nobody's; remove the copies",
			pair[0]->path, pair[1]->path, pair[0]->cpu, disputes - 1);
}

int ctf_settle_claims(struct trace *t, struct error *err)
{
	struct stream **list = calloc(t->nr_streams + 1, sizeof(struct stream *));
	unsigned nr = 0;

	if (!list)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	for (unsigned i = 0; i < t->nr_streams; i++) {
		if (t->streams[i].cpu >= 0 && t->streams[i].nr_packets)
			list[nr++] = &t->streams[i];
	}
	qsort(list, nr, sizeof(struct stream *), by_cpu_and_begin);
	settle(t, list, nr);
	free(list);
	return 0;
}
