/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: who asks is checked, and what is asked for found; the page itself is a question, too. */
#include "serve/api/api.h"
#include "serve/api/cache.h"
#include "serve/exchange.h"
#include "serve/workers/guard.h"
#include "serve/slow_links.h"
#include "serve/serve.h"
#include "serve/tsp/tsp.h"

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
#define CONNECTION_BYTES (32 * 1024) /* request line and headers; else 414 or 431 */
#define IDLE_SECONDS 20

struct server {
	struct MHD_Daemon *daemon;
	struct links *links;
	struct queue *queue;
	struct tsp *tsp;
	unsigned nr_histories;
	bool tsp_open; /* without the key */
	struct guard_origins origins;
	char key[GUARD_KEY_CHARS + 1];
	char cache[CACHE_PATH_MAX]; /* "": nothing is kept */
	const char *paths[TSP_HISTORIES_MAX];
	char urls[TSP_HISTORIES_MAX][128];
	char tsp_url[64];
};

#define TSP_PATH "tsp/api/"

/* ---- the page ------------------------------------------------------------------------------ */

/* "2/" in front of a name is the second history's page; without, it is the first one's. */
static const char *take_run(const struct server *s, const char *name, unsigned *run)
{
	char *end;
	unsigned long n;

	*run = 0;
	if (*name < '1' || *name > '9')
		return name;
	n = strtoul(name, &end, 10);
	if (*end != '/' || n > s->nr_histories)
		return NULL;
	*run = (unsigned)n - 1;
	return end + 1;
}

/* @name: what stands behind the key. */
static enum MHD_Result answer_to_page(struct server *s, struct exchange *x, const char *name)
{
	name = take_run(s, name, &x->run);
	if (!name)
		return refuse(x->connection, NULL, 404);
	if (*name)
		x->endpoint = strncmp(name, "api/", 4) ? NULL : endpoint_find(name + 4);
	else
		x->endpoint = endpoint_find("page");
	if (!x->endpoint)
		return refuse(x->connection, NULL, 404);
	request_name(&x->job.request, x->endpoint->name);
	x->job.line = x->endpoint->line;
	return exchange_push(x, s->queue);
}

/* ---- other viewers ------------------------------------------------------------------------- */

/* What stands behind "tsp/api/", NULL when that is not asked for, or not by whom it may be. */
static const char *tsp_name(const struct server *s, const char *url)
{
	const char *name = guard_path(url, s->key);

	if (!name && s->tsp_open && *url == '/')
		name = url + 1;
	return name && !strncmp(name, TSP_PATH, strlen(TSP_PATH)) ? name + strlen(TSP_PATH) : NULL;
}

/* A browser asks whether its page may ask; who has no Origin has no need to. */
static enum MHD_Result answer_preflight(struct server *s, struct MHD_Connection *connection)
{
	return send_bytes(connection, &s->origins, 204, "text/plain", "", 0, MHD_RESPMEM_PERSISTENT,
			  NULL);
}

static enum MHD_Result answer_to_viewer(struct server *s, struct exchange *x, const char *name,
					const char *method)
{
	int ret = tsp_route(&x->route, method, name);

	if (ret) {
		tsp_fail(&x->job.reply, ret == -ENOENT ? 404 : 405,
			 ret == -ENOENT ? "there is no such call" : "not by this method");
		return exchange_reply(x);
	}
	x->job.line = tsp_route_line(&x->route, x->body, x->body_bytes);
	return exchange_push(x, s->queue);
}

/* ---- requests ------------------------------------------------------------------------------ */

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

static bool is_too_large(struct MHD_Connection *connection)
{
	const char *text =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

	return text && strtoull(text, NULL, 10) > TSP_BODY_MAX;
}

/* 0, or the status to refuse with. */
static unsigned check(const struct server *s, struct MHD_Connection *connection, const char *method,
		      bool is_tsp)
{
	struct guard_headers headers = {0};
	unsigned status;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &headers);
	status = guard_headers(&headers, is_tsp ? &s->origins : NULL);
	if (status)
		return status;
	if (is_tsp)
		return is_too_large(connection) ? 413 : 0;
	return strcmp(method, "GET") && strcmp(method, "HEAD") ? 405 : 0;
}

static enum MHD_Result answer(struct server *s, struct exchange *x, const char *url,
			      const char *method)
{
	const char *name = tsp_name(s, url);

	if (name && !strcmp(method, "OPTIONS"))
		return answer_preflight(s, x->connection);
	if (name)
		return answer_to_viewer(s, x, name, method);
	name = guard_path(url, s->key);
	return name ? answer_to_page(s, x, name) : refuse(x->connection, NULL, 404);
}

/*
 * Called once when the headers are there, then for each piece of a body, then again until there is
 * an answer.  One that is given at the first call ends the link, as the request may have a body
 * that is yet to come: that is for those that are refused.
 */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_bytes, void **mine)
{
	struct server *s = data;
	struct exchange *x = *mine;
	bool is_tsp = tsp_name(s, url) != NULL;
	const struct guard_origins *also = is_tsp ? &s->origins : NULL;
	unsigned status;

	(void)version;
	if (x && x->asked)
		return x->answered ? exchange_reply(x) : MHD_NO;
	if (x && *body_bytes) {
		status = exchange_take_body(x, body, *body_bytes);
		*body_bytes = 0;
		return status ? MHD_NO : MHD_YES;
	}
	if (x) {
		link_asks(connection);
		return answer(s, x, url, method);
	}
	status = check(s, connection, method, is_tsp);
	if (status)
		return refuse(connection, status != 403 ? also : NULL, status);
	x = calloc(1, sizeof(*x));
	if (!x)
		return refuse(connection, also, 503);
	*mine = x;
	x->connection = connection;
	x->also = also;
	x->tsp = is_tsp ? s->tsp : NULL;
	return MHD_YES;
}

static void on_completed(void *data, struct MHD_Connection *connection, void **mine,
			 enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *mine;

	(void)data;
	(void)how;
	link_is_idle(connection);
	exchange_free(x);
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

static void name_urls(struct server *s, unsigned port)
{
	for (unsigned i = 0; i < s->nr_histories; i++) {
		int len = snprintf(s->urls[i], sizeof(s->urls[i]), "http://127.0.0.1:%u/%s/", port,
				   s->key);

		if (i)
			snprintf(s->urls[i] + len, sizeof(s->urls[i]) - (size_t)len, "%u/", i + 1);
	}
	snprintf(s->tsp_url, sizeof(s->tsp_url), "http://127.0.0.1:%u/tsp/api", port);
}

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
		on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, links_notify, s->links,
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
	if (!s->daemon) {
		int code = errno ? -errno : -EIO;

		return fail(err, code, "cannot listen on 127.0.0.1 port %u: %s%s", port,
			    strerror(-code),
			    port ? "; without --port any that is free is taken" : "");
	}
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	name_urls(s, info ? (unsigned)info->port : port);
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
	if (!ret && options->nr_histories > TSP_HISTORIES_MAX)
		ret = fail(err, -EINVAL, "more than %d histories at a time", TSP_HISTORIES_MAX);
	for (unsigned i = 0; i < options->nr_histories && !ret; i++)
		s->paths[i] = sonde_history_path(options->histories[i]);
	s->nr_histories = options->nr_histories;
	if (!options->cache || cache_directory(s->cache))
		s->cache[0] = '\0';
	s->tsp_open = options->tsp;
	s->origins = (struct guard_origins){options->origins, options->nr_origins};
	if (!ret)
		ret = tsp_open(&s->tsp, s->paths, s->nr_histories, err);
	if (!ret)
		ret = queue_open(&s->queue, options->histories, s->nr_histories,
				 *s->cache ? s->cache : NULL, err);
	if (!ret)
		ret = links_open(&s->links, err);
	if (!ret)
		ret = start_daemon(s, options->port, err);
	if (ret) {
		server_stop(s);
		return ret;
	}
	*out = s;
	return 0;
}

const char *server_url(const struct server *s, unsigned run)
{
	return s->urls[run];
}

const char *server_tsp_url(const struct server *s)
{
	return s->tsp_open ? s->tsp_url : NULL;
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
	links_close(s->links);
	tsp_close(s->tsp);
	queue_free(s->queue);
	free(s);
}
