/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_RINGS_H
#define RECORD_AGENT_AGENT_RINGS_H

#include "record/agent/agent_machines.h"
#include "record/guestmem/rings.h"

/*
 * What the guests of an agent's machine keep in memory for their host (rings.h): each becomes a
 * machine of the link when it is found, and what is read goes on to our own recorder as it comes.
 * One thread at a time, but for the sender's and the numbers' other users.
 *
 *	agent_rings_open(&rings, &options, machines, &err);
 *	agent_rings_tick(rings);                some times a second
 *	agent_rings_stop(rings);                reads what is left, and says how it went
 *	agent_rings_close(rings);
 */
struct agent_rings;

/* Of @options limit_bytes and is_asked() are the caller's. */
int agent_rings_open(struct agent_rings **out, const struct rings_options *options,
		     struct agent_machines *machines, struct error *err);
void agent_rings_tick(struct agent_rings *r);
uint64_t agent_rings_events_lost(const struct agent_rings *r);
void agent_rings_stop(struct agent_rings *r);
void agent_rings_close(struct agent_rings *r);

#endif
