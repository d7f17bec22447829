/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of CPUs that contradict themselves: the same bytes are listed for two CPUs, or a CPU is
 * listed twice.  Pages do not say whose they are, so what two claim is nobody's.
 */
#include "source/dat/reader.h"

#include <errno.h>
#include <stdlib.h>

static int by_offset(const void *a, const void *b)
{
	const struct dat_cpu *x = *(struct dat_cpu *const *)a, *y = *(struct dat_cpu *const *)b;

	if (x->offset_bytes != y->offset_bytes)
		return x->offset_bytes < y->offset_bytes ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_cpu(const void *a, const void *b)
{
	const struct dat_cpu *x = *(struct dat_cpu *const *)a, *y = *(struct dat_cpu *const *)b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x > y) - (x < y);
}

static void cut(struct dat_file *f, struct dat_cpu *c, uint64_t len_bytes)
{
	f->trace->loss.bytes_skipped += c->len_bytes - len_bytes;
	f->trace->loss.unknown++;
	c->len_bytes = len_bytes;
	c->disputed = true;
}

/* One that begins inside another is nobody's, and the other ends where that begins; one that was
 * found by its pages is its own. */
static void settle_bytes(struct dat_file *f, struct dat_cpu **list, size_t nr)
{
	struct dat_cpu *before = NULL, *pair[2];
	uint64_t end = 0; /* of what was claimed so far */
	size_t disputes = 0;

	qsort(list, nr, sizeof(*list), by_offset);
	for (size_t i = 0; i < nr; i++) {
		struct dat_cpu *c = list[i];
		uint64_t begin = c->offset_bytes, after = begin + c->len_bytes;

		if (begin < end) {
			if (!c->found && !disputes++) {
				pair[0] = before;
				pair[1] = c;
			}
			if (begin - before->offset_bytes < before->len_bytes)
				cut(f, before, begin - before->offset_bytes);
			if (!c->found)
				cut(f, c, 0);
		}
		if (after > end) {
			end = after;
			before = c;
		}
	}
	if (disputes)
		dat_problem(
			f, pair[1]->offset_bytes,
			"the file lists the same bytes for CPU %d and CPU %d, and %zu more such "
			"pairs: they are nobody's",
			pair[0]->cpu, pair[1]->cpu, disputes - 1);
}

static void settle_numbers(struct dat_file *f, struct dat_cpu **list, size_t nr)
{
	struct dat_cpu *twice = NULL;

	qsort(list, nr, sizeof(*list), by_cpu);
	for (size_t i = 0; i < nr; i++) {
		bool again = i && list[i - 1]->cpu == list[i]->cpu;

		if (again && !twice)
			twice = list[i];
		if (again || (i + 1 < nr && list[i + 1]->cpu == list[i]->cpu))
			cut(f, list[i], 0);
	}
	if (twice)
		dat_problem(f, twice->offset_bytes,
			    "the file lists CPU %d more than once: no such entry is believed",
			    twice->cpu);
}

/* Those of this buffer that list bytes of the file, or of all buffers. */
static size_t collect(struct dat_file *f, const struct dat_buffer *u, struct dat_cpu **list)
{
	size_t nr = 0;

	for (unsigned i = 0; i < u->nr_cpus; i++) {
		struct dat_cpu *c = &u->cpus[i];

		if (c->len_bytes && dat_inside(f, c->offset_bytes, 1))
			list[nr++] = c;
		if (c->len_bytes > UINT64_MAX - c->offset_bytes)
			c->len_bytes = UINT64_MAX - c->offset_bytes;
	}
	return nr;
}

int dat_settle_claims(struct dat *d)
{
	struct dat_file *f = &d->file;
	struct dat_cpu **list;
	size_t nr = 0, room = 0;

	for (unsigned i = 0; i < f->nr_buffers; i++)
		room += f->buffers[i].nr_cpus;
	list = calloc(room + 1, sizeof(struct dat_cpu *));
	if (!list)
		return -ENOMEM;
	for (unsigned i = 0; i < f->nr_buffers; i++)
		settle_numbers(f, list, collect(f, &f->buffers[i], list));
	for (unsigned i = 0; i < f->nr_buffers; i++)
		nr += collect(f, &f->buffers[i], list + nr);
	settle_bytes(f, list, nr);
	free(list);
	return 0;
}
