/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_LEAVES_H
#define SOURCE_LEAVES_H

#include "base/types.h"

/*
 * How a thread leaves its CPUs, and whether its kernel is mute of it.
 *
 * There are kernels (a virtual machine's 6.18, for one) that record the switch to a thread and not
 * the one away from it.  That another thread shows where it ran, then, is no proof that events were
 * lost.  A thread that is found gone LEAVES_MUTE times in a row, and is not seen to go between, is
 * mute: where events are lost most threads are others, which are seen to go elsewhere.  One that
 * was found gone before it was ever seen to go may be mute; complete recordings of a short time
 * have such.
 *
 * The switch to a mute thread is there.  Where that is missing, too, and who ran before is not one
 * that may be mute, events were lost; that the thread is found gone then tells nothing of it.
 *
 * This is the one rule, for who must decide at once (model/sched/unseen_switch.h: whoever is mute
 * is not believed to stay) and for who has seen all of the trace (libsonde/holes.h: whose leaving
 * proves no loss).
 */
#define LEAVES_MUTE 2

struct leaves {
	uint32_t seen : 1;    /* ... to go, at least once */
	uint32_t unseen : 31; /* found gone so often since then */
};

/* The switch away from it is there. */
static inline void leaves_seen(struct leaves *l)
{
	*l = (struct leaves){.seen = 1};
}

static inline bool leaves_is_mute(const struct leaves *l)
{
	return l->unseen >= LEAVES_MUTE;
}

static inline bool leaves_may_be_mute(const struct leaves *l)
{
	return leaves_is_mute(l) || !l->seen;
}

/* Another was found where it had been.  @torn, of the CPU: the events in which the thread at hand
 * came are lost; false at a switch.  Returns whether this may be the thread's way. */
static inline bool leaves_unseen(struct leaves *l, bool *torn)
{
	bool own = !*torn;

	l->unseen += own && l->unseen < (1u << 31) - 1;
	*torn = !leaves_may_be_mute(l);
	return own;
}

#endif
