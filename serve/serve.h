/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/error.h"

/*
 * Shows runs to browsers of this machine: the page that is built into the program, and the answers
 * it asks for (docs/serve.md); and to other people's viewers (serve/tsp/tsp.h).
 * serve/workers/guard.h says who is answered.
 *
 *	struct server *s;
 *	if (server_start(&s, &options, &err))
 *		...
 *	server_url(s);
 *	server_stop(s);
 *
 * One thread talks HTTP and never waits for the history; workers, each with a reader of its own,
 * answer.  Everything is bounded: connections, the bytes of a request and the time until it is
 * there, requests that wait.
 */
struct server;

struct server_options {
	struct sonde_history *const *histories; /* each stays open until server_stop() */
	unsigned nr_histories;
	unsigned port;		    /* 0 = any that is free */
	bool cache;		    /* keep what took long for the next start: serve/api/cache.h */
	bool tsp;		    /* the Trace Server Protocol without the key, too */
	const char *const *origins; /* that may use it, guard_origin_valid(); in place likewise */
	unsigned nr_origins;
};

/* Listens on 127.0.0.1 only.  0, or a negative errno and a sentence. */
int server_start(struct server **out, const struct server_options *options, struct error *err);

/* Where the page of a history is, the key that lets in included; behind the first one's is, at
 * "tsp/api", the Trace Server Protocol of all.  Lives as long as the server. */
const char *server_url(const struct server *s, unsigned run);

/* Where it is without the key; NULL when it is not. */
const char *server_tsp_url(const struct server *s);

/* Ends what is being answered, and frees everything. */
void server_stop(struct server *s);

#endif
