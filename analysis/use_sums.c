/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/use_sums.h"

#include <errno.h>
#include <stdlib.h>

int use_sums_init(struct use_sums *s, const struct culprits *culprits)
{
	s->met = calloc(culprits->nr, sizeof(*s->met));
	s->uses = calloc(culprits->nr, sizeof(*s->uses));
	if (!s->met || !s->uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < culprits->nr; i++) {
		s->uses[i].by = &culprits->list[i];
		s->uses[i].number = i;
		s->uses[i].who = culprits->who[i];
	}
	return 0;
}

void use_sums_add(struct use_sums *s, const struct cpu_use *use)
{
	struct cpu_use *sum = &s->uses[use->number];

	if (!sum->time_ns)
		use_sums_meet(s, use->number, use->on);
	sum->several_cpus |= use->several_cpus || sum->on != use->on;
	sum->count += use->count;
	sum->time_ns += use->time_ns;
	if (use->longest_ns > sum->longest_ns) {
		sum->longest_ns = use->longest_ns;
		sum->longest_at = use->longest_at;
		sum->on = use->on;
	}
}

bool use_sums_take(struct use_sums *s, bool (*each)(const struct cpu_use *use, void *data),
		   void *data)
{
	bool more = true;

	for (unsigned i = 0; i < s->nr; i++) {
		struct cpu_use *use = &s->uses[s->met[i]];

		more = more && each(use, data);
		use->time_ns = 0;
	}
	s->nr = 0;
	return more;
}

void use_sums_clear(struct use_sums *s)
{
	for (unsigned i = 0; i < s->nr; i++)
		s->uses[s->met[i]].time_ns = 0;
	s->nr = 0;
}

void use_sums_release(struct use_sums *s)
{
	free(s->met);
	free(s->uses);
	*s = (struct use_sums){0};
}
