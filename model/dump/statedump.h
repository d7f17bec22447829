/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_DUMP_STATEDUMP_H
#define MODEL_DUMP_STATEDUMP_H

#include "model/state/state.h"

/*
 * LTTng's state dump: the threads that were there when tracing started.
 *
 * Current lttng-modules write one lttng_statedump_process_state per thread and, for each PID
 * namespace it is in, one lttng_statedump_process_pid_ns.  Older ones repeat the first event per
 * namespace and carry vtid, ns_level and ns_inum in it.
 */

void statedump_process(struct machine_state *mc, const struct event *e);
void statedump_pid_ns(struct machine_state *mc, const struct event *e);

#endif
