/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_H
#define RECORD_AGENT_AGENT_H

#include "record/remote/remote_targets.h"

/*
 * The agent: records the machine it runs in when a recorder on its host asks, and sends the
 * recording as it is made.  One recorder at a time; others are told so.  A recorder that dies, or
 * is silent for timeout_ms, ends the recording; the agent then waits for the next.
 */
#define AGENT_SILENCE_MS 60000

struct agent_options {
	bool vsock;	       /* listen on vsock_port */
	unsigned vsock_port;   /* 0: LINK_VSOCK_PORT */
	const char *port_path; /* virtio port; NULL: none */
	const char *tcp;       /* [ADDRESS:]PORT; NULL: none */
	bool wait_for_devices; /* vsock and the port may appear later (a guest that boots) */
	const struct wire_token *token;	     /* NULL: none; needed for tcp */
	const struct remote_targets *guests; /* beside those that are found; NULL: none */
	bool module; /* records what the kernel module sonde_guest writes, whatever is asked for */
	bool once;   /* end after one recording */
	unsigned timeout_ms; /* 0: AGENT_SILENCE_MS */
	const char *version;
	int stop_fd;				   /* readable: end, after what is being recorded */
	void (*say)(void *data, const char *text); /* what happens, for a log */
	void *data;
};

/* Serves until it is told to end; 0 then. */
int agent_run(const struct agent_options *opt, struct error *err);

#endif
