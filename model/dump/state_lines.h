/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_DUMP_STATE_LINES_H
#define MODEL_DUMP_STATE_LINES_H

#include "model/state/state.h"

/*
 * What sonde record found there and wrote into the trace as state lines (docs/formats/state.md):
 * threads, PID namespaces, cgroups, VMs with their vCPUs, and /proc/stat.
 *
 * A block takes a while to write, and events happen meanwhile: what they have shown since the block
 * began is fresher.  So a line only fills in what is not known yet, and a thread that has ended
 * since then is not brought back to life.
 */

void state_line_feed(struct machine_state *mc, const struct event *e);
void state_lines_settle(struct model *m); /* at the end, before VMs are grouped */

#endif
