/* SPDX-License-Identifier: Apache-2.0 */
/* Which call is meant, and the form of its answer. */
#define _GNU_SOURCE /* memmem() */
#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_call.h"

#include <errno.h>
#include <string.h>

#define JSON "application/json" /* exactly: clients compare */

/* "*" is an id: the first of a trace or an experiment, the second of an output. */
struct tsp_route_row {
	const char *method, *path;
	tsp_answer_fn *answer;
	enum line line;
	bool modelled; /* the answer is a model with a status */
};

#define EXPERIMENT "experiments/*"
#define OUTPUTS EXPERIMENT "/outputs"

/* clang-format off */
static const struct tsp_route_row rows[] = {
	{"GET",    "health",                       tsp_health,            LINE_QUICK,  false},
	{"GET",    "identifier",                   tsp_identifier,        LINE_QUICK,  false},
	{"GET",    "config/types",                 tsp_empty_list,        LINE_QUICK,  false},
	{"GET",    "traces",                       tsp_traces,            LINE_QUICK,  false},
	{"POST",   "traces",                       tsp_open_trace,        LINE_QUICK,  false},
	{"GET",    "traces/*",                     tsp_trace,             LINE_QUICK,  false},
	{"DELETE", "traces/*",                     tsp_close_trace,       LINE_QUICK,  false},
	{"GET",    "experiments",                  tsp_experiments,       LINE_QUICK,  false},
	{"POST",   "experiments",                  tsp_make_experiment,   LINE_QUICK,  false},
	{"GET",    EXPERIMENT,                     tsp_experiment,        LINE_TRACES, false},
	{"DELETE", EXPERIMENT,                     tsp_remove_experiment, LINE_QUICK,  false},
	{"GET",    OUTPUTS,                        tsp_outputs,           LINE_QUICK,  false},
	{"GET",    OUTPUTS "/markerSets",          tsp_marker_sets,       LINE_QUICK,  true},
	{"GET",    OUTPUTS "/*",                   tsp_one_output,        LINE_QUICK,  false},
	{"GET",    OUTPUTS "/*/configTypes",       tsp_empty_list,        LINE_QUICK,  false},
	{"POST",   OUTPUTS "/timeGraph/*/tree",    tsp_tree,              LINE_QUICK,  true},
	{"POST",   OUTPUTS "/timeGraph/*/states",  tsp_states,            LINE_QUICK,  true},
	{"POST",   OUTPUTS "/timeGraph/*/arrows",  tsp_arrows,            LINE_SLOW,   true},
	{"POST",   OUTPUTS "/timeGraph/*/tooltip", tsp_tooltip,           LINE_QUICK,  true},
	{"POST",   OUTPUTS "/*/style",             tsp_styles,            LINE_QUICK,  true},
	{"GET",    OUTPUTS "/*/annotations",       tsp_categories,        LINE_QUICK,  true},
	{"POST",   OUTPUTS "/*/annotations",       tsp_annotations,       LINE_SLOW,   true},
	{"POST",   OUTPUTS "/XY/*/tree",           tsp_xy_tree,           LINE_QUICK,  true},
	{"POST",   OUTPUTS "/XY/*/xy",             tsp_xy,                LINE_SLOW,   true},
	{"POST",   OUTPUTS "/table/*/columns",     tsp_columns,           LINE_QUICK,  true},
	{"POST",   OUTPUTS "/table/*/lines",       tsp_lines,             LINE_SLOW,   true},
	{"POST",   OUTPUTS "/data/*/tree",         tsp_data_tree,         LINE_SLOW,   true},
};
/* clang-format on */

/* ---- which call ---------------------------------------------------------------------------- */

/* Takes a part of @path up to the next "/" into @id; false when it is none. */
static bool take_id(const char **path, char id[static TSP_ID_MAX])
{
	size_t len = strcspn(*path, "/");

	if (!len || len >= TSP_ID_MAX)
		return false;
	memcpy(id, *path, len);
	id[len] = '\0';
	*path += len;
	return true;
}

static bool matches(const char *pattern, const char *path, struct tsp_route *out)
{
	bool second = false;

	while (*pattern) {
		if (*pattern == '*') {
			if (!take_id(&path, second ? out->output : out->trace))
				return false;
			second = true;
			pattern++;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*path;
}

int tsp_route(struct tsp_route *out, const char *method, const char *path)
{
	int ret = -ENOENT;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		*out = (struct tsp_route){.row = &rows[i]};
		if (!matches(rows[i].path, path, out))
			continue;
		if (!strcmp(rows[i].method, method))
			return 0;
		ret = -EOPNOTSUPP;
	}
	*out = (struct tsp_route){0};
	return ret;
}

/* A filter that goes through all states of its rows says so.  The word may stand elsewhere in a
 * body: then the question waits with the slow ones for nothing. */
static bool may_be_deep(const char *body, size_t body_bytes)
{
	return body && memmem(body, body_bytes, "\"DEEP\"", 6);
}

enum line tsp_route_line(const struct tsp_route *route, const char *body, size_t body_bytes)
{
	struct tsp_output output;

	if (route->row->answer == tsp_states && may_be_deep(body, body_bytes))
		return LINE_SLOW;
	if (route->row->answer == tsp_lines && !tsp_find_output(route->output, &output) &&
	    output.kind == TSP_EVENTS)
		return LINE_TRACES;
	return route->row->line;
}

/* ---- its answer ---------------------------------------------------------------------------- */

void tsp_fail(struct reply *reply, unsigned status, const char *text)
{
	struct json j;

	if (reply_begin(reply, JSON)) {
		reply->status = 503;
		return;
	}
	j = (struct json){.out = reply->out, .flat = 1};
	json_begin_object(&j, NULL);
	json_str(&j, "title", text);
	json_str(&j, "detail", text);
	json_end(&j);
	reply_end(reply);
	reply->status = status;
}

static unsigned status_of(int ret)
{
	switch (ret) {
	case -EINVAL:
	case -ENODATA:
	case -ERANGE:
		return 400;
	case -ENOENT:
		return 404;
	case -EEXIST:
		return 409;
	default:
		return 500;
	}
}

/* What the path names. */
static int find_named(struct tsp_call *c, struct error *err)
{
	const char *path = c->route->row->path;
	int ret = 0;

	if (strncmp(path, "experiments/*", strlen("experiments/*")))
		return 0;
	ret = tsp_find_experiment(c->tsp, c->route->trace, &c->experiment);
	if (ret)
		return fail(err, ret, "there is no such experiment");
	ret = tsp_view_init(c, err);
	if (!ret && *c->route->output) {
		ret = tsp_find_output(c->route->output, &c->output);
		if (ret)
			fail(err, ret, "there is no such output");
	}
	return ret;
}

static int write_answer(struct tsp_call *c, struct error *err)
{
	int ret;

	if (!c->route->row->modelled)
		return c->route->row->answer(c, err);
	json_begin_object(&c->json, NULL);
	ret = c->route->row->answer(c, err);
	if (ret)
		return ret;
	json_str(&c->json, "status", c->status);
	json_str(&c->json, "statusMessage", *c->message ? c->message : "Completed");
	json_end(&c->json);
	return 0;
}

void tsp_answer(struct tsp *tsp, const struct tsp_route *route, const char *body, size_t body_bytes,
		const struct request *request, const struct readers *readers, struct reply *reply)
{
	struct tsp_query query = {0};
	struct tsp_call c = {
		.tsp = tsp,
		.readers = readers,
		.route = route,
		.query = &query,
		.request = request,
		.status = "COMPLETED",
	};
	struct error err = {0};
	int ret = reply_begin(reply, JSON);

	if (ret)
		fail(&err, ret, "out of memory");
	c.json = (struct json){.out = reply->out, .flat = 1};
	if (!ret)
		ret = tsp_query_parse(&query, body, body_bytes, &err);
	if (!ret)
		ret = find_named(&c, &err);
	if (!ret)
		ret = write_answer(&c, &err);
	if (ret)
		tsp_fail(reply, status_of(ret), *err.text ? err.text : error_reason(ret));
	else
		reply_end(reply);
	tsp_query_release(&query);
}
