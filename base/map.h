/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/hash.h"

/*
 * A hash map from 64-bit keys to 32-bit values (usually an index into the caller's own array).
 * Open addressing, linear probing, grows by doubling at 3/4 full.  Any key is allowed, and nobody
 * can choose keys that are slow together.  Slots are in another order in each process.
 * Zero-initialise, map_release() at the end.  Only map_put() allocates.
 */
struct map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used; /* 0 free, 1 in use */
};

struct map {
	struct map_slot *slots; /* owned; a power of two of them, or none */
	uint64_t secret;	/* while there are slots */
	uint32_t mask;
	uint32_t nr;
};

/* Where the search for @key begins. */
static inline uint32_t map_home(const struct map *m, uint64_t key)
{
	return (uint32_t)hash_mix(key, m->secret) & m->mask;
}

/* The place of @key's value, or NULL when it is not in the map.  Valid until the next map_put()
 * or map_del(). */
static inline uint32_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->slots)
		return NULL;
	for (uint32_t i = map_home(m, key); m->slots[i].used; i = (i + 1) & m->mask) {
		if (m->slots[i].key == key)
			return &m->slots[i].value;
	}
	return NULL;
}

/* Sets @key to @value, replacing what was there.  0 or -ENOMEM. */
int map_put(struct map *m, uint64_t key, uint32_t value);

/* Takes @key out; true when it was in. */
bool map_del(struct map *m, uint64_t key);

void map_clear(struct map *m);
void map_release(struct map *m);

#endif
