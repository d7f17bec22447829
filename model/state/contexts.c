/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/contexts.h"
#include "model/state/state.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t hash(const struct model *m, const struct context *c)
{
	uint64_t h = hash_fold(hash_fold(c->who, m->secret) ^ c->what, m->secret);

	return (uint32_t)hash_mix(h ^ (uint64_t)c->detail, m->secret);
}

static int rehash(struct model *m, uint32_t nr_slots)
{
	struct context_table *table = &m->contexts;
	uint32_t *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->mask = nr_slots - 1;
	for (uint32_t row = 0; row < table->nr; row++) {
		uint32_t i = hash(m, &table->rows[row]) & table->mask;

		while (slots[i])
			i = (i + 1) & table->mask;
		slots[i] = row + 1;
	}
	return 0;
}

static uint32_t add(struct model *m, const struct context *c)
{
	struct context_table *table = &m->contexts;

	if (model_grow(m, (void **)&table->rows, table->nr, &table->room, sizeof(*table->rows)))
		return 0;
	table->rows[table->nr++] = *c;
	return table->nr;
}

static uint32_t look_up(struct model *m, const struct context *c, uint32_t at)
{
	struct context_table *table = &m->contexts;

	if (unlikely(!table->slots || table->nr >= table->mask / 2)) {
		int ret = rehash(m, table->slots ? (table->mask + 1) * 2 : 1024);

		if (ret) {
			model_no_memory(m);
			return 0;
		}
	}
	for (uint32_t i = at & table->mask;; i = (i + 1) & table->mask) {
		uint32_t row = table->slots[i];

		if (!row)
			return table->slots[i] = add(m, c);
		if (likely(context_same(table->rows[row - 1], *c)))
			return row;
	}
}

/* Few contexts alternate; they stay near. */
uint32_t context_row(struct model *m, const struct context *c)
{
	uint32_t at = hash(m, c);
	struct context_cache *near = &m->contexts.cache[at % CONTEXT_CACHE];

	if (near->row && context_same(near->context, *c))
		return near->row;
	near->context = *c;
	return near->row = look_up(m, c, at);
}

void contexts_release(struct model *m)
{
	free(m->contexts.rows);
	free(m->contexts.slots);
}
