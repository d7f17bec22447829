/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/reader.h"

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

static ns_t *decode_all(const struct node *n)
{
	ns_t *list = malloc(plain_times_nr(n) * sizeof(*list));
	uint64_t hint = 0;

	if (!list)
		return NULL;
	sorted_decode_from(&n->times, 0, n->nr_times, (uint64_t)n->base, (uint64_t *)list, &hint);
	for (unsigned i = 0; i < PLAIN_TIMES_PAD; i++)
		list[n->nr_times + i] = list[n->nr_times - 1];
	return list;
}

const ns_t *stream_times(struct history *h, struct stream *s, uint32_t i, const struct node *n,
			 uint32_t nr)
{
	if (s->times && s->times[i].list)
		return s->times[i].list;
	if (!s->times)
		s->times = calloc(s->nr, sizeof(*s->times));
	if (!s->times)
		return NULL;
	s->times[i].asked += nr;
	if (s->times[i].asked * LOOK_UP_COST < n->nr_times || n->nr_times > PLAIN_TIMES_MAX)
		return NULL;
	make_room(h, n->nr_times);
	if (!s->times)
		return NULL;
	s->times[i].list = decode_all(n);
	h->nr_plain_times += s->times[i].list ? n->nr_times : 0;
	return s->times[i].list;
}
