/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_GATHER_H
#define CLOCK_SAMPLE_GATHER_H

#include "clock/sample/watch.h"

/*
 * What was noted of the streams of one trace becomes its sample: lists in order of time, the span
 * in which all CPUs are known, and what no single stream can tell: when all of them were silent,
 * and whose guest ran in a stay.
 */

/* Moves the notes of @nr watches, the streams of one trace, into @s.  0 or -ENOMEM. */
int sample_gather(struct sample *s, struct watch *watches, unsigned nr);

#endif
