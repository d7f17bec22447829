/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP_FIRST_SLOTS 64

static void slot_insert(struct map *m, uint64_t key, uint32_t value)
{
	uint32_t i = map_hash(key) & m->mask;

	while (m->slots[i].used)
		i = (i + 1) & m->mask;
	m->slots[i] = (struct map_slot){.key = key, .value = value, .used = 1};
	m->nr++;
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
	m->slots = slots;
	m->mask = new_nr - 1;
	m->nr = 0;
	for (uint32_t i = 0; i < old_nr; i++) {
		if (old[i].used)
			slot_insert(m, old[i].key, old[i].value);
	}
	free(old);
	return 0;
}

int map_put(struct map *m, uint64_t key, uint32_t value)
{
	uint32_t *place = map_get(m, key);

	if (place) {
		*place = value;
		return 0;
	}
	if (!m->slots || m->nr >= (m->mask + 1) / 4 * 3) {
		int ret = grow(m);

		if (ret)
			return ret;
	}
	slot_insert(m, key, value);
	return 0;
}

bool map_del(struct map *m, uint64_t key)
{
	uint32_t i, j;

	if (!m->slots)
		return false;
	for (i = map_hash(key) & m->mask; m->slots[i].used; i = (i + 1) & m->mask) {
		if (m->slots[i].key == key)
			break;
	}
	if (!m->slots[i].used)
		return false;
	/* Close the gap: move back every later slot of the run whose home is not after the gap. */
	for (j = (i + 1) & m->mask; m->slots[j].used; j = (j + 1) & m->mask) {
		uint32_t home = map_hash(m->slots[j].key) & m->mask;

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
