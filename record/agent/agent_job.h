/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_JOB_H
#define RECORD_AGENT_AGENT_JOB_H

#include "record/remote/remote_targets.h"
#include "record/remote/wire_send.h"

/*
 * One recording of an agent, in a thread of its own: starting and stopping take their time, and
 * signs of life must be answered meanwhile.  It records this machine and, when asked for, relays
 * what its guests' agents send.
 */
struct agent_job;

struct agent_options;

/* Of @opt the token, the guests and the tracer count; it and @sender outlive the job. */
int agent_job_start(struct agent_job **out, const struct wire_request *request,
		    const struct agent_options *opt, struct wire_sender *sender, struct error *err);

/* Readable when the job is done: everything was sent, or could not be. */
int agent_job_done_fd(const struct agent_job *job);

/* Ends the recording; waits for nothing.  @limit_ms: how long guests have for it, 0 unknown.
 * @early: why it ends before it was asked to, or NULL. */
void agent_job_stop(struct agent_job *job, unsigned limit_ms, const char *early);

/* Writes another state block. */
void agent_job_note(struct agent_job *job, const char *cause);

uint64_t agent_job_events_lost(struct agent_job *job);

/* Stops, if need be, waits, and frees.  True: the recorder has been sent all of it. */
bool agent_job_finish(struct agent_job *job);

#endif
