/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/error.h"

/*
 * Shows a run to browsers of this machine: the page that is built into the program, and the answers
 * it asks for (docs/serve.md).
 *
 *	struct server *s;
 *	if (server_start(&s, &options, &err))
 *		...
 *	server_url(s);
 *	server_stop(s);
 *
 * One thread talks HTTP and never waits for the history; workers, each with a reader of its own,
 * answer.  Everything is bounded: connections, the bytes of a request, requests that wait.
 */
struct server;

struct server_options {
	const char *path; /* of the history */
	unsigned port;	  /* 0 = any that is free */
};

/* Listens on 127.0.0.1 only.  0, or a negative errno and a sentence. */
int server_start(struct server **out, const struct server_options *options, struct error *err);

/* Where it is, the key that lets in included; lives as long as the server. */
const char *server_url(const struct server *s);

/* Ends what is being answered, and frees everything. */
void server_stop(struct server *s);

#endif
