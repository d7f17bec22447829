/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_BOOT_EARLIER_BOOT_H
#define MODEL_BOOT_EARLIER_BOOT_H

#include "model/state/state.h"

/*
 * A boot that a kernel recorded before any recorder was there, as a recorder said it again
 * (docs/formats/state.md, "booted"): the levels of its initcalls, the initcalls, its first program.
 * The times are of the trace's own clock, mostly before the trace begins, and may be before the run
 * does: in the tables they are what they are.
 */

void booted_line(struct machine_state *mc, const struct state_line *l);

#endif
