/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/rates.h"

#include <math.h>

/* Two clocks in ns, each slewed by at most 500 ppm. */
#define NS_LIMIT_PPM 1000
/* Between cycles and ns the nominal rate is only measured. */
#define MIXED_LIMIT_PPM 2000
/* How far a kernel's clock strays from a straight line while its rate is not changed in earnest:
 * rounding errors of its multiplier are corrected from tick to tick, small slews come and go. */
#define SLACK_NS 1000
/* The longest time that one rate is believed to hold. */
#define MAX_PIECE_NS (20 * NS_PER_SEC)

/* ns per tick, 0 unknown. */
static double tick_ns(const struct trace_clock *c, uint64_t tsc_khz)
{
	if (c->freq_hz)
		return 1e9 / (double)c->freq_hz;
	switch (c->kind) {
	case CLOCK_MONO:
	case CLOCK_BOOT:
	case CLOCK_REAL:
	case CLOCK_LOCAL:
		return 1;
	case CLOCK_TSC:
		return tsc_khz ? 1e6 / (double)tsc_khz : 0;
	default:
		return 0;
	}
}

bool rates_known(const struct sample *guest, const struct sample *host, uint64_t tsc_khz)
{
	const struct trace_clock *g = &guest->trace->clock, *h = &host->trace->clock;

	return (g->kind == CLOCK_TSC && h->kind == CLOCK_TSC) ||
	       (tick_ns(g, tsc_khz) > 0 && tick_ns(h, tsc_khz) > 0);
}

struct fit_options rates_options(const struct sample *guest, const struct sample *host,
				 uint64_t tsc_khz, double spacing_ns)
{
	const struct trace_clock *g = &guest->trace->clock, *h = &host->trace->clock;
	double piece_ns = fmax((double)MAX_PIECE_NS, 4 * spacing_ns);
	double g_ns = tick_ns(g, tsc_khz), h_ns = tick_ns(h, tsc_khz);
	struct fit_options o = {.mult = UINT64_C(1) << CLOCK_SHIFT,
				.limit_ppm = NS_LIMIT_PPM,
				.x_begin = guest->first,
				.x_end = guest->last < guest->known_until ? guest->last
									  : guest->known_until};

	if (g->kind == CLOCK_TSC && h->kind == CLOCK_TSC) {
		o.limit_ppm = 0;
		return o;
	}
	if (g_ns > 0 && h_ns > 0 && g_ns != h_ns) {
		o.mult = (uint64_t)llround(g_ns / h_ns * (double)o.mult);
		o.limit_ppm = MIXED_LIMIT_PPM;
	}
	o.slack = (uint64_t)ceil(SLACK_NS / (h_ns > 0 ? h_ns : 1));
	o.max_piece = (uint64_t)(piece_ns / (g_ns > 0 ? g_ns : 1));
	return o;
}
