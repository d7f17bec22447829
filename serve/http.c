/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: who asks is checked, the page's files are handed out, questions go to the queue. */
#include "serve/guard.h"
#include "serve/page.h"
#include "serve/queue.h"
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 100
#define CONNECTION_BYTES                                                                           \
	(32 * 1024) /* request line and headers; more is refused with 414 or 431                   \
		     */
#define IDLE_SECONDS 20

/* The page may load what this server sends, and nothing else; nobody may frame it. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct server {
	struct MHD_Daemon *daemon;
	struct queue *queue;
	char key[GUARD_KEY_CHARS + 1];
	char url[128];
};

/* One request from its headers to the end of its answer. */
struct exchange {
	struct job job;
	struct MHD_Connection *connection;
	bool asked;    /* it is, or was, in the queue */
	bool answered; /* by a worker; read after the connection was resumed */
};

/* ---- answers ------------------------------------------------------------------------------- */

static void add_headers(struct MHD_Response *r, const char *type)
{
	static const char *const fixed[][2] = {
		{"Cache-Control", "no-store"},
		{"Content-Security-Policy", POLICY},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		MHD_add_response_header(r, fixed[i][0], fixed[i][1]);
	MHD_add_response_header(r, "Content-Type", type);
}

static enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned status,
				  const char *type, const void *data, size_t len,
				  enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)data, mode);
	enum MHD_Result result;

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free((void *)data);
		return MHD_NO;
	}
	add_headers(r, type);
	if (status == 405)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (status == 413)
		MHD_add_response_header(r, "Connection", "close");
	result = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return result;
}

/* Says no more than the status: who has no key learns nothing. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status)
{
	static const char *const words[] = {"bad request\n", "forbidden\n", "not found\n",
					    "only GET\n",    "too large\n", "busy\n"};
	static const unsigned statuses[] = {400, 403, 404, 405, 413, 503};
	const char *text = "error\n";

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		if (statuses[i] == status)
			text = words[i];
	}
	return send_bytes(connection, status, "text/plain; charset=utf-8", text, strlen(text),
			  MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_reply(struct exchange *x)
{
	struct reply *r = &x->job.reply;
	char *body = r->body;

	if (!body)
		return refuse(x->connection, r->status ? r->status : 503);
	r->body = NULL;
	return send_bytes(x->connection, r->status, r->type, body, r->len_bytes,
			  MHD_RESPMEM_MUST_FREE);
}

/* ---- questions ----------------------------------------------------------------------------- */

static enum MHD_Result take_header(void *data, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct guard_headers *h = data;

	(void)kind;
	value = value ? value : "";
	if (!strcasecmp(name, "Host")) {
		h->host = value;
		h->nr_hosts++;
	} else if (!strcasecmp(name, "Origin")) {
		h->origin = value;
	} else if (!strcasecmp(name, "Sec-Fetch-Site")) {
		h->fetch_site = value;
	} else if (!strcasecmp(name, "Transfer-Encoding")) {
		h->has_body = true;
	} else if (!strcasecmp(name, "Content-Length")) {
		h->has_body |= strcmp(value, "0") != 0;
	}
	return MHD_YES;
}

static enum MHD_Result take_param(void *data, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	(void)kind;
	request_add(data, name, value);
	return MHD_YES;
}

/* Called by a worker. */
static void on_answer(struct job *job)
{
	struct exchange *x = (struct exchange *)job;

	x->answered = true;
	MHD_resume_connection(x->connection);
}

static enum MHD_Result ask(struct server *s, struct exchange *x, const char *name)
{
	int ret;

	x->job.endpoint = endpoint_find(name);
	if (!x->job.endpoint)
		return refuse(x->connection, 404);
	request_name(&x->job.request, name);
	MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_param,
				  &x->job.request);
	if (x->job.request.too_long)
		return refuse(x->connection, 413);
	x->job.done = on_answer;
	x->asked = true;
	/* Suspended first: the answer may be there before queue_push() returns. */
	MHD_suspend_connection(x->connection);
	ret = queue_push(s->queue, &x->job);
	if (ret) {
		reply_fail(&x->job.reply, 503,
			   ret == -ESHUTDOWN ? "the server is ending"
					     : "too many questions at a time");
		on_answer(&x->job);
	}
	return MHD_YES;
}

/* 0, or the status to refuse with. */
static unsigned check(struct MHD_Connection *connection, const char *method)
{
	struct guard_headers headers = {0};
	unsigned status;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &headers);
	status = guard_headers(&headers);
	if (!status && strcmp(method, "GET") && strcmp(method, "HEAD"))
		status = 405;
	return status;
}

static enum MHD_Result answer(struct server *s, struct exchange *x, const char *url)
{
	const char *name = guard_path(url, s->key);
	const struct page_file *file;

	if (!name)
		return refuse(x->connection, 404);
	file = page_find(name);
	if (file)
		return send_bytes(x->connection, 200, file->type, file->data,
				  (size_t)(file->end - file->data), MHD_RESPMEM_PERSISTENT);
	if (strncmp(name, "api/", 4))
		return refuse(x->connection, 404);
	return ask(s, x, name + 4);
}

/*
 * Called once when the headers are there, then again until there is an answer.  One that is given
 * at the first call ends the link, as the request may have a body that is yet to come: that is for
 * those that are refused.
 */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_bytes, void **mine)
{
	struct exchange *x = *mine;
	unsigned status;

	(void)version;
	(void)body;
	if (x && x->asked)
		return x->answered ? send_reply(x) : MHD_NO;
	if (*body_bytes)
		return MHD_NO;
	if (x)
		return answer(data, x, url);
	status = check(connection, method);
	if (status)
		return refuse(connection, status);
	x = calloc(1, sizeof(*x));
	if (!x)
		return refuse(connection, 503);
	*mine = x;
	x->connection = connection;
	return MHD_YES;
}

static void on_completed(void *data, struct MHD_Connection *connection, void **mine,
			 enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *mine;

	(void)data;
	(void)connection;
	(void)how;
	if (!x)
		return;
	reply_release(&x->job.reply);
	free(x);
	*mine = NULL;
}

/* A name with a NUL in it would be taken for a shorter one: it becomes none at all. */
static size_t unescape(void *data, struct MHD_Connection *connection, char *text)
{
	size_t len = MHD_http_unescape(text);

	(void)data;
	(void)connection;
	if (strlen(text) == len)
		return len;
	*text = '\0';
	return 0;
}

/* ---- start and stop ------------------------------------------------------------------------ */

static int start_daemon(struct server *s, unsigned port, struct error *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const union MHD_DaemonInfo *info;

	/* Not epoll: with it, libmicrohttpd 0.9.75 forgets links that ended while as many as are
	 * allowed were open, and takes no new ones until they time out. */
	errno = 0;
	s->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request,
		s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, s, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
	if (!s->daemon) {
		int code = errno ? -errno : -EIO;

		return fail(err, code, "cannot listen on 127.0.0.1 port %u: %s%s", port,
			    strerror(-code),
			    port ? "; without --port any that is free is taken" : "");
	}
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/%s/",
		 info ? (unsigned)info->port : port, s->key);
	return 0;
}

int server_start(struct server **out, const struct server_options *options, struct error *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int ret;

	*out = NULL;
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	ret = guard_make_key(s->key);
	if (ret)
		fail(err, ret, "cannot make a key: no random numbers");
	if (!ret)
		ret = queue_open(&s->queue, options->path, err);
	if (!ret)
		ret = start_daemon(s, options->port, err);
	if (ret) {
		server_stop(s);
		return ret;
	}
	*out = s;
	return 0;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	if (s->daemon) {
		/* No new links; then every suspended one is resumed, which stopping requires.
		 * Open links may still ask until it has stopped: the queue is there until then. */
		int fd = MHD_quiesce_daemon(s->daemon);

		if (fd >= 0)
			close(fd);
	}
	queue_end(s->queue);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	queue_free(s->queue);
	free(s);
}
