/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/preemption_log.h"

#include <stdlib.h>

#include "base/grow.h"

bool preemption_log_tell(const struct preemption_log *log, ns_t begin, ns_t end,
			 bool (*each)(const struct preemption *p, const struct cpu_use *use,
				      void *data),
			 void *data)
{
	if (!preemption_log_is_of(log, begin, end))
		return false;
	for (size_t i = 0; i < log->nr; i++) {
		const struct preemption_log_entry *e = &log->entries[i];
		const struct cpu_use use = {
			.on = e->on,
			.by = &log->culprits->list[e->number],
			.number = e->number,
			.count = e->count,
			.time_ns = e->time_ns,
			.longest_ns = e->longest_ns,
			.longest_at = e->longest_at,
		};

		if (!each(&log->list[e->of].p, &use, data))
			break;
	}
	return true;
}

struct preemption_log *preemption_log_new(ns_t begin, ns_t end, const struct culprits *culprits)
{
	struct preemption_log *log = calloc(1, sizeof(*log));

	if (log)
		*log = (struct preemption_log){.begin = begin, .end = end, .culprits = culprits};
	return log;
}

void preemption_log_begin(struct preemption_log *log, const struct preemption *p, unsigned machine,
			  int cpu)
{
	if (!log)
		return;
	log->now = p;
	log->machine = machine;
	log->cpu = cpu;
}

static bool add_preemption(struct preemption_log *log)
{
	if (!room_for_one(&log->list, log->nr_list, &log->list_room))
		return false;
	log->list[log->nr_list++] =
		(struct preemption_logged){*log->now, log->machine, log->cpu};
	log->now = NULL;
	return true;
}

void preemption_log_add(struct preemption_log *log, const struct cpu_use *use)
{
	if (!log || log->too_long)
		return;
	if (log->nr == PREEMPTION_LOG_MAX || (log->now && !add_preemption(log)) ||
	    !room_for_one(&log->entries, log->nr, &log->room)) {
		log->too_long = true;
		return;
	}
	log->entries[log->nr++] = (struct preemption_log_entry){
		.of = (uint32_t)log->nr_list - 1,
		.number = use->number,
		.count = use->count,
		.on = (int32_t)use->on,
		.time_ns = use->time_ns,
		.longest_ns = use->longest_ns,
		.longest_at = use->longest_at,
	};
}

void preemption_log_keep(struct preemption_log **kept, struct preemption_log *log, bool whole)
{
	if (!log || log->too_long || !whole) {
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
	free(log->entries);
	free(log);
}
