/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_ONE_FILE_TRACE_H
#define TESTS_FUZZ_ONE_FILE_TRACE_H

/*
 * For fuzz targets whose input is a trace of one file: all events are decoded, whole and packet by
 * packet, printed, and looked at by field.  Included once.
 */
#include "tests/fuzz/fake_mapfile.h"
#include "events/rows.h"
#include "source/trace.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 20000 /* of one walk */

static const uint8_t *input;
static size_t input_len;

static struct fake_file fake_file_at(const char *path)
{
	(void)path;
	return (struct fake_file){input, input_len};
}

static volatile uint64_t sink;

static void look(const struct stream *s, const struct event *e)
{
	const char *const fields[] = {"type", "comm",	 "next_comm", "filename",
				      "text", "newcomm", "func",      "pid"};
	struct field_value v;
	char text[300];

	trace_event_print(s, e, text, sizeof(text));
	sink += strlen(text);
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!trace_event_field(s, e, fields[i], &v) && v.cls == FIELD_STRING && v.len)
			sink += (uint64_t)v.text[v.len - 1];
	}
	for (unsigned i = 0; i < EVENT_ARGS; i++) {
		if (event_slot_is_text(e->kind, i) && e->arg[i])
			sink += strnlen(event_str(e, i), 16);
	}
}

static void walk(struct stream *s, uint32_t first, uint32_t nr, unsigned room)
{
	struct event events[64];
	unsigned total = 0, n;
	struct cursor c;
	uint64_t last = 0;

	if (cursor_init(&c, s, first, nr, 0, NULL))
		return;
	while (total < EVENTS_MAX && (n = cursor_next(&c, events, room))) {
		for (unsigned i = 0; i < n; i++) {
			if (events[i].time.v < last || events[i].kind >= EV_NR_KINDS ||
			    (events[i].kind != EV_LOST && events[i].type >= s->trace->nr_types))
				abort();
			last = events[i].time.v;
			look(s, &events[i]);
		}
		total += n;
	}
	cursor_release(&c);
}

/* Opens @data as a trace of @ops, which says why when it cannot, and reads all of it. */
static void fuzz_trace(const struct trace_ops *ops, const uint8_t *data, size_t len_bytes)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct error err = {0};

	input = data;
	input_len = len_bytes;
	t->ops = ops;
	if (trace_set_paths(t, (const char *[]){"input"}, 1))
		abort();
	if (t->ops->open(t, &err) && !err.text[0])
		abort();
	for (unsigned i = 0; !err.code && i < t->nr_streams && i < 64; i++) {
		struct stream *s = &t->streams[i];

		walk(s, 0, s->nr_packets, 64);
		for (uint32_t p = 0; p < s->nr_packets && p < 8; p++)
			walk(s, p, 1, 3);
	}
	if (!err.code && trace_lacks_events(t) && !trace_show_lacking(t)) {
		for (unsigned i = 0; i < t->nr_streams && i < 64; i++)
			walk(&t->streams[i], 0, t->streams[i].nr_packets, 64);
	}
	trace_release(t);
}

#endif
