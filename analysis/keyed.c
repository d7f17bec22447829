/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/keyed.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 6 /* of room */
#define LAST_BITS 30

static uint32_t hash_of(const struct keyed *k, const int64_t *cells)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < k->nr_cells; i++)
		hash = hash_fold(hash ^ (uint64_t)cells[i], k->secret);
	return (uint32_t)(hash_fold(hash, k->secret) >> 32);
}

static size_t next_slot(const struct keyed *k, size_t slot)
{
	return (slot + 1) & (2 * k->room - 1);
}

static void put(struct keyed *k, struct keyed_slot new)
{
	size_t at = new.hash >> k->shift;

	while (k->slots[at].number)
		at = next_slot(k, at);
	k->slots[at] = new;
}

/* Twice as many slots: what the old ones have goes where it belongs now. */
static int grow_slots(struct keyed *k, size_t room)
{
	struct keyed_slot *old = k->slots, *slots = calloc(2 * room, sizeof(*slots));
	size_t nr = 2 * k->room;

	if (!slots)
		return -ENOMEM;
	k->slots = slots;
	k->shift = k->room ? k->shift - 1 : 32 - (FIRST_BITS + 1);
	k->room = room;
	for (size_t i = 0; i < nr; i++) {
		if (old[i].number)
			put(k, old[i]);
	}
	free(old);
	return 0;
}

static int grow(struct keyed *k)
{
	size_t room = k->room ? k->room * 2 : (size_t)1 << FIRST_BITS;
	int64_t *cells;
	char *sums;

	if (room > (size_t)1 << LAST_BITS)
		return -ENOMEM;
	cells = reallocarray(k->cells, room, k->nr_cells * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	k->cells = cells;
	if (k->sum_bytes) {
		sums = reallocarray(k->sums, room, k->sum_bytes);
		if (!sums)
			return -ENOMEM;
		k->sums = sums;
	}
	return grow_slots(k, room);
}

static int64_t add(struct keyed *k, uint32_t hash, const int64_t *cells)
{
	if (k->nr == k->room && grow(k))
		return -ENOMEM;
	memcpy(k->cells + k->nr * k->nr_cells, cells, k->nr_cells * sizeof(*cells));
	if (k->sum_bytes)
		memset(k->sums + k->nr * k->sum_bytes, 0, k->sum_bytes);
	put(k, (struct keyed_slot){hash, (uint32_t)++k->nr});
	return (int64_t)k->nr - 1;
}

static bool is_key(const struct keyed *k, size_t number, const int64_t *cells)
{
	const int64_t *own = keyed_cells(k, number);

	for (unsigned i = 0; i < k->nr_cells; i++) {
		if (own[i] != cells[i])
			return false;
	}
	return true;
}

int64_t keyed_get(struct keyed *k, const int64_t *cells)
{
	const struct keyed_slot *slot;
	uint32_t hash;

	if (!k->room)
		k->secret = hash_secret();
	hash = hash_of(k, cells);
	if (!k->room)
		return add(k, hash, cells);
	for (size_t at = hash >> k->shift; (slot = &k->slots[at])->number; at = next_slot(k, at)) {
		if (slot->hash == hash && is_key(k, slot->number - 1, cells))
			return slot->number - 1;
	}
	return add(k, hash, cells);
}

void keyed_release(struct keyed *k)
{
	free(k->cells);
	free(k->sums);
	free(k->slots);
	*k = (struct keyed){0};
}

int memo_init(struct memo *m, uint32_t nr_culprits)
{
	m->slots = calloc((size_t)nr_culprits + 1, sizeof(*m->slots));
	return m->slots ? 0 : -ENOMEM;
}

void memo_release(struct memo *m)
{
	free(m->slots);
	*m = (struct memo){0};
}
