/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/holes.h"

#include <assert.h>

static_assert(sizeof(struct leaves) == sizeof(uint32_t), "one is a value of the map");

/* Each CPU has an idle thread of its own, which no number of a thread is taken for. */
static uint64_t key_of(const struct holes *h, int64_t tid)
{
	return tid > 0 ? (uint64_t)tid : UINT64_C(1) << 63 | h->stream;
}

static struct leaves *thread_of(struct holes *h, int64_t tid)
{
	uint32_t *at = map_get(&h->threads, key_of(h, tid));

	if (!at && !h->broken)
		h->broken = map_put(&h->threads, key_of(h, tid), 0);
	return (struct leaves *)(at ? at : map_get(&h->threads, key_of(h, tid)));
}

/* Those at which it was found gone since it was seen to go. */
static void settle(struct holes *h, const struct leaves *l)
{
	if (leaves_may_be_mute(l))
		h->mute += l->unseen;
	else
		h->nr += l->unseen;
}

void holes_begin(struct holes *h, unsigned stream)
{
	h->seam = SEAM_INIT;
	h->stream = stream;
	h->torn = false;
}

void holes_take(struct holes *h, const struct event *e)
{
	int64_t running = h->seam.running;
	ticks_t from;
	bool breaks = seam_breaks(&h->seam, e, &from);
	struct leaves *at;

	h->switches += e->kind == EV_SCHED_SWITCH;
	at = breaks || (e->kind == EV_SCHED_SWITCH && running >= 0) ? thread_of(h, running) : NULL;
	if (at && breaks) {
		h->nr += !leaves_unseen(at, &h->torn);
	} else if (at) {
		at->seen = 1; /* it may not be mute for want of that */
		settle(h, at);
		leaves_seen(at);
	}
	h->torn &= e->kind != EV_SCHED_SWITCH && e->kind != EV_LOST;
}

void holes_count(struct holes *h)
{
	for (uint32_t i = 0; h->threads.slots && i <= h->threads.mask; i++) {
		if (h->threads.slots[i].used)
			settle(h, (struct leaves *)&h->threads.slots[i].value);
	}
	map_clear(&h->threads);
	if (h->mute <= h->nr)
		return;
	h->mute += h->nr;
	h->nr = 0;
}

void holes_release(struct holes *h)
{
	map_release(&h->threads);
}
