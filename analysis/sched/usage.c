/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r */
#include "analysis/sched/usage.h"
#include "query/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const enum sonde_mode mode_order[] = {
	SONDE_MODE_USER, SONDE_MODE_SYSCALL, SONDE_MODE_KERNEL,	    SONDE_MODE_TASK,
	SONDE_MODE_IRQ,	 SONDE_MODE_SOFTIRQ, SONDE_MODE_HYPERVISOR, SONDE_MODE_GUEST,
	SONDE_MODE_IDLE, SONDE_MODE_UNKNOWN,
};

static int add_to_sum(struct usages *u, const struct usage *item)
{
	const struct sonde_context *c = item->context;
	int64_t key[] = {item->cpu, c->machine, c->thread};
	struct usage_sum *sum = keyed_sum(&u->sums, key);

	if (!sum)
		return -ENOMEM;
	sum->cpu = item->cpu;
	sum->machine = c->machine;
	sum->thread = c->thread;
	sum->per_mode[c->mode] += item->time_ns;
	sum->total_ns += item->time_ns;
	return 0;
}

static int usage_add(struct usages *u, struct sonde_history *history, int cpu,
		     const struct sonde_time_share *share)
{
	static const struct sonde_context nothing = {
		.cpu = -1, .thread = -1, .detail = -1, .detail_text = "", .serves = -1};
	int64_t row = (int64_t)share->value - 1;
	struct usage *item;

	if (!room_for_one(&u->list, u->nr, &u->room))
		return -ENOMEM;
	item = &u->list[u->nr++];
	*item = (struct usage){
		.cpu = cpu,
		.row = row,
		.context = row >= 0 && row < sonde_nr_contexts(history) ? &history->contexts[row]
									: &nothing,
		.time_ns = share->time_ns,
	};
	return add_to_sum(u, item);
}

static int collect_cpu(struct usages *u, struct sonde_history *history, int64_t row, ns_t begin,
		       ns_t end, struct error *err)
{
	struct sonde_time_share *shares;
	struct sonde_cpu cpu;
	unsigned nr;
	int ret;

	sonde_cpu_get(history, row, &cpu);
	if (!cpu_is_physical(&cpu))
		return 0;
	ret = sonde_interval_sum(history, history->cpu_attrs[row][CPU_RUNS], begin, end, &shares,
				 &nr);
	if (ret)
		return fail(err, ret, "cannot sum up what ran on CPU %d: %s", cpu.number,
			    error_reason(ret));
	for (unsigned i = 0; i < nr && !ret; i++)
		ret = usage_add(u, history, cpu.number, &shares[i]);
	free(shares);
	u->total_ns += end - begin;
	return ret ? fail(err, ret, "out of memory") : 0;
}

static void release(struct kept *kept)
{
	struct usages *u = (struct usages *)kept;

	keyed_release(&u->sums);
	free(u->list);
	free(u);
}

static const struct kept_kind kind = {release};

int usages_get(const struct usages **out, struct sonde_history *history, ns_t begin, ns_t end,
	       struct error *err)
{
	struct usages *u = kept_find(history, &kind);
	int ret = 0;

	*out = u;
	if (u && u->begin == begin && u->end == end)
		return 0;
	kept_drop(history, &kind);
	u = calloc(1, sizeof(*u));
	if (!u)
		return fail(err, -ENOMEM, "out of memory");
	u->begin = begin;
	u->end = end;
	u->sums = (struct keyed){.nr_cells = 3, .sum_bytes = sizeof(struct usage_sum)};
	if (!query_contexts(history))
		ret = fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++)
		ret = collect_cpu(u, history, row, begin, end, err);
	if (ret) {
		release(&u->kept);
		return ret;
	}
	kept_set(history, &kind, &u->kept);
	*out = u;
	return 0;
}

/* ---- grouping ------------------------------------------------------------------------------ */

struct group {
	union sonde_cell cells[USAGE_KEY_CELLS];
	ns_t per_mode[QUERY_NR_MODES];
	ns_t total_ns;
};

/* Keys are compared as numbers; a string in a key is the history's own, one address per text. */
static int by_key(const void *a, const void *b, void *data)
{
	const struct group *x = a;
	const struct group *y = b;

	for (unsigned i = 0; i < *(const unsigned *)data; i++) {
		if (x->cells[i].i != y->cells[i].i)
			return x->cells[i].i < y->cells[i].i ? -1 : 1;
	}
	return 0;
}

static int add_sum(struct keyed *groups, struct sonde_history *history, const struct usage_sum *u,
		   const struct grouping *grouping)
{
	union sonde_cell cells[USAGE_KEY_CELLS] = {0};
	int64_t key[USAGE_KEY_CELLS];
	size_t before = groups->nr;
	struct group *group;

	if (!grouping->cells(history, u, cells))
		return 0;
	for (unsigned i = 0; i < grouping->nr_key; i++)
		key[i] = cells[i].i;
	group = keyed_sum(groups, key);
	if (!group)
		return -ENOMEM;
	if (groups->nr > before)
		memcpy(group->cells, cells, sizeof(cells));
	for (unsigned i = 0; i < QUERY_NR_MODES; i++)
		group->per_mode[i] += u->per_mode[i];
	group->total_ns += u->total_ns;
	return 0;
}

static void emit(struct sonde_rows *out, const struct group *g, unsigned nr_cells, ns_t total_ns)
{
	union sonde_cell row[USAGE_KEY_CELLS + 2 + ARRAY_SIZE(mode_order)];
	unsigned n = nr_cells;

	memcpy(row, g->cells, nr_cells * sizeof(*row));
	row[n++] = cell_int(g->total_ns);
	row[n++] = cell_int(share_ppm(g->total_ns, total_ns));
	for (size_t i = 0; i < ARRAY_SIZE(mode_order); i++)
		row[n++] = cell_int(g->per_mode[mode_order[i]]);
	rows_add(out, row);
}

int usage_group(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		const struct grouping *grouping, struct error *err)
{
	struct keyed groups = {.nr_cells = grouping->nr_key, .sum_bytes = sizeof(struct group)};
	unsigned nr_key = grouping->nr_key;
	const struct usages *u;
	int ret = usages_get(&u, history, begin, end, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < u->sums.nr && !ret; i++)
		ret = add_sum(&groups, history, keyed_sum_at(&u->sums, i), grouping);
	if (groups.nr) /* nobody asks for a key's number any more */
		qsort_r(groups.sums, groups.nr, sizeof(struct group), by_key, &nr_key);
	for (size_t i = 0; i < groups.nr && !ret; i++)
		emit(out, keyed_sum_at(&groups, i), grouping->nr_cells, u->total_ns);
	keyed_release(&groups);
	rows_sort(out, "total");
	return ret ? fail(err, ret, "out of memory") : 0;
}
