/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/wall.h"

#include "source/ticks.h"

static bool has_wall(const struct trace_clock *c)
{
	bool is_ns = c->kind != CLOCK_TSC && c->kind != CLOCK_COUNTER &&
		     (!c->freq_hz || c->freq_hz == 1000000000);

	return is_ns && c->offset_known;
}

struct wall_span {
	__int128 first, last;
};

/* By the recorder's readings; without one at the end, until the trace ends, as far as its ticks tell. */
static bool span_read(const struct candidate *c, struct wall_span *span)
{
	const struct declared *d = c->declared;
	const struct sample *s = c->sample;
	bool any = false;

	for (size_t i = 0; i < d->clocks.nr; i++) {
		int64_t real = d->clocks.list[i].real;

		if (real < 0)
			continue;
		if (!any || real < span->first)
			span->first = real;
		if (!any || real > span->last)
			span->last = real;
		any = true;
	}
	if (any && !d->at_end)
		span->last +=
			(__int128)((double)(s->last - s->first) / ticks_per_us(s->trace) * 1000);
	return any;
}

static bool span_of(const struct candidate *c, struct wall_span *span)
{
	const struct trace_clock *clock = &c->sample->trace->clock;

	if (!has_wall(clock))
		return span_read(c, span);
	span->first = (__int128)c->sample->first + clock->offset_ns;
	span->last = (__int128)c->sample->last + clock->offset_ns;
	return true;
}

ns_t wall_apart(const struct candidate *a, const struct candidate *b)
{
	struct wall_span of_a, of_b;
	__int128 after, before;

	if (!span_of(a, &of_a) || !span_of(b, &of_b))
		return 0;
	after = of_a.first - of_b.last;
	before = of_b.first - of_a.last;
	if (after > 0)
		return after < NS_MAX ? (ns_t)after : NS_MAX;
	if (before > 0)
		return before < NS_MAX ? -(ns_t)before : -NS_MAX;
	return 0;
}
