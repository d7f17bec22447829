/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_MACHINES_H
#define RECORD_AGENT_AGENT_MACHINES_H

#include "record/remote/wire_send.h"

/*
 * The machines that an agent speaks of on its link, by number; 0 is its own.  Any thread.
 */
struct agent_machines {
	struct wire_sender *sender; /* the caller's; outlives it */
	pthread_mutex_t lock;
	uint16_t nr; /* numbers in use */
};

void agent_machines_init(struct agent_machines *m, struct wire_sender *sender);
void agent_machines_release(struct agent_machines *m);

/* Tells of one more, under the next number.  -E2BIG: there is none left; what the sender says. */
int agent_machines_add(struct agent_machines *m, const struct wire_identity *id, uint16_t *number,
		       struct error *err);

#endif
