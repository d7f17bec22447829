/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/base/file_name.h"
#include "record/remote/remote_names.h"
#include "record/remote/remote_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/*
 * A hostile agent: everything after its greeting is the input, in pieces whose sizes the first byte
 * chooses, through the recorder's side of a session to sinks that check what reaches them.  The
 * second byte says after which piece the recorder asks to start, and when to stop.
 */
#define LIMIT_BYTES 100000
#define LINK_LIMIT_BYTES 150000
#define PIECE_MAX 64

struct world {
	uint64_t written[WIRE_MACHINES_MAX], written_by_all;
	unsigned opened, done;
};

struct checked_sink {
	struct sink sink;
	struct world *world;
	unsigned index;
	bool blocks; /* of a guest's memory: nothing else may come */
};

static int sink_write(struct sink *base, enum sink_part kind, unsigned number, const void *data,
		      size_t len_bytes, struct error *err)
{
	struct checked_sink *s = (struct checked_sink *)base;
	volatile uint8_t sum = 0;

	if (kind >= SINK_KINDS || number > WIRE_NUMBER_MAX || !len_bytes)
		abort();
	if (s->blocks ? kind != SINK_BLOCKS || number : kind == SINK_CALLS)
		abort();
	/* A sanitizer sees it when these are not all there. */
	for (size_t i = 0; i < len_bytes; i++)
		sum = sum ^ ((const uint8_t *)data)[i];
	(void)sum;
	if (kind != SINK_TAIL) {
		s->world->written[s->index] += len_bytes;
		s->world->written_by_all += len_bytes;
	}
	if (s->world->written[s->index] > LIMIT_BYTES ||
	    s->world->written_by_all > LINK_LIMIT_BYTES)
		abort();
	return number == 77 ? fail(err, -ENOSPC, "disk full") : 0;
}

static int sink_file(struct sink *base, unsigned number, const char *name, struct error *err)
{
	(void)base;
	(void)number;
	(void)err;
	if (!file_name_is_fit(name) || strstr(name, "/.") || *name == '.' || *name == '/')
		abort();
	return 0;
}

static int open_sink(void *data, struct remote_machine *m, struct error *err)
{
	static const struct sink_ops ops = {.write = sink_write, .file = sink_file};
	struct world *w = data;
	struct checked_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->sink.ops = &ops;
	s->world = w;
	s->index = w->opened++;
	s->blocks = m->identity.content == WIRE_BLOCKS;
	if (s->blocks && !m->parent)
		abort();
	m->sink = &s->sink;
	return 0;
}

static void check_text(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			abort();
	}
}

static void take_notice(void *data, struct remote_machine *m, const char *text)
{
	(void)data;
	if (m->over)
		abort();
	check_text(text);
}

static void machine_done(void *data, struct remote_machine *m)
{
	struct world *w = data;

	w->done++;
	free(m->sink);
	m->sink = NULL;
	if (m->complete && *m->why)
		abort();
	check_text(m->why);
}

static int greet(struct remote_session *s)
{
	struct wire_greeting g = s->greeting;
	uint8_t answer[WIRE_ANSWER_BYTES];

	wire_put_answer(answer, &g);
	return session_feed(s, answer, sizeof(answer), NULL);
}

static void play(struct remote_session *s, const uint8_t *data, size_t len)
{
	size_t piece = len ? 1 + data[0] % PIECE_MAX : 1;
	unsigned stop_at = len > 1 ? data[1] : 0;
	struct error err = {0};

	for (size_t at = 2, take, turn = 0; at < len; at += take, turn++) {
		/* Bytes one by one until it may start: what follows is for after the start. */
		take = s->state == SESSION_PROVING ? 1 : piece;
		if (take > len - at)
			take = len - at;

		if (s->state == SESSION_READY && session_start(s, &err))
			return;
		if (stop_at && turn == stop_at && s->state >= SESSION_STARTING &&
		    s->state < SESSION_STOPPING)
			session_stop(s, 1000);
		if (session_feed(s, data + at, take, &err) || s->state == SESSION_OVER)
			return;
		session_ping(s);
		s->out_bytes = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const struct remote_ops ops = {open_sink, machine_done, take_notice};
	struct world w = {0};
	const struct remote_options opt = {
		.ops = &ops,
		.data = &w,
		.request = {.limit_bytes = LIMIT_BYTES, .depth = 3, .rings = 1},
		.link_limit_bytes = LINK_LIMIT_BYTES,
	};
	const struct remote_target target = {.name = "fuzz"};
	struct remote_session s;
	unsigned nr;

	if (session_init(&s, &opt, &target, "fuzz", NULL))
		return 0;
	if (!session_call(&s, NULL) && !greet(&s))
		play(&s, data, len_bytes);
	session_end(&s, "the input ended");
	nr = s.nr_machines;
	if (nr > WIRE_MACHINES_MAX || w.done != nr || w.opened > nr)
		abort();
	session_release(&s);
	return 0;
}
