/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_CONN_H
#define RECORD_AGENT_AGENT_CONN_H

#include "record/agent/agent.h"
#include "record/agent/agent_job.h"

/*
 * The agent's end of one link: a recorder that calls, proves itself, and asks for a recording.
 * agent.c has the descriptors of all links; one of them at a time may be the one that records.
 */
enum conn_state {
	CONN_CALLED,   /* the call is to come */
	CONN_PROVING,  /* its proof is to come */
	CONN_ACCEPTED, /* it may ask for a recording */
	CONN_OVER,
};

struct agent_conn {
	const struct agent_options *opt;
	struct agent_conn *const *owner; /* who has the agent now; NULL in it: nobody */
	int fd;
	bool is_port; /* a virtio port: has no begin and no end of its own */
	char who[LINK_TEXT];
	enum conn_state state;
	uint64_t since_ns, heard_ns;
	struct wire_greeting greeting;
	struct wire_parser parser;
	struct wire_sender sender;
	struct agent_job *job;
};

/* Takes @fd over. */
int conn_open(struct agent_conn **out, const struct agent_options *opt,
	      struct agent_conn *const *owner, int fd, bool is_port, const char *who,
	      struct error *err);

/* Reads what came.  An error: it is to be closed, for that reason. */
int conn_read(struct agent_conn *c, struct error *err);

/* -ETIMEDOUT: it has been silent for too long. */
int conn_check_time(const struct agent_conn *c, struct error *err);

/* The recording is done: gets ready for another. */
void conn_job_done(struct agent_conn *c);

/* Ends what is being recorded in order, for that reason; waits until it was sent, and for a while
 * until the recorder has taken it and hung up. */
void conn_end_job(struct agent_conn *c, const char *early);

/* Cuts the link; what is being recorded ends with it.  True: a recording had ended in order, and
 * its recorder hung up before conn_job_done() was called. */
bool conn_close(struct agent_conn *c);

#endif
