/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "sonde/facts.h"

#include <stdio.h>

/* Facts as pictures (SVG, no script). */

/* Phases of starts or ends (facts boot, shutdown): a bar each where it was in time, divided into
 * what its time went into. */
void chart_phases(FILE *out, struct sonde_run *run, const struct sonde_facts *phases);

/*
 * Distributions: facts with columns "from", "to" (lengths) and "count", where all columns before
 * them say whose.  A row of columns each, on one logarithmic axis of lengths.
 */
void chart_spread(FILE *out, struct sonde_run *run, const struct sonde_facts *spread);

#endif
