/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a history's rows by name and number, and reading its attributes. */
#include "query/cells.h"
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool query_is_inside(const struct sonde_history *history, int64_t machine, int64_t outer)
{
	while (machine >= 0 && machine != outer && machine < query_nr_rows(history, QUERY_MACHINE))
		machine = query_number(history, QUERY_MACHINE, machine, 1);
	return machine == outer;
}

int64_t query_vcpu_served(const struct sonde_history *history, const struct sonde_context *c)
{
	struct sonde_thread th;

	if (c->serves >= 0)
		return c->serves < sonde_nr_cpus(history) ? c->serves : -1;
	if (sonde_thread_get(history, c->thread, &th) || th.vcpu >= sonde_nr_cpus(history))
		return -1;
	return th.vcpu;
}

int64_t sonde_find_machine(const struct sonde_history *history, const char *name)
{
	for (int64_t row = 0; row < query_nr_rows(history, QUERY_MACHINE); row++) {
		if (!strcmp(query_string(history, QUERY_MACHINE, row, 0), name))
			return row;
	}
	return -1;
}

const char *sonde_identity_of(const struct sonde_history *history, int64_t machine, const char *key)
{
	for (int64_t row = members_first(&history->identities, machine); row >= 0;
	     row = members_next(&history->identities, row)) {
		if (!strcmp(query_string(history, QUERY_IDENTITY, row, 1), key))
			return query_string(history, QUERY_IDENTITY, row, 2);
	}
	return "";
}

int64_t sonde_find_cpu(const struct sonde_history *history, int64_t machine, int number)
{
	const uint32_t *row =
		map_get(&history->cpu_rows, (uint64_t)machine << 32 | (uint32_t)number);

	if (machine < 0 || machine > UINT32_MAX)
		return -1;

	return row ? (int64_t)*row : -1;
}

int64_t sonde_next_cpu(const struct sonde_history *history, int64_t machine, int after)
{
	int64_t nr = query_nr_rows(history, QUERY_CPU), low = 0, high = nr;
	const struct sonde_cpu *cpu;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		cpu = &history->cpus[history->cpu_order[middle]];
		if (cpu->machine < machine || (cpu->machine == machine && cpu->number <= after))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == nr)
		return -1;
	cpu = &history->cpus[history->cpu_order[low]];
	return cpu->machine == machine ? (int64_t)history->cpu_order[low] : -1;
}

struct thread_key {
	uint32_t machine;
	int64_t tid;
	ns_t begin;
	int64_t row;
};

static int by_tid_and_begin(const void *a, const void *b)
{
	const struct thread_key *x = a;
	const struct thread_key *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return 0;
}

static bool index_threads(struct sonde_history *history)
{
	int64_t nr = query_nr_rows(history, QUERY_THREAD);

	if (history->threads)
		return true;
	history->threads = malloc(((size_t)nr + 1) * sizeof(*history->threads));
	if (!history->threads)
		return false;
	for (int64_t row = 0; row < nr; row++) {
		history->threads[row] = (struct thread_key){
			.machine = (uint32_t)query_number(history, QUERY_THREAD, row, 0),
			.tid = query_number(history, QUERY_THREAD, row, 1),
			.begin = query_number(history, QUERY_THREAD, row, 6),
			.row = row,
		};
	}
	qsort(history->threads, (size_t)nr, sizeof(*history->threads), by_tid_and_begin);
	return true;
}

/* The incarnation that began last at or before @t; a thread seen only later counts as well when
 * it is the first of its number, for a trace often meets a thread after it began. */
int64_t sonde_find_thread(struct sonde_history *history, int64_t machine, int64_t tid, int64_t t)
{
	struct thread_key key = {.machine = (uint32_t)machine, .tid = tid, .begin = t};
	int64_t low = 0;
	int64_t high = query_nr_rows(history, QUERY_THREAD);

	if (machine < 0 || machine > UINT32_MAX)
		return -1;
	if (!index_threads(history))
		return -ENOMEM;
	while (low < high) { /* the first that is greater than key */
		int64_t mid = low + (high - low) / 2;

		if (by_tid_and_begin(&history->threads[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (int64_t i = low - 1; i <= low && i < query_nr_rows(history, QUERY_THREAD); i++) {
		if (i >= 0 && history->threads[i].machine == machine &&
		    history->threads[i].tid == tid)
			return history->threads[i].row;
	}
	return -1;
}

/* ---- attributes ---------------------------------------------------------------------------- */

uint32_t sonde_attr_find(const struct sonde_history *history, const char *path)
{
	return history_find(history->file, path);
}

uint32_t sonde_attr_of_cpu(const struct sonde_history *history, int64_t cpu, const char *name)
{
	if (!query_has_row(history, QUERY_CPU, cpu))
		return SONDE_NO_ATTR;
	for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
		if (!strcmp(query_cpu_attr_names[i], name))
			return history->cpu_attrs[cpu][i];
	}
	return SONDE_NO_ATTR;
}

/* The public structures are the history's own under another name; no copy on the way. */
_Static_assert(sizeof(struct sonde_interval) == sizeof(struct interval) &&
		       offsetof(struct sonde_interval, value) == offsetof(struct interval, value),
	       "same layout");
_Static_assert(sizeof(struct sonde_pixels) == sizeof(struct pixel_run) &&
		       offsetof(struct sonde_pixels, exact) == offsetof(struct pixel_run, exact),
	       "same layout");
_Static_assert(sizeof(struct sonde_time_share) == sizeof(struct value_time) &&
		       offsetof(struct sonde_time_share, time_ns) ==
			       offsetof(struct value_time, time_ns),
	       "same layout");

int sonde_interval_at(struct sonde_history *history, uint32_t attr, int64_t t,
		      struct sonde_interval *out)
{
	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	if (!query_goes_on(history))
		return -EINTR;
	return history_at(history->file, attr, t, (struct interval *)out);
}

struct walk {
	bool (*each)(const struct sonde_interval *i, void *data);
	void *data;
};

static bool walk_each(const struct interval *i, void *data)
{
	const struct walk *w = data;

	return w->each((const struct sonde_interval *)i, w->data);
}

int sonde_interval_walk(struct sonde_history *history, uint32_t attr, int64_t begin, int64_t end,
			bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	struct walk w = {each, data};

	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	if (!query_goes_on(history))
		return -EINTR;
	return history_walk(history->file, attr, begin, end, walk_each, &w);
}

struct picture {
	void (*each)(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data);
	void *data;
};

static void picture_each(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	const struct picture *p = data;

	p->each(row, (const struct sonde_pixels *)runs, nr, p->data);
}

int sonde_pixels_walk(struct sonde_history *history, const uint32_t *attrs, unsigned nr,
		      int64_t begin, int64_t end, unsigned pixels,
		      void (*each)(unsigned row, const struct sonde_pixels *runs, unsigned nr,
				   void *data),
		      void *data)
{
	struct picture p = {each, data};

	return history_pixels(history->file, attrs, nr, begin, end, pixels, picture_each, &p);
}

int sonde_interval_sum(struct sonde_history *history, uint32_t attr, int64_t begin, int64_t end,
		       struct sonde_time_share **out, unsigned *nr)
{
	*out = NULL;
	*nr = 0;
	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	if (!query_goes_on(history))
		return -EINTR;
	return history_sum(history->file, attr, begin, end, (struct value_time **)out, nr);
}
