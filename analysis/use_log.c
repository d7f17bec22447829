/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/use_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

bool use_log_tell(const struct use_log *log, ns_t begin, ns_t end,
		  bool (*each)(const void *delay, const struct cpu_use *use, void *data),
		  void *data)
{
	if (!log || log->begin != begin || log->end != end)
		return false;
	for (size_t i = 0; i < log->nr; i++) {
		const struct use_log_entry *e = &log->entries[i];
		const struct cpu_use use = {
			.on = e->on,
			.by = &log->culprits->list[e->number],
			.number = e->number,
			.count = e->count,
			.time_ns = e->time_ns,
			.longest_ns = e->longest_ns,
			.longest_at = e->longest_at,
		};

		if (!each(log->delays + e->delay * log->delay_bytes, &use, data))
			break;
	}
	return true;
}

struct use_log *use_log_new(ns_t begin, ns_t end, size_t delay_bytes,
			    const struct culprits *culprits)
{
	struct use_log *log = calloc(1, sizeof(*log));

	if (log)
		*log = (struct use_log){.begin = begin,
				       .end = end,
				       .delay_bytes = delay_bytes,
				       .culprits = culprits};
	return log;
}

void use_log_begin(struct use_log *log, const void *delay)
{
	if (log)
		log->now = delay;
}

static bool add_delay(struct use_log *log)
{
	if (log->nr_delays == log->delays_room &&
	    !grow_array(&log->delays, &log->delays_room, log->delay_bytes))
		return false;
	memcpy(log->delays + log->nr_delays++ * log->delay_bytes, log->now, log->delay_bytes);
	log->now = NULL;
	return true;
}

void use_log_add(struct use_log *log, const struct cpu_use *use)
{
	if (!log || log->too_long)
		return;
	if (log->nr == USE_LOG_MAX || (log->now && !add_delay(log)) ||
	    !room_for_one(&log->entries, log->nr, &log->room)) {
		log->too_long = true;
		return;
	}
	log->entries[log->nr++] = (struct use_log_entry){
		.delay = (uint32_t)log->nr_delays - 1,
		.number = use->number,
		.count = use->count,
		.on = (int32_t)use->on,
		.time_ns = use->time_ns,
		.longest_ns = use->longest_ns,
		.longest_at = use->longest_at,
	};
}

void use_log_keep(struct use_log **kept, struct use_log *log, bool whole)
{
	if (!log || log->too_long || !whole) {
		use_log_free(log);
		return;
	}
	use_log_free(*kept);
	*kept = log;
}

void use_log_free(struct use_log *log)
{
	if (!log)
		return;
	free(log->delays);
	free(log->entries);
	free(log);
}
