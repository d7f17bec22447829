/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/api.h"

#include <errno.h>
#include <string.h>

#define JSON "application/json"
#define HTML "text/html; charset=utf-8"
#define BINARY "application/octet-stream"

/* clang-format off */
static const struct endpoint endpoints[] = {
	{"page",     HTML,   LINE_QUICK,  answer_index},
	{"model",    JSON,   LINE_QUICK,  answer_model},
	{"contexts", JSON,   LINE_QUICK,  answer_contexts},
	{"threads",  JSON,   LINE_QUICK,  answer_threads},
	{"rows",     BINARY, LINE_QUICK,  answer_rows},
	{"at",       JSON,   LINE_QUICK,  answer_at},
	{"step",     JSON,   LINE_QUICK,  answer_step},
	{"time",     JSON,   LINE_QUICK,  answer_time},
	{"changes",  JSON,   LINE_SLOW,   answer_changes},
	{"load",     JSON,   LINE_SLOW,   answer_load},
	{"table",    JSON,   LINE_SLOW,   answer_table},
	{"path",     JSON,   LINE_SLOW,   answer_path},
	{"exits",    JSON,   LINE_SLOW,   answer_exits},
	{"arrows",   JSON,   LINE_SLOW,   answer_arrows},
	{"events",   JSON,   LINE_TRACES, answer_events},
};
/* clang-format on */

const struct endpoint *endpoint_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(endpoints) / sizeof(*endpoints); i++) {
		if (!strcmp(endpoints[i].name, name))
			return &endpoints[i];
	}
	return NULL;
}

bool endpoint_splits(const struct endpoint *e, const struct request *request)
{
	return e->answer == answer_rows && rows_split(request);
}

void endpoint_join(struct reply *even, struct reply *odd)
{
	struct reply whole = {0};
	int ret;

	if (even->status != 200)
		return;
	if (odd->status != 200) {
		whole = *odd;
		*odd = *even;
		*even = whole;
		return;
	}
	ret = reply_begin(&whole, even->type);
	if (!ret)
		ret = rows_join(whole.out, even, odd);
	reply_end(&whole);
	if (ret)
		reply_fail(&whole, 503, "no memory for the answer");
	reply_release(even);
	*even = whole;
}

static unsigned status_of(int ret)
{
	switch (ret) {
	case -EINVAL:
	case -ERANGE:
		return 400;
	case -ENOENT:
		return 404;
	default:
		return 500;
	}
}

void kept_release(struct kept *k)
{
	sonde_events_close(k->events);
	load_release(&k->load);
	*k = (struct kept){0};
}

void endpoint_answer_part(const struct endpoint *e, struct sonde_history *history,
			  struct kept *kept, const char *path, int64_t begin, int64_t end,
			  const struct request *request, struct reply *reply)
{
	struct call c = {
		.history = history,
		.kept = kept,
		.path = path,
		.request = request,
		.reply = reply,
		.begin = begin,
		.length = end - begin,
	};
	struct error err = {0};
	int ret = reply_begin(reply, e->type);

	if (ret)
		fail(&err, ret, "out of memory");
	else
		ret = e->answer(&c, &err);
	if (ret)
		reply_fail(reply, status_of(ret), *err.text ? err.text : error_reason(ret));
	else
		reply_end(reply);
}

void endpoint_answer(const struct endpoint *e, struct sonde_history *history, struct kept *kept,
		     const char *path, const struct request *request, struct reply *reply)
{
	endpoint_answer_part(e, history, kept, path, sonde_history_begin(history),
			     sonde_history_end(history), request, reply);
}
