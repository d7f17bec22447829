/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return ((hash << 23 | hash >> 41) ^ value) * 0xff51afd7ed558ccdull;
}

static int grow(struct keyed *k)
{
	size_t room = k->room ? k->room * 2 : 64;
	int64_t *cells = reallocarray(k->cells, room, k->nr_cells * sizeof(*cells));
	char *sums;

	if (!cells)
		return -ENOMEM;
	k->cells = cells;
	if (k->sum_bytes) {
		sums = reallocarray(k->sums, room, k->sum_bytes);
		if (!sums)
			return -ENOMEM;
		memset(sums + k->room * k->sum_bytes, 0, (room - k->room) * k->sum_bytes);
		k->sums = sums;
	}
	k->room = room;
	return 0;
}

static int add(struct keyed *k, uint64_t hash, const int64_t *cells)
{
	if (k->nr == k->room && grow(k))
		return -ENOMEM;
	if (map_put(&k->by_key, hash, (uint32_t)k->nr))
		return -ENOMEM;
	memcpy(k->cells + k->nr++ * k->nr_cells, cells, k->nr_cells * sizeof(*cells));
	return 0;
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
	uint64_t hash = 0;
	uint32_t *at;

	for (unsigned i = 0; i < k->nr_cells; i++)
		hash = mix(hash, (uint64_t)cells[i]);
	while ((at = map_get(&k->by_key, hash))) {
		if (is_key(k, *at, cells))
			return *at;
		hash++; /* equal hashes of different keys: try the next */
	}
	return add(k, hash, cells) ? -ENOMEM : (int64_t)k->nr - 1;
}

void keyed_release(struct keyed *k)
{
	free(k->cells);
	free(k->sums);
	map_release(&k->by_key);
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
