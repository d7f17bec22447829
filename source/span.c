/* SPDX-License-Identifier: Apache-2.0 */
#include "source/span.h"

#include <errno.h>

int stream_first_tick(struct stream *s, ticks_t *out)
{
	struct event event;
	struct cursor c;
	bool found;
	int ret = cursor_init(&c, s, 0, s->nr_packets, 0, NULL);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	found = cursor_next(&c, &event, 1) == 1;
	if (found)
		*out = event.time;
	cursor_release(&c);
	return found;
}

static int last_tick_of_packet(struct stream *s, uint32_t packet, ticks_t *out)
{
	struct event events[64];
	struct cursor c;
	unsigned nr;
	int found = 0, ret = cursor_init(&c, s, packet, 1, 0, NULL);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		*out = events[nr - 1].time;
		found = 1;
	}
	cursor_release(&c);
	return found;
}

int stream_last_tick(struct stream *s, ticks_t *out)
{
	int ret = 0;

	for (uint32_t p = s->nr_packets; p-- > 0 && !ret;)
		ret = last_tick_of_packet(s, p, out);
	return ret;
}

/* The packets of a stream are in order. */
uint64_t trace_first_begin(const struct trace *t)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];

		if (s->nr_packets && s->packets[0].begin < first)
			first = s->packets[0].begin;
	}
	return first;
}

/* Where only decoding can tell its end, a packet reaches to its begin at least. */
uint64_t trace_last_end(const struct trace *t)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];
		const struct packet *p = s->nr_packets ? &s->packets[s->nr_packets - 1] : NULL;

		if (p && p->begin > last)
			last = p->begin;
		if (p && p->end > last)
			last = p->end;
	}
	return last;
}
