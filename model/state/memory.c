/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/state.h"

#include <errno.h>

#include "base/grow.h"

void model_no_memory(struct model *m)
{
	m->broken = -ENOMEM;
}

int model_grow(struct model *m, void **list, uint32_t nr, uint32_t *room, size_t each_bytes)
{
	if (likely(nr < *room) || grow_array_u32(list, room, each_bytes))
		return 0;
	model_no_memory(m);
	return -ENOMEM;
}

void model_put(struct model *m, struct map *map, uint64_t key, uint32_t value)
{
	if (map_put(map, key, value))
		model_no_memory(m);
}
