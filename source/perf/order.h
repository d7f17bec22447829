/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_PERF_ORDER_H
#define SOURCE_PERF_ORDER_H

#include "source/dat/events.h"
#include "source/perf/record.h"

/*
 * In which order a CPU's ring buffer has its records.  Each takes its time first and its place then.
 * What interrupts it between the two takes both, and so stands before it and is later.  Nothing else
 * does: perf records no event of a level within another one of the same level
 * (linux/kernel/events/internal.h, get_recursion_context()).  So no record is earlier than one
 * before it of its own level, or of one that it can interrupt; nor than what stood before that one,
 * of whatever level: that had its place, too, when this one's time was taken.
 *
 *	if (perf_order_breaks(&o, level, time))
 *		perf_order_restart(&o, time);
 *	else
 *		perf_order_take(&o, level, time);
 *
 * Where the order breaks, which of the times are wrong nobody knows: those before, or those behind.
 * So nothing behind is believed up to the latest time before, unless that is so far ahead that it is
 * none.
 */
#define PERF_FAR_NS 1000000000 /* from its neighbours, a time is none */

enum perf_level { PERF_TASK, PERF_SOFTIRQ, PERF_HARDIRQ, PERF_NMI, PERF_NR_LEVELS };

struct perf_order {
	uint64_t latest[PERF_NR_LEVELS];
	uint64_t until; /* nothing is believed that is not later; 0: all is */
};

/* Of a tracepoint's own record: its common_flags. */
enum perf_level perf_level_of(uint8_t flags);

/* Of a sample of a known event; false: that is not known, or its buffer has no such order. */
bool perf_level_find(const struct perf_attrs *attrs, const struct dat_record_form *form,
		     const struct perf_record *r, enum perf_level *out);

bool perf_order_breaks(const struct perf_order *o, enum perf_level level, uint64_t time);
void perf_order_take(struct perf_order *o, enum perf_level level, uint64_t time);
void perf_order_restart(struct perf_order *o, uint64_t time);

#endif
