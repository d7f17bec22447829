/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent.h"
#include "base/now.h"
#include "record/agent/agent_conn.h"
#include "record/agent/agent_port.h"
#include "record/base/say_limit.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Callers at a time; all but one are soon sent away.  Each kind of link has places of its own: who
 * floods one keeps nobody from the others. */
#define CALLERS_MAX 8
enum place { PLACE_PORT, PLACE_VSOCK, PLACE_TCP = PLACE_VSOCK + CALLERS_MAX };
#define CONNS_MAX (PLACE_TCP + CALLERS_MAX)
#define TICK_MS 1000
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

/* What is polled, in this order. */
enum slot { SLOT_STOP, SLOT_JOB, SLOT_VSOCK, SLOT_TCP, SLOT_PORT, SLOT_CONNS };
#define NR_SLOTS (SLOT_CONNS + CONNS_MAX)

struct agent {
	struct agent_options opt;
	int vsock_fd, tcp_fd; /* -1: not there */
	struct agent_port port;
	struct agent_conn *conns[CONNS_MAX];
	struct agent_conn *owner; /* who has proved itself; the others must wait */
	bool no_calls;		  /* for a moment: there was no room for who called */
	int retry_ms;
	bool told_missing, port_seen;
	unsigned nr_done;	  /* recordings */
	struct say_limit refused; /* lines about callers that were not accepted */
	bool ending;
};

static void say(const struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct agent *a, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (a->opt.say)
		a->opt.say(a->opt.data, text);
}

/* ---- links --------------------------------------------------------------------------------- */

/* Anybody can make us say this. */
static bool may_say_of_callers(struct agent *a)
{
	return may_say(&a->refused, now_ns(CLOCK_MONOTONIC));
}

static void add_conn(struct agent *a, int fd, enum place first, const char *who)
{
	bool is_port = first == PLACE_PORT;
	unsigned end = first + (is_port ? 1 : CALLERS_MAX);
	struct error err = {0};

	for (unsigned i = first; i < end; i++) {
		if (a->conns[i])
			continue;
		if (conn_open(&a->conns[i], &a->opt, &a->owner, fd, is_port, who, &err) &&
		    may_say_of_callers(a))
			say(a, "%s", err.text);
		return;
	}
	/* They are sent away after HELLO_MS at the latest. */
	close(fd);
}

static void close_conn(struct agent *a, struct agent_conn **slot, const char *why)
{
	struct agent_conn *c = *slot;
	bool accepted = c->state == CONN_ACCEPTED, is_port = c->is_port;
	char who[LINK_TEXT];

	memcpy(who, c->who, sizeof(who));
	if (c->job)
		a->nr_done++;
	if (a->owner == c)
		a->owner = NULL;
	*slot = NULL;
	/* Its recorder may hang up before we have noticed that the recording is over. */
	if (conn_close(c))
		say(a, "%s: recording ended", who);
	if (accepted)
		say(a, "%s: %s", who, why);
	else if (!is_port && may_say_of_callers(a))
		say(a, "sent %s away: %s", who, why);
}

static void accept_one(struct agent *a, enum link_kind kind, int listener)
{
	char who[LINK_TEXT];
	struct error err = {0};
	int fd;
	int ret = link_accept(kind, listener, a->opt.token, &fd, who, &err);

	if (!ret)
		add_conn(a, fd, kind == LINK_TCP ? PLACE_TCP : PLACE_VSOCK, who);
	else if (ret != -EAGAIN && may_say_of_callers(a))
		say(a, "%s", err.text);
	/* It would be told again at once, and for ever. */
	a->no_calls = a->no_calls || (ret && ret != -EAGAIN && ret != -EACCES);
}

/* A device that is not there yet is waited for; anything else that is wrong is an error. */
static int opened(struct agent *a, int ret, const char *what, bool *missing, struct error *err)
{
	bool absent = ret == -ENOENT || ret == -ENODEV || ret == -ENXIO || ret == -EAFNOSUPPORT;

	if (!ret && what)
		say(a, "listening on %s", what);
	if (ret && a->opt.wait_for_devices && absent) {
		*missing = true;
		if (!a->told_missing)
			say(a, "%s; waiting for it", err->text);
		return 0;
	}
	return ret;
}

/* Opens what is wanted and not open.  *@missing: something is not there yet. */
static int open_links(struct agent *a, bool *missing, struct error *err)
{
	char what[64];
	int ret = 0;

	*missing = false;
	if (a->opt.vsock && a->vsock_fd < 0) {
		snprintf(what, sizeof(what), "vsock port %u", a->opt.vsock_port);
		ret = opened(a, link_listen_vsock(a->opt.vsock_port, &a->vsock_fd, err), what,
			     missing, err);
	}
	if (!ret && a->opt.tcp && a->tcp_fd < 0) {
		snprintf(what, sizeof(what), "TCP %.50s", a->opt.tcp);
		ret = opened(a, link_listen_tcp(a->opt.tcp, &a->tcp_fd, err), what, missing, err);
	}
	if (!ret && a->opt.port_path && a->port.fd < 0 && !a->conns[PLACE_PORT])
		ret = opened(a, port_open(&a->port, a->opt.port_path, err),
			     a->port_seen ? NULL : a->opt.port_path, missing, err);
	a->port_seen = a->port_seen || a->port.fd >= 0;
	a->told_missing = true;
	return ret;
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void fill_slots(const struct agent *a, struct pollfd fds[static NR_SLOTS])
{
	int job = a->owner && a->owner->job ? agent_job_done_fd(a->owner->job) : -1;

	fds[SLOT_STOP] = (struct pollfd){a->opt.stop_fd, POLLIN, 0};
	fds[SLOT_JOB] = (struct pollfd){job, POLLIN, 0};
	fds[SLOT_VSOCK] = (struct pollfd){a->no_calls ? -1 : a->vsock_fd, POLLIN, 0};
	fds[SLOT_TCP] = (struct pollfd){a->no_calls ? -1 : a->tcp_fd, POLLIN, 0};
	fds[SLOT_PORT] = (struct pollfd){a->port.epoll_fd, POLLIN, 0};
	for (unsigned i = 0; i < CONNS_MAX; i++)
		fds[SLOT_CONNS + i] =
			(struct pollfd){a->conns[i] ? a->conns[i]->fd : -1, POLLIN, 0};
}

static void read_conn(struct agent *a, struct agent_conn **slot)
{
	struct agent_conn *c = *slot;
	struct error err = {0};
	bool known = c->state == CONN_ACCEPTED;

	if (conn_read(c, &err)) {
		close_conn(a, slot, err.text);
		return;
	}
	if (!known && c->state == CONN_ACCEPTED) {
		a->owner = c;
		say(a, "%s: accepted", c->who);
	}
}

static void finish_job(struct agent *a)
{
	conn_job_done(a->owner);
	a->nr_done++;
	say(a, "%s: recording ended", a->owner->who);
}

static void serve_conns(struct agent *a, const struct pollfd *fds)
{
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		struct error err = {0};

		if (a->conns[i] && fds[i].revents)
			read_conn(a, &a->conns[i]);
		if (a->conns[i] && conn_check_time(a->conns[i], &err))
			close_conn(a, &a->conns[i], err.text);
	}
}

static void serve(struct agent *a, const struct pollfd fds[static NR_SLOTS])
{
	int fd;

	a->no_calls = false;
	if (fds[SLOT_STOP].revents)
		a->ending = true;
	if (fds[SLOT_JOB].revents)
		finish_job(a);
	serve_conns(a, fds + SLOT_CONNS);
	/* After those that are there: their places may be free now. */
	if (fds[SLOT_VSOCK].revents)
		accept_one(a, LINK_VSOCK, a->vsock_fd);
	if (fds[SLOT_TCP].revents)
		accept_one(a, LINK_TCP, a->tcp_fd);
	if (fds[SLOT_PORT].revents) {
		fd = port_take(&a->port);
		if (fd >= 0)
			add_conn(a, fd, PLACE_PORT, a->opt.port_path);
	}
	if (a->opt.once && a->nr_done && !a->owner)
		a->ending = true;
}

/* How long nothing may happen before something is due. */
static int next_due_ms(struct agent *a, bool missing)
{
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		if (a->conns[i] && !(a->conns[i]->is_port && a->conns[i]->state == CONN_CALLED))
			return TICK_MS;
	}
	if (a->no_calls)
		return TICK_MS;
	if (!missing)
		return -1;
	a->retry_ms = a->retry_ms * 2 < RETRY_MAX_MS ? a->retry_ms * 2 : RETRY_MAX_MS;
	return a->retry_ms;
}

static int loop(struct agent *a, struct error *err)
{
	struct pollfd fds[NR_SLOTS];

	while (!a->ending) {
		bool missing;
		int ret = open_links(a, &missing, err);

		if (ret)
			return ret;
		fill_slots(a, fds);
		if (poll(fds, NR_SLOTS, next_due_ms(a, missing)) >= 0)
			serve(a, fds);
		else if (errno != EINTR)
			return fail(err, -errno, "poll: %s", strerror(errno));
	}
	return 0;
}

int agent_run(const struct agent_options *opt, struct error *err)
{
	struct agent a = {
		.opt = *opt,
		.vsock_fd = -1,
		.tcp_fd = -1,
		.port = {.fd = -1, .epoll_fd = -1},
		.retry_ms = RETRY_MIN_MS / 2,
	};
	int ret;

	if (!opt->vsock && !opt->tcp && !opt->port_path)
		return fail(err, -EINVAL, "no link to listen on");
	if (opt->tcp && !opt->token)
		return fail(err, -EINVAL, "anybody can call by TCP: give a --token-file");
	if (!a.opt.vsock_port)
		a.opt.vsock_port = LINK_VSOCK_PORT;
	if (!a.opt.timeout_ms)
		a.opt.timeout_ms = AGENT_SILENCE_MS;
	ret = loop(&a, err);
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		if (!a.conns[i])
			continue;
		conn_end_job(a.conns[i], "its agent was asked to end");
		close_conn(&a, &a.conns[i], "the agent ends");
	}
	port_close(&a.port);
	if (a.vsock_fd >= 0)
		close(a.vsock_fd);
	if (a.tcp_fd >= 0)
		close(a.tcp_fd);
	return ret;
}
