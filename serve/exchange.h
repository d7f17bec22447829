/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

#include "serve/api/api.h"
#include "serve/workers/queue.h"
#include "serve/workers/send.h"
#include "serve/tsp/tsp.h"

#include <microhttpd.h>
#include <stdatomic.h>

/*
 * One request from its headers to the end of its answer: it takes the body, waits in the queue with
 * its connection suspended, as one job or, a picture of many rows, as two, and resumes it when a
 * worker has answered the last of them.
 *
 * Who talks HTTP makes one, zeroed, with .connection, .also and .tsp set, fills in what is asked
 * for, pushes it, and calls exchange_reply() when it is called again and .answered is set.
 */
struct other;

struct exchange {
	struct job job;
	struct other *other; /* owned; NULL: one worker answers it all */
	atomic_uint to_come; /* parts of the answer */
	struct MHD_Connection *connection;
	const struct guard_origins *also; /* of send_bytes() */
	bool asked;			  /* it is, or was, in the queue */
	bool answered;			  /* by a worker; read after the connection was resumed */
	/* Of the page: */
	const struct endpoint *endpoint;
	unsigned run;
	/* Of other viewers: */
	struct tsp *tsp; /* NULL: the page asks */
	struct tsp_route route;
	char *body; /* owned, malloc'ed */
	size_t body_bytes;
};

/* Adds to the body; 0, or the status to refuse with. */
unsigned exchange_take_body(struct exchange *x, const char *data, size_t len);

/* Gives it to the workers of its .job.line; from then on it is theirs until it is answered. */
enum MHD_Result exchange_push(struct exchange *x, struct queue *q);

/* Sends what is in .job.reply. */
enum MHD_Result exchange_reply(struct exchange *x);

/* NULL is none. */
void exchange_free(struct exchange *x);

#endif
