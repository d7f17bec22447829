/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/html.h"

#include "serve/api/api.h"
#include "report/buckets.h"
#include "serve/api/page.h"
#include "sonde/tables.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_CARRIED 24
#define PATH_STEPS_CARRIED 500

struct html {
	FILE *out;
	struct sonde_history *history;
	int64_t begin, end;
	struct error *err;
	struct request *request; /* owned */
	struct kept kept;	 /* owned */
	bool any;		 /* an answer stands before */
};

static void add_int(struct request *r, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	request_add(r, name, text);
}

/* "key": answer.  The request has been filled but for the name. */
static int add_answer(struct html *h, const char *name, const char *key)
{
	struct reply reply = {0};
	int ret = 0;

	request_name(h->request, name);
	endpoint_answer_part(endpoint_find(name), h->history, &h->kept,
			     sonde_history_path(h->history), h->begin, h->end, h->request, &reply);
	if (reply.status != 200) {
		ret = fail(h->err, -EINVAL, "%s: %.*s", key, (int)reply.len_bytes,
			   reply.body ? reply.body : "");
	} else {
		fprintf(h->out, "%s\"%s\":", h->any ? ",\n" : "", key);
		write_script_json(h->out, reply.body, reply.len_bytes);
		h->any = true;
	}
	reply_release(&reply);
	*h->request = (struct request){0};
	return ret;
}

static int add_table(struct html *h, const char *name, int64_t nr)
{
	int ret = 0;

	for (int64_t first = 0; first < nr && !ret; first += CHUNK_MAX) {
		char key[40];

		add_int(h->request, "first", first);
		add_int(h->request, "nr", CHUNK_MAX);
		snprintf(key, sizeof(key), "%s %" PRId64, name, first);
		ret = add_answer(h, name, key);
	}
	return ret;
}

static int add_table_rows(struct html *h)
{
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);
	int ret = 0;

	for (unsigned i = 0; i < nr && !ret; i++) {
		char key[80];

		request_add(h->request, "name", list[i]->name);
		add_int(h->request, "begin", 0);
		add_int(h->request, "end", h->end - h->begin);
		add_int(h->request, "max", 500);
		snprintf(key, sizeof(key), "table %s", list[i]->name);
		ret = add_answer(h, "table", key);
	}
	return ret;
}

static int add_changes(struct html *h, uint32_t attr)
{
	char text[16], key[32];

	if (attr == SONDE_NO_ATTR)
		return 0;
	snprintf(text, sizeof(text), "%u", attr);
	snprintf(key, sizeof(key), "changes %u", attr);
	request_add(h->request, "attrs", text);
	add_int(h->request, "begin", 0);
	add_int(h->request, "end", h->end - h->begin);
	return add_answer(h, "changes", key);
}

static int add_rows(struct html *h)
{
	static const char *const names[] = {"runs", "state", "task"};
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_cpus(h->history) && !ret; row++) {
		for (unsigned i = 0; i < 3 && !ret; i++)
			ret = add_changes(h, sonde_attr_of_cpu(h->history, row, names[i]));
	}
	for (int64_t row = 0; row < sonde_nr_threads(h->history) && !ret; row++)
		ret = add_changes(h, sonde_attr_of_thread(h->history, row, "state"));
	return ret;
}

static int add_load(struct html *h)
{
	add_int(h->request, "begin", 0);
	add_int(h->request, "end", h->end - h->begin);
	add_int(h->request, "nr", 400);
	return add_answer(h, "load", "load");
}

/* "0,1,2 ..." of rows first .. first + nr - 1; as many as fit. */
static void list_rows(char *text, size_t room, int64_t first, int64_t nr)
{
	size_t len = 0;

	*text = '\0';
	for (int64_t row = first; row < first + nr && len + 24 < room; row++)
		len += (size_t)snprintf(text + len, room - len, "%s%" PRId64,
					row > first ? "," : "", row);
}

/* Between all rows, in parts of as many as one question may have. */
static int add_arrows(struct html *h)
{
	int64_t nr_threads = sonde_nr_threads(h->history), nr_cpus = sonde_nr_cpus(h->history);
	int64_t nr = nr_threads > nr_cpus ? nr_threads : nr_cpus;
	int ret = 0;

	for (int64_t first = 0; first < nr && !ret; first += ARROW_ROWS_MAX) {
		char text[ARROW_ROWS_MAX * 12], key[40];
		int64_t threads = nr_threads - first, cpus = nr_cpus - first;

		add_int(h->request, "begin", 0);
		add_int(h->request, "end", h->end - h->begin);
		add_int(h->request, "max", ARROWS_MAX);
		list_rows(text, sizeof(text), first,
			  threads < ARROW_ROWS_MAX ? threads : ARROW_ROWS_MAX);
		request_add(h->request, "threads", text);
		list_rows(text, sizeof(text), first, cpus < ARROW_ROWS_MAX ? cpus : ARROW_ROWS_MAX);
		request_add(h->request, "cpus", text);
		snprintf(key, sizeof(key), "arrows %" PRId64, first);
		ret = add_answer(h, "arrows", key);
	}
	return ret;
}

static int add_exits(struct html *h)
{
	add_int(h->request, "begin", 0);
	add_int(h->request, "end", h->end - h->begin);
	add_int(h->request, "nr", BUCKETS_MAX);
	return add_answer(h, "exits", "exits");
}

/* The critical paths of those that used the CPU most. */
static int add_paths(struct html *h)
{
	struct sonde_error why = {0};
	struct sonde_rows *f;
	int column, ret = sonde_rows_get(&f, h->history, "thread_time", h->begin, h->end, &why);

	if (ret)
		return fail(h->err, ret, "%s", why.text);
	column = sonde_rows_column(f, "thread");
	for (size_t row = 0; column >= 0 && row < sonde_rows_nr(f) && row < PATHS_CARRIED; row++) {
		int64_t thread = sonde_rows_cell(f, row, (unsigned)column).i;
		char key[40];

		if (thread < 0)
			continue;
		add_int(h->request, "thread", thread);
		add_int(h->request, "begin", 0);
		add_int(h->request, "end", h->end - h->begin);
		add_int(h->request, "max", PATH_STEPS_CARRIED);
		snprintf(key, sizeof(key), "path %" PRId64, thread);
		ret = add_answer(h, "path", key);
		if (ret)
			break;
	}
	sonde_rows_free(f);
	return ret;
}

/* Without its traces a report has no events; all else it has from the history. */
static void add_events(struct html *h)
{
	struct error *err = h->err, ignored = {0};

	add_int(h->request, "t", (h->end - h->begin) / 2);
	add_int(h->request, "nr", EVENTS_MAX);
	add_int(h->request, "from", 0);
	add_int(h->request, "to", h->end - h->begin);
	h->err = &ignored;
	add_answer(h, "events", "events");
	h->err = err;
}

static int write_answers(struct html *h)
{
	int ret = add_answer(h, "model", "model");

	if (!ret)
		ret = add_table(h, "contexts", sonde_nr_contexts(h->history));
	if (!ret)
		ret = add_table(h, "threads", sonde_nr_threads(h->history));
	if (!ret)
		ret = add_load(h);
	if (!ret)
		ret = add_rows(h);
	if (!ret)
		ret = add_arrows(h);
	if (!ret)
		ret = add_exits(h);
	if (!ret)
		ret = add_table_rows(h);
	if (!ret)
		ret = add_paths(h);
	if (!ret)
		add_events(h);
	return ret;
}

int html_write(FILE *out, struct sonde_history *history, int64_t begin, int64_t end,
	       struct error *err)
{
	struct html h = {.out = out, .history = history, .begin = begin, .end = end, .err = err};
	int ret;

	if (!page_is_built())
		return fail(err, -ENOTSUP,
			    "this sonde was built without its page (npm was missing)");
	h.request = calloc(1, sizeof(*h.request));
	if (!h.request)
		return fail(err, -ENOMEM, "out of memory");
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
	      "<title>Sonde</title>\n",
	      out);
	page_write_style(out);
	fputs("<script type=\"application/json\" id=\"sonde-answers\">{\n", out);
	ret = write_answers(&h);
	fputs("}</script>\n", out);
	page_write_script(out);
	fputs("</head><body></body></html>\n", out);
	kept_release(&h.kept);
	free(h.request);
	return ret;
}
