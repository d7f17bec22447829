/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/order.h"

#include <linux/perf_event.h>

/* linux/include/linux/trace_events.h */
#define FLAG_HARDIRQ 0x08
#define FLAG_SOFTIRQ 0x10
#define FLAG_NMI 0x40

enum perf_level perf_level_of(uint8_t flags)
{
	if (flags & FLAG_NMI)
		return PERF_NMI;
	if (flags & FLAG_HARDIRQ)
		return PERF_HARDIRQ;
	return flags & FLAG_SOFTIRQ ? PERF_SOFTIRQ : PERF_TASK;
}

bool perf_level_find(const struct perf_attrs *attrs, const struct dat_record_form *form,
		     const struct perf_record *r, enum perf_level *out)
{
	const struct perf_attr *a = perf_sample_attr(attrs, r);
	const uint8_t *raw;
	uint32_t len;

	if (a->type != PERF_TYPE_TRACEPOINT || a->backward || !form->flags_offset ||
	    !perf_sample_raw(a, r, &raw, &len) || len < form->common_len)
		return false;
	*out = perf_level_of(raw[form->flags_offset]);
	return true;
}

bool perf_order_breaks(const struct perf_order *o, enum perf_level level, uint64_t time)
{
	for (unsigned i = 0; i <= level; i++) {
		if (time < o->latest[i])
			return true;
	}
	return time < o->until;
}

void perf_order_take(struct perf_order *o, enum perf_level level, uint64_t time)
{
	for (unsigned i = 0; i < PERF_NR_LEVELS; i++)
		time = o->latest[i] > time ? o->latest[i] : time;
	o->latest[level] = time;
	o->until = 0;
}

void perf_order_restart(struct perf_order *o, uint64_t time)
{
	for (unsigned i = 0; i < PERF_NR_LEVELS; i++) {
		if (o->latest[i] > o->until && o->latest[i] < time + PERF_FAR_NS)
			o->until = o->latest[i];
		o->latest[i] = 0;
	}
}
