/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/wall.h"

static bool has_wall(const struct trace_clock *c)
{
	bool is_ns = c->kind != CLOCK_TSC && c->kind != CLOCK_COUNTER &&
		     (!c->freq_hz || c->freq_hz == 1000000000);

	return is_ns && c->offset_known;
}

ns_t wall_apart(const struct sample *a, const struct sample *b)
{
	const struct trace_clock *ca = &a->trace->clock, *cb = &b->trace->clock;
	__int128 after, before;

	if (!has_wall(ca) || !has_wall(cb))
		return 0;
	after = (__int128)a->first + ca->offset_ns - b->last - cb->offset_ns;
	before = (__int128)b->first + cb->offset_ns - a->last - ca->offset_ns;
	if (after > 0)
		return after < NS_MAX ? (ns_t)after : NS_MAX;
	if (before > 0)
		return before < NS_MAX ? -(ns_t)before : -NS_MAX;
	return 0;
}
