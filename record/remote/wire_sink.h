/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_WIRE_SINK_H
#define RECORD_REMOTE_WIRE_SINK_H

#include "record/remote/wire_send.h"

/* A sink at the agent's end of a link: what is written into it arrives in the other end's sink for
 * the same machine.  The sender is the caller's and outlives it. */
struct wire_sink {
	struct sink sink;
	struct wire_sender *sender;
	uint16_t machine;
};

void wire_sink_init(struct wire_sink *s, struct wire_sender *sender, uint16_t machine);

#endif
