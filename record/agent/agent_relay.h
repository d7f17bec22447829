/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_RELAY_H
#define RECORD_AGENT_AGENT_RELAY_H

#include "record/agent/agent_machines.h"
#include "record/remote/remote_targets.h"

/*
 * The guests of an agent's machine: their agents are asked as a recorder asks, and what they send
 * goes on to our own recorder, each machine under a number of this link.
 */
struct agent_relay;

/* Finds this machine's VMs and greets their agents, and those of @told (NULL: none). */
int agent_relay_open(struct agent_relay **out, const struct wire_request *request,
		     const struct wire_token *token, const struct remote_targets *told,
		     struct agent_machines *machines, struct error *err);

void agent_relay_start(struct agent_relay *relay);
void agent_relay_note(struct agent_relay *relay, const char *cause);
uint64_t agent_relay_events_lost(struct agent_relay *relay);

/* A guest's agent is asked by us. */
bool agent_relay_has_agent(struct agent_relay *relay, pid_t vm);

/* Stops the guests, and waits for what they have. */
void agent_relay_stop(struct agent_relay *relay, unsigned limit_ms);
void agent_relay_close(struct agent_relay *relay);

#endif
