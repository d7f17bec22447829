/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"
#include "history/read/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "history/parts/pack.h"

static void drop(struct history *h, uint32_t place)
{
	struct unpacked *u = h->unpacked[place];

	h->unpacked[place] = h->unpacked[--h->nr_unpacked];
	h->unpacked_bytes -= u->plain.room_bytes;
	u->stream->unpacked[u->i] = NULL;
	if (u->stream->nodes)
		u->stream->nodes[u->i].attrs = NULL;
	bytes_release(&u->plain);
	free(u);
}

/* The part that has not been touched for longest, of those that nobody holds; or nr_unpacked. */
static uint32_t oldest(const struct history *h)
{
	uint32_t found = h->nr_unpacked;

	for (uint32_t i = 0; i < h->nr_unpacked; i++) {
		if (!h->unpacked[i]->holds &&
		    (found == h->nr_unpacked || h->unpacked[i]->used < h->unpacked[found]->used))
			found = i;
	}
	return found;
}

static void make_room(struct history *h)
{
	while (h->unpacked_bytes > h->unpacked_max && h->nr_unpacked > UNPACKED_KEPT) {
		uint32_t place = oldest(h);

		if (place == h->nr_unpacked)
			return;
		drop(h, place);
	}
}

static int add(struct history *h, struct unpacked *u)
{
	if (!u->stream->unpacked)
		u->stream->unpacked = calloc(u->stream->nr, sizeof(struct unpacked *));
	if (!u->stream->unpacked)
		return -ENOMEM;
	if (!room_for_one(&h->unpacked, h->nr_unpacked, &h->unpacked_room))
		return -ENOMEM;
	h->unpacked[h->nr_unpacked++] = u;
	h->unpacked_bytes += u->plain.room_bytes;
	u->stream->unpacked[u->i] = u;
	return 0;
}

int unpacked_open(struct history *h, struct stream *s, uint32_t i, struct part *p)
{
	struct unpacked *u = calloc(1, sizeof(*u));
	int ret;

	if (!h->unpack)
		h->unpack = unpack_new();
	if (!u || !h->unpack) {
		free(u);
		return -ENOMEM;
	}
	make_room(h);
	*u = (struct unpacked){.stream = s, .i = i, .used = ++h->touches};
	ret = unpack_part(h->unpack, s->kind, p->payload, p->len_bytes, &u->plain);
	if (!ret)
		ret = add(h, u);
	if (ret) {
		bytes_release(&u->plain);
		free(u);
		return ret;
	}
	p->payload = u->plain.data;
	p->len_bytes = u->plain.len_bytes;
	return 0;
}

void unpacked_release(struct history *h)
{
	while (h->nr_unpacked)
		drop(h, h->nr_unpacked - 1);
	free(h->unpacked);
	unpack_free(h->unpack);
}
