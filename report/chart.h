/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "sonde/tables.h"

#include <stdio.h>

/* Rows as pictures (SVG, no script). */

/* Phases of starts or ends (rows boot, shutdown): a bar each where it was in time, divided into
 * what its time went into. */
void chart_phases(FILE *out, struct sonde_history *history, const struct sonde_rows *phases);

/*
 * Distributions: rows with columns "from", "to" (lengths) and "count", where all columns before
 * them say whose.  A row of columns each, on one logarithmic axis of lengths.
 */
void chart_spread(FILE *out, struct sonde_history *history, const struct sonde_rows *spread);

#endif
