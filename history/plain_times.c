/* SPDX-License-Identifier: Apache-2.0 */
#include "history/reader.h"

#include <stdlib.h>

/* Looking one time up costs as much as decoding so many one after the other. */
#define LOOK_UP_COST 5

void stream_times_release(struct stream *s)
{
	for (uint32_t i = 0; s->times && i < s->nr; i++)
		free(s->times[i].list);
	free(s->times);
	s->times = NULL;
}

/* When there are too many, it begins anew: who reads on elsewhere needs others. */
static void make_room(struct history *h, uint32_t nr)
{
	if (h->nr_plain_times + nr <= PLAIN_TIMES_MAX)
		return;
	stream_times_release(&h->slices);
	stream_times_release(&h->groups);
	h->nr_plain_times = 0;
}

static uint64_t *decode_all(const struct node *n)
{
	uint64_t *list = malloc(n->nr_times * sizeof(*list));
	uint64_t hint = 0;

	if (!list)
		return NULL;
	sorted_decode(&n->times, 0, n->nr_times, list, &hint);
	for (uint32_t i = 0; i < n->nr_times; i++)
		list[i] += (uint64_t)n->base;
	return list;
}

const uint64_t *stream_times(struct history *h, struct stream *s, uint32_t i, const struct node *n,
			     uint32_t nr, uint32_t ahead)
{
	if (s->times && s->times[i].list)
		return s->times[i].list;
	if (!s->times)
		s->times = calloc(s->nr, sizeof(*s->times));
	if (!s->times)
		return NULL;
	s->times[i].asked += nr;
	if ((s->times[i].asked + ahead) * LOOK_UP_COST < n->nr_times || n->nr_times > PLAIN_TIMES_MAX)
		return NULL;
	make_room(h, n->nr_times);
	if (!s->times)
		return NULL;
	s->times[i].list = decode_all(n);
	h->nr_plain_times += s->times[i].list ? n->nr_times : 0;
	return s->times[i].list;
}
