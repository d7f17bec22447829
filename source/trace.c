/* SPDX-License-Identifier: Apache-2.0 */
#include "source/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct trace_ops *const formats[] = {&dat_trace_ops, &ctf_trace_ops};

/* One lock for all traces: problems and losses are rare. */
static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct trace_ops *find_format(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (formats[i]->probe(path))
			return formats[i];
	}
	return NULL;
}

bool trace_probe(const char *path)
{
	return find_format(path) != NULL;
}

int trace_open(struct trace **out, const char *path, struct error *err)
{
	const struct trace_ops *ops = find_format(path);
	struct trace *t;
	int ret;

	*out = NULL;
	if (!ops)
		return fail(err, -EINVAL,
			    "%s is not a trace: neither a trace.dat file nor a directory with a CTF "
			    "\"metadata\" file",
			    path);
	t = calloc(1, sizeof(*t));
	if (!t)
		return fail(err, -ENOMEM, "out of memory opening %s", path);
	t->ops = ops;
	t->path = strdup(path);
	ret = t->path ? ops->open(t, err) : fail(err, -ENOMEM, "out of memory opening %s", path);
	if (ret) {
		trace_release(t);
		return ret;
	}
	*out = t;
	return 0;
}

void trace_release(struct trace *t)
{
	if (!t)
		return;
	t->ops->release(t);
	problems_release(&t->problems);
	free((char *)t->path);
	free(t);
}

void trace_problem(struct trace *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&problem_lock);
	problems_add(&t->problems, "%s", text);
	pthread_mutex_unlock(&problem_lock);
}

void trace_note(struct trace *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&problem_lock);
	problems_note(&t->problems, "%s", text);
	pthread_mutex_unlock(&problem_lock);
}

void trace_loss_add(struct trace *t, const struct trace_loss *more)
{
	pthread_mutex_lock(&problem_lock);
	t->loss.events += more->events;
	t->loss.unknown += more->unknown;
	t->loss.packets += more->packets;
	t->loss.bytes_skipped += more->bytes_skipped;
	pthread_mutex_unlock(&problem_lock);
}

int cursor_init(struct cursor *c, struct stream *s, uint32_t first, uint32_t nr, uint64_t want,
		struct error *err)
{
	memset(c, 0, sizeof(*c));
	c->stream = s;
	c->want = want;
	c->packet = first;
	c->records_left = UINT64_MAX;
	c->packet_end = nr > s->nr_packets - first ? s->nr_packets : first + nr;
	return s->trace->ops->cursor_init(c, err);
}

unsigned cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	return c->stream->trace->ops->cursor_next(c, events, room);
}

void cursor_release(struct cursor *c)
{
	if (c->stream)
		c->stream->trace->ops->cursor_release(c);
	memset(c, 0, sizeof(*c));
}

int trace_event_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out)
{
	return s->trace->ops->event_field(s, e, name, out);
}

size_t trace_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	return s->trace->ops->event_print(s, e, buf, room);
}
