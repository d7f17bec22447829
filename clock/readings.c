/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/readings.h"

#include <errno.h>
#include <math.h>

#include "clock/exact.h"

#define SLACK_NS 1000
#define RUN_OFF_PPM 100
#define BEYOND_NS NS_PER_SEC

bool readings_value(const struct trace_clock *c, const struct declared_clock *reading,
		    uint64_t *value)
{
	int64_t ns = -1;

	if (c->freq_hz && c->freq_hz != (uint64_t)NS_PER_SEC)
		return false;
	if (c->kind == CLOCK_MONO)
		ns = reading->mono;
	else if (c->kind == CLOCK_BOOT)
		ns = reading->boot;
	else if (c->kind == CLOCK_REAL)
		ns = reading->real;
	*value = (uint64_t)ns;
	return ns >= 0;
}

/* Between which values a clock was at a moment of its machine's counter. */
struct span {
	__int128 low, high;
};

/* By two readings: the line through them. */
static bool by_two(struct span *out, const struct declared *d, const struct declared_clock *a,
		   const struct declared_clock *b, __int128 tsc)
{
	double ticks = (double)b->tsc - (double)a->tsc, at = (double)(tsc - a->tsc);
	uint64_t va, vb;
	double rate, ns, wrong;

	if (!readings_value(&d->trace->clock, a, &va) ||
	    !readings_value(&d->trace->clock, b, &vb) || ticks <= 0 || vb <= va)
		return false;
	rate = (double)(vb - va) / ticks;
	ns = at * rate;
	wrong = SLACK_NS + rate * (double)(a->width > b->width ? a->width : b->width);
	if (at < 0 || at > ticks) {
		double beyond = rate * (at < 0 ? -at : at - ticks);

		if (beyond > (double)BEYOND_NS)
			return false;
		wrong += beyond * (RUN_OFF_PPM + 2 * wrong / (ticks * rate) * 1e6) * 1e-6;
	}
	*out = (struct span){va + (__int128)floor(ns - wrong), va + (__int128)ceil(ns + wrong)};
	return true;
}

/* The readings around @tsc, else the two nearest to it. */
static bool clock_at(struct span *out, const struct declared *d, __int128 tsc)
{
	size_t nr = d->clocks.nr, k = 0;

	if (nr < 2)
		return false;
	while (k + 2 < nr && (__int128)d->clocks.list[k + 1].tsc < tsc)
		k++;
	return by_two(out, d, &d->clocks.list[k], &d->clocks.list[k + 1], tsc);
}

/* The trace's own clock at a moment of the machine's counter that is known within [low, high]. */
static bool trace_clock_at(struct span *out, const struct declared *d, __int128 low, __int128 high)
{
	struct span first, last;

	if (d->trace->clock.kind == CLOCK_TSC) {
		*out = (struct span){low, high};
		return true;
	}
	if (!clock_at(&first, d, low) || !clock_at(&last, d, high))
		return false;
	*out = (struct span){first.low, last.high};
	return true;
}

static int constrain(struct constraints *out, struct span x, struct span y)
{
	int ret;

	if (x.low < 0 || y.low < 0 || x.high > INT64_MAX || y.high > INT64_MAX)
		return 0;
	ret = constraints_add(out, (uint64_t)x.low, (uint64_t)y.high, true);
	return ret ? ret : constraints_add(out, (uint64_t)x.high, (uint64_t)y.low, false);
}

static int by_guest(struct constraints *out, const struct declared *guest,
		    const struct declared *host, const struct tsc_relation *r)
{
	int ret = 0;

	for (size_t i = 0; i < guest->clocks.nr && ret == 0; i++) {
		const struct declared_clock *c = &guest->clocks.list[i];
		struct span y;
		uint64_t v;

		if (c->width > c->tsc || !readings_value(&guest->trace->clock, c, &v) ||
		    !trace_clock_at(&y, host, exact_to_host(r, c->tsc - c->width),
				    exact_to_host(r, c->tsc + c->width) + 1))
			continue;
		ret = constrain(out, (struct span){v, v}, y);
	}
	return ret;
}

static int by_host(struct constraints *out, const struct declared *guest,
		   const struct declared *host, const struct tsc_relation *r)
{
	int ret = 0;

	for (size_t i = 0; i < host->clocks.nr && ret == 0; i++) {
		const struct declared_clock *c = &host->clocks.list[i];
		struct span x;
		uint64_t v;

		if (c->width > c->tsc || !readings_value(&host->trace->clock, c, &v) ||
		    !trace_clock_at(&x, guest, exact_to_guest(r, c->tsc - c->width),
				    exact_to_guest(r, c->tsc + c->width)))
			continue;
		ret = constrain(out, x, (struct span){v, v});
	}
	return ret;
}

int readings_constraints(struct constraints *out, const struct declared *guest,
			 const struct declared *host, const struct tsc_relation *r)
{
	int ret = by_guest(out, guest, host, r);

	return ret ? ret : by_host(out, guest, host, r);
}
