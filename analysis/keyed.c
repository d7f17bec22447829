/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

static size_t next_slot(const struct keyed *k, size_t slot)
{
	return (slot + 1) & (2 * k->room - 1);
}

/* Where the search for a key begins. */
static size_t slot_of(const struct keyed *k, const int64_t *cells)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < k->nr_cells; i++)
		hash = ((hash << 23 | hash >> 41) ^ (uint64_t)cells[i]) * 0xff51afd7ed558ccdull;
	return hash >> 32 & (2 * k->room - 1);
}

/* Puts a key that is not there yet into the first free slot. */
static void insert(struct keyed *k, size_t number)
{
	size_t slot = slot_of(k, keyed_cells(k, number));

	while (k->slots[slot])
		slot = next_slot(k, slot);
	k->slots[slot] = (uint32_t)number + 1;
}

static int grow(struct keyed *k)
{
	size_t room = k->room ? k->room * 2 : FIRST_ROOM;
	uint32_t *slots = room <= UINT32_MAX / 2 ? calloc(2 * room, sizeof(*slots)) : NULL;
	int64_t *cells = slots ? reallocarray(k->cells, room, k->nr_cells * sizeof(*cells)) : NULL;
	char *sums = cells && k->sum_bytes ? reallocarray(k->sums, room, k->sum_bytes) : NULL;

	k->cells = cells ? cells : k->cells;
	k->sums = sums ? sums : k->sums;
	if (!cells || (k->sum_bytes && !sums)) {
		free(slots);
		return -ENOMEM;
	}
	free(k->slots);
	k->slots = slots;
	k->room = room;
	for (size_t i = 0; i < k->nr; i++)
		insert(k, i);
	return 0;
}

static int64_t add(struct keyed *k, const int64_t *cells)
{
	if (k->nr == k->room && grow(k))
		return -ENOMEM;
	memcpy(k->cells + k->nr * k->nr_cells, cells, k->nr_cells * sizeof(*cells));
	if (k->sum_bytes)
		memset(keyed_sum_at(k, k->nr), 0, k->sum_bytes);
	insert(k, k->nr);
	return (int64_t)k->nr++;
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
	if (!k->room)
		return add(k, cells);
	for (size_t slot = slot_of(k, cells); k->slots[slot]; slot = next_slot(k, slot)) {
		if (is_key(k, k->slots[slot] - 1, cells))
			return k->slots[slot] - 1;
	}
	return add(k, cells);
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
