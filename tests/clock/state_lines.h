/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLOCK_STATE_LINES_H
#define TESTS_CLOCK_STATE_LINES_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/trace.h"

/*
 * Puts state lines into an opened trace as if it had been recorded with them: one more stream,
 * whose events are the lines of a file, "TICK text", in order.  Each line is a packet of its own.
 */
struct told_line {
	uint64_t tick;
	char *text;
};

struct told_lines {
	struct told_line *list;
	uint32_t nr;
	struct trace_ops ops; /* of the trace, from now on */
	const struct trace_ops *real;
	struct packet *packets;
	struct stream *streams;
	struct event_type *types;
};

static inline struct told_lines *told_of(const struct trace *t)
{
	return (struct told_lines *)((char *)(uintptr_t)t->ops - offsetof(struct told_lines, ops));
}

static inline bool is_told(const struct stream *s)
{
	return s == &s->trace->streams[s->trace->nr_streams - 1];
}

static inline int told_cursor_init(struct cursor *c, struct error *err)
{
	return is_told(c->stream) ? 0 : told_of(c->stream->trace)->real->cursor_init(c, err);
}

static inline unsigned told_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	const struct told_lines *told = told_of(c->stream->trace);
	unsigned n = 0;

	if (!is_told(c->stream))
		return told->real->cursor_next(c, events, room);
	for (; n < room && c->packet < c->packet_end; n++, c->packet++) {
		events[n] = (struct event){
			.kind = EV_STATE_LINE,
			.type = (uint16_t)(c->stream->trace->nr_types - 1),
			.tid = 1,
			.record = (const uint8_t *)told->list[c->packet].text,
			.time = {told->list[c->packet].tick},
		};
	}
	return n;
}

static inline void told_cursor_release(struct cursor *c)
{
	if (!is_told(c->stream))
		told_of(c->stream->trace)->real->cursor_release(c);
}

static inline int told_field(const struct stream *s, const struct event *e, const char *name,
			     struct field_value *out)
{
	if (!is_told(s))
		return told_of(s->trace)->real->event_field(s, e, name, out);
	*out = (struct field_value){.cls = FIELD_STRING, .text = (const char *)e->record};
	out->len = strlen(out->text);
	return 0;
}

static inline void read_told(struct told_lines *told, FILE *f)
{
	char line[1200];

	while (fgets(line, sizeof(line), f)) {
		char *text;
		uint64_t tick = strtoull(line, &text, 10);

		told->list = realloc(told->list, (told->nr + 1) * sizeof(*told->list));
		told->list[told->nr++] = (struct told_line){tick, strdup(text + 1)};
	}
}

/* Never released: the program ends soon. */
static inline int tell_trace(struct trace *t, const char *path)
{
	struct told_lines *told = calloc(1, sizeof(*told));
	FILE *f = fopen(path, "r");

	if (!f || !told)
		return -1;
	read_told(told, f);
	fclose(f);
	told->real = t->ops;
	told->ops = *t->ops;
	told->ops.cursor_init = told_cursor_init;
	told->ops.cursor_next = told_cursor_next;
	told->ops.cursor_release = told_cursor_release;
	told->ops.event_field = told_field;
	told->packets = calloc(told->nr + 1, sizeof(*told->packets));
	told->streams = calloc(t->nr_streams + 1, sizeof(*told->streams));
	told->types = calloc(t->nr_types + 1, sizeof(*told->types));
	for (uint32_t i = 0; i < told->nr; i++)
		told->packets[i] = (struct packet){
			.begin = told->list[i].tick, .end = told->list[i].tick, .len_bytes = 100};
	memcpy(told->streams, t->streams, t->nr_streams * sizeof(*told->streams));
	memcpy(told->types, t->types, t->nr_types * sizeof(*told->types));
	told->types[t->nr_types++] =
		(struct event_type){.name = "line", .kind = EV_STATE_LINE, .syscall = -1};
	told->streams[t->nr_streams++] = (struct stream){.trace = t,
							 .path = path,
							 .buffer = "",
							 .cpu = 0,
							 .packets = told->packets,
							 .nr_packets = told->nr};
	t->streams = told->streams;
	t->types = told->types;
	t->ops = &told->ops;
	return 0;
}

#endif
