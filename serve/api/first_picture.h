/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_FIRST_PICTURE_H
#define SERVE_API_FIRST_PICTURE_H

#include "sonde/sonde.h"

/*
 * What a page draws first, the whole history with as many rows as a screen has, and what it will
 * draw then.  Browsers ask the first picture together with the page (api_index.c); workers read
 * ahead.
 *
 * A part of a history is checked and, if it is packed, unpacked when it is touched first, which is
 * most of what a picture costs: who looks around in a run of hundreds of MB for the first time
 * would wait for it again and again.
 */
#define FIRST_ATTRS 64

/* Sharp on screens of 1280 to 2560 pixels, whose pictures have 1024 to 2300. */
#define FIRST_PIXELS 2048

/* CPUs, then vCPUs, in the order of the page's rows (web/src/rows.ts); returns how many. */
unsigned first_attrs(const struct sonde_history *history, uint32_t attrs[FIRST_ATTRS]);

/* Touches what the first picture needs. */
void first_read(struct sonde_history *history);

/* What a reader has touched ahead, all zero at first. */
struct ahead {
	unsigned step;
	int64_t cpu_ns;
};

/* Touches a little more of the history, some milliseconds; false: all of it was, or so much that
 * the rest can wait until it is asked for. */
bool ahead_step(struct ahead *a, struct sonde_history *history);

#endif
