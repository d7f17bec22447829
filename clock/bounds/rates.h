/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_RATES_H
#define CLOCK_BOUNDS_RATES_H

#include "clock/fit/fit.h"
#include "clock/sample/sample.h"

/* Whether the rates' relation is known at all; if not, only pairs can tell it. */
bool rates_known(const struct sample *guest, const struct sample *host, uint64_t tsc_khz);

/*
 * What is known of two clocks' rates before anything is measured: cycle counters of one physical
 * machine run alike, clocks in ns nearly so.  @tsc_khz is L0's, 0 unknown.  @spacing_ns: how far
 * apart the evidence is; a rate must be believed to hold for some such spaces.
 */
struct fit_options rates_options(const struct sample *guest, const struct sample *host,
				 uint64_t tsc_khz, double spacing_ns);

#endif
