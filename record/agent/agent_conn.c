/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_conn.h"
#include "base/now.h"
#include "record/agent/agent_identity.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HELLO_MS 10000 /* from the link to the proof */
#define LEAVE_MS 10000
#define TICK_MS 100
#define READ_BYTES 8192
#define NS_PER_MS 1000000ull

static bool has_token(const struct agent_conn *c)
{
	return c->opt->token;
}

/* ---- frames -------------------------------------------------------------------------------- */

static int take_call(void *data, const struct wire_greeting *g, struct error *err)
{
	struct agent_conn *c = data;
	uint8_t answer[WIRE_ANSWER_BYTES];
	int ret;

	if (c->state != CONN_CALLED) {
		if (!memcmp(g->caller_nonce, c->greeting.caller_nonce, WIRE_NONCE_BYTES))
			return 0; /* it had not had our answer yet */
		return fail(err, -ECONNRESET, "another recorder calls on this line");
	}
	c->greeting = *g;
	/* The newest version that both know; the caller decides whether that will do. */
	c->greeting.version = g->version < WIRE_VERSION ? g->version : WIRE_VERSION;
	c->greeting.flags = has_token(c) ? WIRE_NEEDS_TOKEN : 0;
	ret = wire_nonce(c->greeting.agent_nonce, has_token(c), err);
	if (ret)
		return ret;
	c->state = CONN_PROVING;
	wire_put_answer(answer, &c->greeting);
	return wire_send_bytes(&c->sender, answer, sizeof(answer), err);
}

static int send_hello(struct agent_conn *c, struct error *err)
{
	uint8_t payload[WIRE_CONTROL_MAX];
	struct wire_header h = {.type = WIRE_HELLO};
	struct wire_identity id;

	if (has_token(c)) {
		wire_prove(c->opt->token, WIRE_FROM_AGENT, &c->greeting, payload);
		h.len_bytes = WIRE_PROOF_BYTES;
	}
	agent_identity(&id, c->opt->version);
	if (c->opt->module)
		snprintf(id.tracer, sizeof(id.tracer), "%s", record_tracer_name(RECORD_HYPERTRACE));
	h.len_bytes += (uint32_t)wire_pack(WIRE_IDENTITY, &id, payload + h.len_bytes,
					   sizeof(payload) - h.len_bytes);
	return wire_send(&c->sender, &h, payload, err);
}

static int take_auth(struct agent_conn *c, const struct wire_header *h, const uint8_t *payload,
		     struct error *err)
{
	if (c->state != CONN_PROVING)
		return fail(err, -EPROTO, "it sent a second AUTH");
	if (has_token(c) &&
	    (h->len_bytes != WIRE_PROOF_BYTES ||
	     !wire_proof_is_right(c->opt->token, WIRE_FROM_CALLER, &c->greeting, payload)))
		return fail(err, -EACCES, "wrong token");
	if (*c->owner)
		return fail(err, -EBUSY,
			    "another recorder (%s) is recording here; try again "
			    "when it has ended",
			    (*c->owner)->who);
	c->state = CONN_ACCEPTED;
	return send_hello(c, err);
}

static int take_start(struct agent_conn *c, const struct wire_header *h, const uint8_t *payload,
		      struct error *err)
{
	struct wire_request request;
	int ret = wire_unpack(WIRE_REQUEST, payload, h->len_bytes, &request, err);

	if (ret)
		return ret;
	if (c->job)
		return fail(err, -EBUSY, "it asked for a second recording during the first");
	if (request.depth > WIRE_DEPTH_MAX)
		request.depth = WIRE_DEPTH_MAX;
	return agent_job_start(&c->job, &request, c->opt, &c->sender, err);
}

static int take_stop(struct agent_conn *c, const struct wire_header *h, const uint8_t *payload,
		     struct error *err)
{
	struct wire_limit limit;
	int ret = wire_unpack(WIRE_LIMIT, payload, h->len_bytes, &limit, err);

	if (!ret && c->job)
		agent_job_stop(c->job, limit.stop_ms < 3600000 ? (unsigned)limit.stop_ms : 0, NULL);
	return ret;
}

static int take_note(struct agent_conn *c, const struct wire_header *h, const uint8_t *payload,
		     struct error *err)
{
	struct wire_text text;
	int ret = wire_unpack(WIRE_TEXT, payload, h->len_bytes, &text, err);

	if (!ret && c->job)
		agent_job_note(c->job, text.text);
	return ret;
}

static int take_ping(struct agent_conn *c, const struct wire_header *h, const uint8_t *payload,
		     struct error *err)
{
	struct wire_life life;
	int ret = wire_unpack(WIRE_LIFE, payload, h->len_bytes, &life, err);

	if (ret)
		return ret;
	life.bytes = atomic_load(&c->sender.sent_bytes);
	life.events_lost = c->job ? agent_job_events_lost(c->job) : 0;
	return wire_send_message(&c->sender, WIRE_PONG, 0, WIRE_LIFE, &life, err);
}

static int take_frame(void *data, const struct wire_header *h, const uint8_t *payload,
		      struct error *err)
{
	struct agent_conn *c = data;

	if (h->type == WIRE_AUTH)
		return take_auth(c, h, payload, err);
	if (c->state != CONN_ACCEPTED)
		return fail(err, -EACCES, "it sent a %s before it proved who it is",
			    wire_type_name(h->type));
	switch (h->type) {
	case WIRE_START:
		return take_start(c, h, payload, err);
	case WIRE_STOP:
		return take_stop(c, h, payload, err);
	case WIRE_NOTE:
		return take_note(c, h, payload, err);
	default:
		return take_ping(c, h, payload, err);
	}
}

/* A caller has no data to send: the parser lets no such frame through. */
static int take_part(void *data, const struct wire_header *h, const uint8_t *piece,
		     size_t len_bytes, struct error *err)
{
	(void)data;
	(void)h;
	(void)piece;
	return fail(err, -EPROTO, "it sent %zu bytes of data", len_bytes);
}

/* ---- link ---------------------------------------------------------------------------------- */

int conn_open(struct agent_conn **out, const struct agent_options *opt,
	      struct agent_conn *const *owner, int fd, bool is_port, const char *who,
	      struct error *err)
{
	static const struct wire_handler handler = {take_call, take_frame, take_part};
	struct agent_conn *c = calloc(1, sizeof(*c));
	int ret;

	*out = NULL;
	ret = c ? wire_sender_init(&c->sender, fd, opt->timeout_ms, err)
		: fail(err, -ENOMEM, "out of memory for a link");
	if (ret) {
		close(fd);
		free(c);
		return ret;
	}
	c->opt = opt;
	c->owner = owner;
	c->fd = fd;
	c->is_port = is_port;
	c->since_ns = c->heard_ns = now_ns(CLOCK_MONOTONIC);
	snprintf(c->who, sizeof(c->who), "%s", who);
	wire_parser_init(&c->parser, WIRE_FROM_CALLER, NULL, &handler, c);
	*out = c;
	return 0;
}

int conn_read(struct agent_conn *c, struct error *err)
{
	uint8_t buf[READ_BYTES];
	ssize_t got = read(c->fd, buf, sizeof(buf));
	int ret;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		return fail(err, -EPIPE, "the link was lost: %s", strerror(errno));
	if (!got)
		return fail(err, -EPIPE, "it hung up%s",
			    c->state == CONN_PROVING && has_token(c)
				    ? " when it was asked for the token"
				    : "");
	c->heard_ns = now_ns(CLOCK_MONOTONIC);
	ret = wire_parse(&c->parser, buf, (size_t)got, err);
	/* Who has greeted is told why; what never did gets no answer. */
	if (ret && c->state != CONN_CALLED)
		wire_send_error(&c->sender, err->text);
	return ret;
}

int conn_check_time(const struct agent_conn *c, struct error *err)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (c->state == CONN_ACCEPTED) {
		if (now - c->heard_ns > c->opt->timeout_ms * NS_PER_MS)
			return fail(err, -ETIMEDOUT, "it was silent for %.1f s",
				    (double)(now - c->heard_ns) / 1e9);
		return 0;
	}
	/* On a port nobody has called until somebody calls. */
	if (c->is_port && c->state == CONN_CALLED)
		return 0;
	if (now - c->since_ns > HELLO_MS * NS_PER_MS)
		return fail(err, -ETIMEDOUT, "it did not say who it is");
	return 0;
}

void conn_job_done(struct agent_conn *c)
{
	agent_job_finish(c->job);
	c->job = NULL;
}

/* Until the recorder has hung up, or @LEAVE_MS.  A socket that is closed with signs of life in it
 * that nobody has read takes back what the other side has not read either. */
static void leave(struct agent_conn *c)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + LEAVE_MS * (int64_t)NS_PER_MS;
	struct pollfd fd = {.fd = c->fd, .events = POLLIN};
	uint8_t buf[READ_BYTES];
	ssize_t got = 1;

	if (shutdown(c->fd, SHUT_WR))
		return; /* a port, or nobody is there */
	while (got && now_ns(CLOCK_MONOTONIC) < until) {
		poll(&fd, 1, TICK_MS);
		got = read(c->fd, buf, sizeof(buf));
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

void conn_end_job(struct agent_conn *c, const char *early)
{
	if (!c->job)
		return;
	agent_job_stop(c->job, 0, early);
	conn_job_done(c);
	leave(c);
}

bool conn_close(struct agent_conn *c)
{
	bool done;

	if (!c)
		return false;
	wire_sender_break(&c->sender);
	done = agent_job_finish(c->job);
	wire_sender_release(&c->sender);
	close(c->fd);
	free(c);
	return done;
}
