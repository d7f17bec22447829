/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/preemption_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

static bool tell(const struct preemption_log *log, size_t at, preemption_sum_fn *each, void *data)
{
	const struct preemption_logged *l = &log->list[at];
	size_t end = at + 1 < log->nr_list ? l[1].first : log->nr;

	return l->first == end || each(&l->p, log->uses + l->first, end - l->first, data);
}

bool preemption_log_tell(const struct preemption_log *log, ns_t begin, ns_t end,
			 preemption_sum_fn *each, void *data)
{
	if (!preemption_log_is_of(log, begin, end))
		return false;
	for (size_t i = 0; i < log->nr_list && tell(log, i, each, data); i++)
		;
	return true;
}

bool preemption_log_tell_last(const struct preemption_log *log, preemption_sum_fn *each, void *data)
{
	return tell(log, log->nr_list - 1, each, data);
}

struct preemption_log *preemption_log_new(ns_t begin, ns_t end)
{
	struct preemption_log *log = calloc(1, sizeof(*log));

	if (log)
		*log = (struct preemption_log){.begin = begin, .end = end};
	return log;
}

int preemption_log_begin(struct preemption_log *log, const struct preemption *p, unsigned machine,
			 int cpu)
{
	if (log->too_long)
		log->nr_list = log->nr = 0;
	if (!room_for_one(&log->list, log->nr_list, &log->list_room))
		return -ENOMEM;
	log->list[log->nr_list++] = (struct preemption_logged){*p, machine, cpu, log->nr};
	return 0;
}

int preemption_log_add(struct preemption_log *log, const struct cpu_use *use)
{
	if (log->nr == PREEMPTION_LOG_MAX)
		return -ENOSPC;
	if (!room_for_one(&log->uses, log->nr, &log->room))
		return -ENOMEM;
	log->uses[log->nr++] = (struct preemption_use){
		.number = use->number,
		.count = use->count,
		.on = (int32_t)use->on,
		.time_ns = use->time_ns,
		.longest_ns = use->longest_ns,
		.longest_at = use->longest_at,
	};
	return 0;
}

void preemption_log_forget(struct preemption_log *log)
{
	log->list[0] = log->list[log->nr_list - 1];
	log->list[0].first = 0;
	log->nr_list = 1;
	log->nr = 0;
	log->too_long = true;
}

void preemption_log_keep(struct preemption_log **kept, struct preemption_log *log, bool whole)
{
	if (log->too_long || !whole) {
		preemption_log_free(log);
		return;
	}
	preemption_log_free(*kept);
	*kept = log;
}

void preemption_log_free(struct preemption_log *log)
{
	if (!log)
		return;
	free(log->list);
	free(log->uses);
	free(log);
}
