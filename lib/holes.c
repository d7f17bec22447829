/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/holes.h"

/* What the map keeps of a thread. */
#define SEEN_TO_GO (1u << 31)
#define GONE_MAX (SEEN_TO_GO - 1)

/* Each CPU has an idle thread of its own. */
static uint64_t key_of(const struct holes *h, int64_t tid)
{
	return tid > 0 ? (uint64_t)tid : ((uint64_t)h->stream + 1) << 32;
}

static uint32_t *thread_of(struct holes *h, int64_t tid)
{
	uint32_t *at = map_get(&h->threads, key_of(h, tid));

	if (!at && !h->broken)
		h->broken = map_put(&h->threads, key_of(h, tid), 0);
	return at ? at : map_get(&h->threads, key_of(h, tid));
}

void holes_begin(struct holes *h, unsigned stream)
{
	h->seam = SEAM_INIT;
	h->stream = stream;
}

void holes_take(struct holes *h, const struct event *e)
{
	int64_t running = h->seam.running;
	ticks_t from;
	bool breaks = seam_breaks(&h->seam, e, &from);
	uint32_t *at;

	h->switches += e->kind == EV_SCHED_SWITCH;
	if (!breaks && (e->kind != EV_SCHED_SWITCH || running < 0))
		return;
	at = thread_of(h, running);
	if (at && breaks)
		*at += (*at & GONE_MAX) < GONE_MAX;
	else if (at)
		*at |= SEEN_TO_GO;
}

void holes_count(struct holes *h)
{
	h->nr = h->mute = 0;
	for (uint32_t i = 0; h->threads.slots && i <= h->threads.mask; i++) {
		uint32_t value = h->threads.slots[i].used ? h->threads.slots[i].value : 0;

		if (value & SEEN_TO_GO)
			h->nr += value & GONE_MAX;
		else
			h->mute += value;
	}
	if (h->mute <= h->nr)
		return;
	h->mute += h->nr;
	h->nr = 0;
}

void holes_release(struct holes *h)
{
	map_release(&h->threads);
}
