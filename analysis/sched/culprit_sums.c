/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/culprit_sums.h"

#include <stdlib.h>

#include "base/grow.h"

#define SLOTS_MIN 32

static void take_slot(struct culprit_sums *t, uint32_t at)
{
	struct culprit_sum *part = &t->parts[at];
	uint32_t i = culprit_sums_home(t, part->key);

	while (t->slots[i].key)
		i = (i + 1) & (t->nr_slots - 1);
	t->slots[i] = (struct culprit_sums_slot){part->key, at};
	part->slot = i;
}

/* Twice the slots, or the first ones. */
static bool grow_slots(struct culprit_sums *t)
{
	uint32_t nr_slots = t->nr_slots ? t->nr_slots * 2 : SLOTS_MIN;
	struct culprit_sums_slot *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return false;
	if (!t->slots)
		t->secret = hash_secret();
	free(t->slots);
	t->slots = slots;
	t->nr_slots = nr_slots;
	for (uint32_t i = 0; i < t->nr; i++)
		take_slot(t, i);
	return true;
}

struct culprit_sum *culprit_sums_new(struct culprit_sums *t, uint64_t key)
{
	if (t->nr >= t->nr_slots / 2 && !grow_slots(t))
		return NULL;
	if (!room_for_one(&t->parts, t->nr, &t->room))
		return NULL;
	t->parts[t->nr] = (struct culprit_sum){.key = key, .met = NS_MAX};
	take_slot(t, t->nr);
	return &t->parts[t->nr++];
}

void culprit_sums_clear(struct culprit_sums *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		t->slots[t->parts[i].slot].key = 0;
	t->nr = 0;
}

void culprit_sums_release(struct culprit_sums *t)
{
	free(t->parts);
	free(t->slots);
	*t = (struct culprit_sums){0};
}
