/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/inputs_span.h"
#include "lib/inputs.h"

#include <errno.h>

int stream_last_tick(struct stream *s, ticks_t *out)
{
	for (uint32_t p = s->nr_packets; p-- > 0;) {
		struct event events[64];
		struct cursor c;
		bool found = false;
		unsigned nr;
		int ret = cursor_init(&c, s, p, 1, 0, NULL);

		if (ret)
			return ret == -ENOMEM ? ret : 0;
		while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
			*out = events[nr - 1].time;
			found = true;
		}
		cursor_release(&c);
		if (found)
			return 1;
	}
	return 0;
}

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

int inputs_span(const struct inputs *in, ns_t *begin, ns_t *end)
{
	bool any = false;

	for (unsigned i = 0; i < in->nr_streams; i++) {
		const struct merge_input *s = &in->streams[i];
		ticks_t first, last;
		ns_t from, to;
		int ret = stream_first_tick(s->stream, &first);

		if (ret > 0)
			ret = stream_last_tick(s->stream, &last);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		from = clock_to_l0(s->clock, first);
		to = clock_to_l0(s->clock, last) + 1;
		*begin = any && *begin < from ? *begin : from;
		*end = any && *end > to ? *end : to;
		any = true;
	}
	return any ? 0 : -ENODATA;
}
