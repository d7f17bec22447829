/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include "base/types.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Whether the caller of long work wants it to end early.  He is asked only in his own thread; other
 * threads see what he answered there.
 *
 *	struct stop stop;
 *	stop_init(&stop, ask, data);
 *	while (more to do && !stop_asked(&stop))
 *		do it;
 *
 * Work that was stopped returns -EINTR.
 */
struct stop {
	bool (*go_on)(double done, void *data); /* false: stop; NULL: nobody asks */
	void *data;
	double done; /* share of the work, 0..1 */
	pthread_t thread;
	atomic_bool stopped;
};

static inline void stop_init(struct stop *s, bool (*go_on)(double done, void *data), void *data)
{
	*s = (struct stop){.go_on = go_on, .data = data, .thread = pthread_self()};
}

/* @s may be NULL: never. */
static inline bool stop_asked(struct stop *s)
{
	if (!s || !s->go_on)
		return false;
	if (atomic_load_explicit(&s->stopped, memory_order_relaxed))
		return true;
	if (!pthread_equal(pthread_self(), s->thread) || s->go_on(s->done, s->data))
		return false;
	atomic_store(&s->stopped, true);
	return true;
}

#endif
