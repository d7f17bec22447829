/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_SEAM_H
#define SOURCE_SEAM_H

#include "events/event.h"

/*
 * Holes that no tracer tells of.  In a CPU's stream each event is recorded by the thread that the
 * switch before went to.  Where one is not, events between the two are missing, whoever lost them:
 * packets or pages that are not there and leave no trace in a counter, or switches that the kernel
 * did not record.  Nothing is known from the last event on that fits.  A loss has the thread of the
 * record before it, of whatever kind: where that is another, as much is unknown in front of it.
 *
 *	struct seam s = SEAM_INIT;
 *	for each event of the stream, in order:
 *		if (seam_breaks(&s, e, &from))
 *			nothing is known from @from up to e->time, or the end of the loss that it is
 *
 * Only streams that hold context switches can tell.
 */
struct seam {
	int64_t running; /* TID; -1 unknown */
	int64_t leaving; /* the kernel's last steps of a switch are still this one's; -1 done */
	ticks_t last;	 /* time of the event before */
};

#define SEAM_INIT ((struct seam){.running = -1, .leaving = -1})

static inline bool seam_breaks(struct seam *s, const struct event *e, ticks_t *from)
{
	bool is_switch = e->kind == EV_SCHED_SWITCH;
	int64_t tid = is_switch ? e->arg[0] : e->tid;
	bool breaks = s->running >= 0 && tid >= 0 && tid != s->running;

	*from = s->last;
	s->last = e->time;
	if (is_switch) {
		s->leaving = tid;
		s->running = e->arg[1];
		return breaks;
	}
	if (unlikely(e->kind == EV_LOST)) {
		s->running = -1;
		return breaks && tid != s->leaving;
	}
	if (unlikely(breaks) && tid == s->leaving)
		return false;
	if (tid >= 0)
		s->leaving = -1;
	if (unlikely(breaks))
		s->running = tid;
	return breaks;
}

/* The same for a record of which only the thread is known: what its reader does not hand out. */
static inline bool seam_breaks_by(struct seam *s, int32_t tid)
{
	bool breaks = s->running >= 0 && tid >= 0 && tid != s->running;

	if (unlikely(breaks) && tid == s->leaving)
		return false;
	if (tid >= 0)
		s->leaving = -1;
	if (unlikely(breaks))
		s->running = tid;
	return breaks;
}

/* ... and what it hands out. */
static inline void seam_follow(struct seam *s, const struct event *e)
{
	if (e->kind == EV_SCHED_SWITCH) {
		s->leaving = e->arg[0];
		s->running = e->arg[1];
	} else if (unlikely(e->kind == EV_LOST)) {
		s->running = -1;
	} else {
		seam_breaks_by(s, e->tid);
	}
}

/* The gap as an event; of LOST's arguments the fourth is 1, for nobody said that something was
 * lost. */
static inline struct event seam_lost(ticks_t from, ticks_t to)
{
	return (struct event){.time = from,
			      .kind = EV_LOST,
			      .tid = -1,
			      .arg = {0, (int64_t)from.v, (int64_t)to.v, 1}};
}

/* A loss that begins before the record that its reader has in front of it. */
static inline void seam_widen(struct event *lost, ticks_t from)
{
	lost->time = from;
	lost->arg[1] = (int64_t)from.v;
}

#endif
