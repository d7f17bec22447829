/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_RUN_H
#define LIBSONDE_INPUTS_INPUTS_RUN_H

#include "libsonde/inputs/inputs.h"
#include "sonde/history.h"

/*
 * The traces that a history was made of, opened again.  Which machine each is of, and how its clock
 * relates to L0's, is in the history (tables "machine" and "tick"): nothing is looked for, so this
 * takes as long as it takes to open files.
 *
 * What guests sent by hypercall is inside of their hosts' traces, and stays there: machines whose
 * trace was no file are not among the topology's.
 */

/* 0; -ENOENT: a trace is not where it was; -ENODATA: the history does not have the clocks;
 * -ESTALE: another trace stands there now; or
 * another negative errno. */
int inputs_open_run(struct inputs *in, const struct sonde_history *history, struct error *err);

/* A machine's clock as the history has it, without pieces when it has none: the caller's to
 * release.  -ENOMEM. */
int clock_of_run(struct clock_model *out, const struct sonde_history *history, int64_t machine);

#endif
