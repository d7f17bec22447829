/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP_FIRST_SLOTS 64

/* The slot that @key has, or would have. */
static struct map_slot *slot_of(const struct map *m, uint64_t key)
{
	uint32_t i = map_home(m, key);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

static int grow(struct map *m)
{
	uint32_t old_nr = m->slots ? m->mask + 1 : 0;
	uint32_t new_nr = old_nr ? old_nr * 2 : MAP_FIRST_SLOTS;
	struct map_slot *old = m->slots;
	struct map_slot *slots;

	if (new_nr < old_nr)
		return -ENOMEM;
	slots = calloc(new_nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	if (!old)
		m->secret = hash_secret();
	m->slots = slots;
	m->mask = new_nr - 1;
	for (uint32_t i = 0; i < old_nr; i++) {
		if (old[i].used)
			*slot_of(m, old[i].key) = old[i];
	}
	free(old);
	return 0;
}

int map_put(struct map *m, uint64_t key, uint32_t value)
{
	struct map_slot *slot = m->slots ? slot_of(m, key) : NULL;

	if (slot && slot->used) {
		slot->value = value;
		return 0;
	}
	if (!slot || m->nr >= (m->mask + 1) / 4 * 3) {
		int ret = grow(m);

		if (ret)
			return ret;
		slot = slot_of(m, key);
	}
	*slot = (struct map_slot){.key = key, .value = value, .used = 1};
	m->nr++;
	return 0;
}

bool map_del(struct map *m, uint64_t key)
{
	uint32_t i, j;

	if (!m->slots)
		return false;
	i = (uint32_t)(slot_of(m, key) - m->slots);
	if (!m->slots[i].used)
		return false;
	/* Close the gap: move back every later slot of the run whose home is not after the gap. */
	for (j = (i + 1) & m->mask; m->slots[j].used; j = (j + 1) & m->mask) {
		uint32_t home = map_home(m, m->slots[j].key);

		if (((j - home) & m->mask) >= ((j - i) & m->mask)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].used = 0;
	m->nr--;
	return true;
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, (m->mask + 1) * sizeof(*m->slots));
	m->nr = 0;
}

void map_release(struct map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}
