/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_LOST_THREAD_H
#define TESTS_UNIT_LOST_THREAD_H

#include "source/trace.h"

#define LOSSES_MAX 64

/* Of each loss of a stream, who had the CPU: as it says, and as the event before it says. */
struct losses {
	int32_t said[LOSSES_MAX], before[LOSSES_MAX];
	unsigned nr;
};

static inline void losses_read(struct losses *l, struct stream *s, kinds_t want, unsigned room)
{
	struct event events[8];
	int32_t before = -1;
	struct cursor c;
	unsigned n;

	l->nr = 0;
	assert_int_equal(cursor_init(&c, s, 0, s->nr_packets, want, NULL), 0);
	while ((n = cursor_next(&c, events, room))) {
		for (unsigned i = 0; i < n; i++) {
			if (events[i].kind != EV_LOST) {
				before = events[i].tid;
				continue;
			}
			assert_true(l->nr < LOSSES_MAX);
			l->said[l->nr] = events[i].tid;
			l->before[l->nr++] = before;
		}
	}
	cursor_release(&c);
}

/* A loss has the thread of the record before it, also when nobody wants that.  Returns how many
 * losses there are with a thread. */
static inline unsigned losses_have_the_thread_before(struct trace *t)
{
	struct losses all, few;
	unsigned nr = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		losses_read(&all, &t->streams[i], 0, 8);
		losses_read(&few, &t->streams[i], WANT(LOST), 1);
		assert_int_equal(all.nr, few.nr);
		for (unsigned k = 0; k < all.nr; k++) {
			assert_int_equal(all.said[k], all.before[k]);
			assert_int_equal(few.said[k], all.before[k]);
			nr += all.before[k] >= 0;
		}
	}
	return nr;
}

#endif
