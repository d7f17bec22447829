/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/culprit_sums.h"

#include <stdlib.h>

#include "base/grow.h"

#define SLOTS_MIN 32

static void take_slot(struct tally *t, uint32_t at)
{
	struct tally_part *part = &t->parts[at];
	uint32_t i = tally_home(t, part->key);

	while (t->slots[i].key)
		i = (i + 1) & (t->nr_slots - 1);
	t->slots[i] = (struct tally_slot){part->key, at};
	part->slot = i;
}

/* Twice the slots, or the first ones. */
static bool grow_slots(struct tally *t)
{
	uint32_t nr_slots = t->nr_slots ? t->nr_slots * 2 : SLOTS_MIN;
	struct tally_slot *slots = calloc(nr_slots, sizeof(*slots));

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

struct tally_part *tally_new_part(struct tally *t, uint64_t key)
{
	if (t->nr >= t->nr_slots / 2 && !grow_slots(t))
		return NULL;
	if (!room_for_one(&t->parts, t->nr, &t->room))
		return NULL;
	t->parts[t->nr] = (struct tally_part){.key = key, .met = NS_MAX};
	take_slot(t, t->nr);
	return &t->parts[t->nr++];
}

void tally_clear(struct tally *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		t->slots[t->parts[i].slot].key = 0;
	t->nr = 0;
}

void tally_release(struct tally *t)
{
	free(t->parts);
	free(t->slots);
	*t = (struct tally){0};
}
