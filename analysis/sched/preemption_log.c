/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/preemption_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

static void release(struct kept *kept)
{
	struct preemption_log *log = (struct preemption_log *)kept;

	preemption_log_forget_parts(log);
	preemption_log_forget_sums(log);
	free(log);
}

static const struct kept_kind kind = {release};

struct preemption_log *preemption_log_get(struct sonde_history *history, ns_t begin, ns_t end)
{
	struct preemption_log *log = kept_find(history, &kind);

	if (log && log->begin == begin && log->end == end)
		return log;
	kept_drop(history, &kind);
	log = calloc(1, sizeof(*log));
	if (log) {
		kept_set(history, &kind, &log->kept);
		log->begin = begin;
		log->end = end;
	}
	return log;
}

void preemption_log_add(struct preemption_log *log, const struct preemption *p)
{
	if (log->too_long)
		return;
	if (log->nr_parts == PREEMPTION_LOG_MAX ||
	    !room_for_one(&log->parts, log->nr_parts, &log->parts_room)) {
		preemption_log_forget_parts(log);
		log->too_long = true;
		return;
	}
	log->parts[log->nr_parts++] = *p;
}

void preemption_log_forget_parts(struct preemption_log *log)
{
	free(log->parts);
	log->parts = NULL;
	log->nr_parts = log->parts_room = 0;
}

int64_t preemption_log_owner(struct preemption_log *log, const struct preemption *p)
{
	const bool quota = p->why == SONDE_OFF_QUOTA;
	/* Rows of CPUs and threads have at most 31 bits. */
	uint64_t key = (uint64_t)p->vcpu << 33 | (uint64_t)(p->victim + 1) << 1 | quota;
	const uint32_t *number = map_get(&log->by_owner, key);

	if (number)
		return *number;
	if (!room_for_one(&log->owners, log->nr_owners, &log->owners_room) ||
	    map_put(&log->by_owner, key, log->nr_owners))
		return -ENOMEM;
	log->owners[log->nr_owners] = (struct preemption_owner){p->vcpu, p->victim, quota};
	return log->nr_owners++;
}

static struct preemption_use *new_use(struct preemption_log *log, uint64_t key, uint32_t owner,
				      const struct cpu_use *use)
{
	if (!room_for_one(&log->uses, log->nr_uses, &log->uses_room) ||
	    map_put(&log->by_use, key, log->nr_uses))
		return NULL;
	log->uses[log->nr_uses] = (struct preemption_use){
		.owner = owner, .number = use->number, .on = (int32_t)use->on};
	return &log->uses[log->nr_uses++];
}

int preemption_log_sum(struct preemption_log *log, uint32_t owner, const struct cpu_use *use)
{
	uint64_t key = (uint64_t)owner << 32 | use->number;
	const uint32_t *number = map_get(&log->by_use, key);
	struct preemption_use *sum = number ? &log->uses[*number] : new_use(log, key, owner, use);

	if (!sum)
		return -ENOMEM;
	sum->count += use->count;
	sum->time_ns += use->time_ns;
	sum->several_cpus |= use->several_cpus || sum->on != use->on;
	if (use->longest_ns > sum->longest_ns) {
		sum->longest_ns = use->longest_ns;
		sum->longest_at = use->longest_at;
		sum->on = (int32_t)use->on;
	}
	return 0;
}

void preemption_log_forget_sums(struct preemption_log *log)
{
	free(log->owners);
	free(log->uses);
	log->owners = NULL;
	log->uses = NULL;
	log->nr_owners = log->owners_room = log->nr_uses = log->uses_room = 0;
	map_release(&log->by_owner);
	map_release(&log->by_use);
}
