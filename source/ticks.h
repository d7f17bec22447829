/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_TICKS_H
#define SOURCE_TICKS_H

#include "source/trace.h"

/* Ticks in a microsecond, good enough for thresholds: cycle counters run at 2 to 4 GHz. */
double ticks_per_us(const struct trace *t);

/* A time in ticks, as good as that: who compares with it decides as all others do. */
uint64_t ticks_in(const struct trace *t, ns_t ns);

/* The clock has a rate that is known without looking at other clocks. */
bool ticks_have_rate(const struct trace *t);

#endif
