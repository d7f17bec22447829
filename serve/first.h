/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_FIRST_H
#define SERVE_FIRST_H

#include "sonde/sonde.h"

/*
 * What a page draws first: the whole run, of as many rows as a screen has.  Browsers ask it together
 * with the page's script (api_index.c), and workers read it ahead (queue.c).
 */
#define FIRST_ATTRS 64

/* Sharp on screens of 1280 to 2560 pixels, whose pictures have 1024 to 2300. */
#define FIRST_PIXELS 2048

/* CPUs, then vCPUs, in the order of the page's rows (web/src/rows.ts); returns how many. */
unsigned first_attrs(const struct sonde_run *run, uint32_t attrs[FIRST_ATTRS]);

#endif
