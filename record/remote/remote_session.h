/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_REMOTE_SESSION_H
#define RECORD_REMOTE_REMOTE_SESSION_H

#include "record/base/cpus.h"
#include "record/remote/remote.h"

/*
 * The recorder's side of the protocol with one agent, without the link: it is fed the bytes that
 * came, and leaves those that are to be sent in @out.  It knows no time; remote.c has the clock
 * and the descriptors.
 */
enum session_state {
	SESSION_UNLINKED,
	SESSION_CONNECTING,
	SESSION_CALLING, /* the greeting is sent */
	SESSION_PROVING, /* AUTH is sent, HELLO is to come */
	SESSION_READY,
	SESSION_STARTING, /* START is sent, STARTED is to come */
	SESSION_RECORDING,
	SESSION_STOPPING, /* STOP is sent, DONE is to come */
	SESSION_OVER,
};

struct session_machine {
	struct remote_machine m;
	uint64_t got_bytes;
	bool full; /* nothing more is written but tails */
	unsigned nr_notices;
	uint64_t cpus_seen[CPUS_MAX / 64]; /* bits: something came of that CPU */
};

#define SESSION_OUT_BYTES (2 * (WIRE_HEADER_BYTES + WIRE_CONTROL_MAX))

struct remote_session {
	const struct remote_options *opt;
	const struct remote_target *target;
	enum session_state state;
	struct wire_greeting greeting;
	struct wire_parser parser;
	struct session_machine *machines[WIRE_MACHINES_MAX]; /* owned; 0: the target itself */
	unsigned nr_machines;
	uint64_t got_bytes;    /* of all machines */
	uint64_t excess_bytes; /* beyond the limits, of all machines */
	unsigned nr_files;     /* that are open for it: CPUs and names, of all machines */
	uint64_t nr_pings;
	bool pong_missing;
	struct wire_life life; /* the last PONG */
	unsigned out_bytes;
	uint8_t out[SESSION_OUT_BYTES];
};

/* -ENOMEM. */
int session_init(struct remote_session *s, const struct remote_options *opt,
		 const struct remote_target *target, const char *name, struct error *err);
void session_release(struct remote_session *s);

/* The link is there: calls. */
int session_call(struct remote_session *s, struct error *err);

/* The same call once more: links that may lose the first one. */
void session_call_again(struct remote_session *s);

/* An error: the link is to be closed, and session_end() to be called. */
int session_feed(struct remote_session *s, const uint8_t *bytes, size_t len_bytes,
		 struct error *err);

/* READY -> STARTING; opens the machine's sink first. */
int session_start(struct remote_session *s, struct error *err);

/* RECORDING or STARTING -> STOPPING. */
void session_stop(struct remote_session *s, unsigned stop_ms);

void session_note(struct remote_session *s, const char *cause);

/* Asks for a sign of life, unless one is still missing. */
void session_ping(struct remote_session *s);

/* Nothing more will come: machines that are not over are, for this reason. */
void session_end(struct remote_session *s, const char *why);

#endif
