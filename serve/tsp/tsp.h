/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_H
#define SERVE_TSP_TSP_H

#include "serve/workers/queue.h"

/*
 * The Trace Server Protocol, version 0.6: what the trace viewers of VS Code and Theia, and any
 * program that uses tsp-typescript-client, ask of a server.  https://github.com/eclipse-cdt-cloud/
 * trace-server-protocol has its description, docs/serve.md what is told of a history.
 *
 *	tsp_open(&tsp, paths, nr, &err);
 *	ret = tsp_route(&route, "POST", "experiments/4f…/outputs/timeGraph/fused/states");
 *	...in a worker: tsp_answer(tsp, &route, body, len, &request, readers, &reply);
 *	tsp_close(tsp);
 *
 * A *trace* of the protocol is a history.  An *experiment* is one or more of them side by side: at
 * the start there is one for each history, and one of all histories if there are several.  Viewers
 * may close and open runs and make other experiments of them; nothing of that touches a file, and
 * no path of a request reaches the file system: a history is opened by the very path the server was
 * given.
 *
 * Times are ns of Unix time if all runs of an experiment know it, else of the histories' own
 * clocks.
 */
struct tsp;

#define TSP_BODY_MAX (256 * 1024) /* bytes of a question's body */
#define TSP_ID_MAX 64		  /* of an experiment or an output in a path */
#define TSP_HISTORIES_MAX 16	  /* that one server shows */

struct tsp_route_row;

/* Which call a path is, and of what. */
struct tsp_route {
	const struct tsp_route_row *row;
	char trace[TSP_ID_MAX]; /* or experiment */
	char output[TSP_ID_MAX];
};

/* @paths stay in place until tsp_close().  -EINVAL: more than TSP_HISTORIES_MAX. */
int tsp_open(struct tsp **out, const char *const *paths, unsigned nr, struct error *err);

/* When no worker uses it any more. */
void tsp_close(struct tsp *tsp);

/* @path is what follows "tsp/api/".  0, -ENOENT: no such call, -EOPNOTSUPP: not by that method. */
int tsp_route(struct tsp_route *out, const char *method, const char *path);

/* Where its question waits. */
enum line tsp_route_line(const struct tsp_route *route, const char *body, size_t body_bytes);

/* Answers into @reply whatever happens.  @request: the parameters of the URL. */
void tsp_answer(struct tsp *tsp, const struct tsp_route *route, const char *body, size_t body_bytes,
		const struct request *request, const struct readers *readers, struct reply *reply);

/* Says in the protocol's way what is wrong: {"title", "detail"}. */
void tsp_fail(struct reply *reply, unsigned status, const char *text);

#endif
