/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ticks.h"

double ticks_per_us(const struct trace *t)
{
	if (t->clock.freq_hz)
		return (double)t->clock.freq_hz / 1e6;
	return t->clock.kind == CLOCK_TSC ? 3000 : 1000;
}

uint64_t ticks_in(const struct trace *t, ns_t ns)
{
	return (uint64_t)((double)ns / 1000 * ticks_per_us(t));
}

bool ticks_have_rate(const struct trace *t)
{
	switch (t->clock.kind) {
	case CLOCK_MONO:
	case CLOCK_BOOT:
	case CLOCK_REAL:
	case CLOCK_LOCAL:
		return true;
	default:
		return t->clock.freq_hz;
	}
}
