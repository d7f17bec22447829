/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_WORKERS_SEND_H
#define SERVE_WORKERS_SEND_H

#include "serve/workers/guard.h"

#include <microhttpd.h>

/*
 * Answers on their way to libmicrohttpd, with the headers that keep a browser from doing with them
 * what it was not asked to.  @also: the origins whose pages may read the answer, for other viewers;
 * NULL for what belongs to the page.
 */
/* What an answer cost, for the header Server-Timing: browsers show it, and the bench asks them. */
struct send_times {
	int64_t wait_ns, answer_ns; /* in line; with a worker */
	int64_t cpu_ns;		    /* of the worker's */
};

/* @times: NULL when nobody worked on it. */
enum MHD_Result send_bytes(struct MHD_Connection *connection, const struct guard_origins *also,
			   unsigned status, const char *type, const void *data, size_t len,
			   enum MHD_ResponseMemoryMode mode, const struct send_times *times);

/* Says no more than the status: who has no key learns nothing. */
enum MHD_Result refuse(struct MHD_Connection *connection, const struct guard_origins *also,
		       unsigned status);

#endif
