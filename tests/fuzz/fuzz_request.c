/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what browsers and viewers ask of `sonde serve`, from who they say they are to the
 * answer, on a small history.
 *
 *	POST /tsp/api/experiments/@/outputs/timeGraph/fused/tree     "@": the experiment's id
 *	Host: localhost
 *
 *	{"parameters": {}}
 *
 * Paths of the page are "/api/NAME?PARAMETERS".  Whatever is asked, the answer has a status that
 * says whose fault it is, and is what its type says.
 */
#include "serve/api/api.h"
#include "serve/workers/guard.h"
#include "serve/tsp/tsp.h"
#include "tests/unit/small_history.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define KEY "0123456789abcdef0123456789abcdef"
#define INPUT_MAX 100000

struct world {
	struct sonde_history *history;
	struct kept kept;
	struct tsp *tsp;
	const char *path;
	char experiment[64];
};

static void get_experiment(struct world *w, const struct readers *readers)
{
	struct tsp_route route;
	struct request request = {0};
	struct reply reply = {0};
	json_t *list;

	if (tsp_route(&route, "GET", "experiments"))
		abort();
	tsp_answer(w->tsp, &route, NULL, 0, &request, readers, &reply);
	list = json_loadb(reply.body, reply.len_bytes, 0, NULL);
	snprintf(w->experiment, sizeof(w->experiment), "%s",
		 json_string_value(json_object_get(json_array_get(list, 0), "UUID")));
	json_decref(list);
	reply_release(&reply);
}

static struct readers readers_of(struct world *w)
{
	return (struct readers){.histories = &w->history, .kept = &w->kept, .nr = 1};
}

/* Made anew for each input: what one does to the session is not the next one's. */
static void open_session(struct world *w)
{
	static char path[64];
	struct readers readers;

	if (!w->history) {
		if (small_history_write(path) || sonde_history_open(&w->history, path, NULL) ||
		    unlink(path))
			abort();
		w->path = path;
	}
	if (tsp_open(&w->tsp, &w->path, 1, NULL))
		abort();
	readers = readers_of(w);
	get_experiment(w, &readers);
}

static void check_reply(const struct reply *r)
{
	json_t *body;

	if (r->status < 200 || r->status > 599 || !r->body)
		abort();
	if (strcmp(r->type, "application/json"))
		return;
	body = json_loadb(r->body, r->len_bytes, 0, NULL);
	if (!body)
		abort();
	json_decref(body);
}

static void ask_tsp(struct world *w, const char *method, const char *path, const char *body)
{
	struct readers readers = readers_of(w);
	struct request request = {0};
	struct reply reply = {0};
	struct tsp_route route;
	char whole[512];
	const char *at = strchr(path, '@');

	if (at)
		snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(at - path), path, w->experiment,
			 at + 1);
	else
		snprintf(whole, sizeof(whole), "%s", path);
	if (tsp_route(&route, method, whole))
		return;
	tsp_answer(w->tsp, &route, body, strnlen(body, TSP_BODY_MAX), &request, &readers, &reply);
	check_reply(&reply);
	reply_release(&reply);
}

static void ask_page(struct world *w, char *path)
{
	static struct request request;
	struct reply reply = {0};
	char *query = strchr(path, '?'), *rest = NULL;
	const struct endpoint *e;

	if (query)
		*query++ = '\0';
	e = endpoint_find(path);
	if (!e)
		return;
	request = (struct request){0};
	request_name(&request, path);
	for (char *p = query ? strtok_r(query, "&", &rest) : NULL; p;
	     p = strtok_r(NULL, "&", &rest)) {
		char *value = strchr(p, '=');

		if (value)
			*value++ = '\0';
		request_add(&request, p, value);
	}
	if (request.too_long)
		return;
	endpoint_answer(e, w->history, &w->kept, w->path, &request, &reply);
	check_reply(&reply);
	reply_release(&reply);
}

/* "Name: value" lines; returns what is behind the empty one. */
static char *take_headers(char *text, struct guard_headers *h)
{
	while (*text && *text != '\n') {
		char *end = text + strcspn(text, "\n");
		char *value = strstr(text, ": ");
		char *next = *end ? end + 1 : end;

		*end = '\0';
		if (value && value < end) {
			value += 2;
			if (!strncmp(text, "Host", 4)) {
				h->host = value;
				h->nr_hosts++;
			} else if (!strncmp(text, "Origin", 6)) {
				h->origin = value;
			} else if (!strncmp(text, "Sec-Fetch-Site", 14)) {
				h->fetch_site = value;
			}
		}
		text = next;
	}
	return *text ? text + 1 : text;
}

static void check_guard(const struct guard_headers *h, const char *path)
{
	const char *const list[] = {"http://localhost:3000", "vscode-webview://"};
	const struct guard_origins origins = {list, 2};

	guard_headers(h, NULL);
	/* Nobody is let in who says to be of another machine. */
	if (!guard_headers(h, &origins) && !guard_host(h->host))
		abort();
	if (h->origin && guard_origin_valid(h->origin) && strstr(h->origin, "\n"))
		abort();
	if (guard_path(path, KEY) && strncmp(path + 1, KEY, GUARD_KEY_CHARS))
		abort();
}

static void ask(struct world *w, char *text)
{
	struct guard_headers headers = {0};
	char *method = text, *path, *body;

	path = text + strcspn(text, " \n");
	if (*path != ' ')
		return;
	*path++ = '\0';
	body = path + strcspn(path, "\n");
	if (*body)
		*body++ = '\0';
	body = take_headers(body, &headers);
	check_guard(&headers, path);
	if (!strncmp(path, "/tsp/api/", 9))
		ask_tsp(w, method, path + 9, body);
	else if (!strncmp(path, "/api/", 5))
		ask_page(w, path + 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct world w;
	char *text;

	if (len_bytes > INPUT_MAX)
		return 0;
	/* Exactly as long as it is, so that a byte read too far is seen. */
	text = malloc(len_bytes + 1);
	if (!text)
		return 0;
	memcpy(text, data, len_bytes);
	text[len_bytes] = '\0';
	open_session(&w);
	ask(&w, text);
	tsp_close(w.tsp);
	free(text);
	return 0;
}
