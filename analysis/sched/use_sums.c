/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/use_sums.h"

#include <errno.h>
#include <stdlib.h>

int use_sums_init(struct use_sums *s, const struct culprits *culprits)
{
	s->met = calloc(culprits->nr, sizeof(*s->met));
	s->uses = calloc(culprits->nr, sizeof(*s->uses));
	s->last_who = UINT32_MAX;
	if (!s->met || !s->uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < culprits->nr; i++)
		s->uses[i].who = culprits->who[i];
	return 0;
}

static void forget(struct use_sum *use)
{
	use->time_ns = use->longest_ns = 0;
	use->count = 0;
}

bool use_sums_take(struct use_sums *s, int64_t on,
		   bool (*each)(const struct cpu_use *use, void *data), void *data)
{
	bool more = true;

	for (unsigned i = 0; i < s->nr; i++) {
		struct use_sum *sum = &s->uses[s->met[i].number];
		const struct cpu_use use = {
			.on = on,
			.number = s->met[i].number,
			.count = sum->count,
			.time_ns = sum->time_ns,
			.longest_ns = sum->longest_ns,
			.longest_at = sum->longest_at,
		};

		more = more && each(&use, data);
		forget(sum);
	}
	s->nr = 0;
	return more;
}

void use_sums_clear(struct use_sums *s)
{
	for (unsigned i = 0; i < s->nr; i++)
		forget(&s->uses[s->met[i].number]);
	s->nr = 0;
}

void use_sums_release(struct use_sums *s)
{
	free(s->met);
	free(s->uses);
	*s = (struct use_sums){0};
}
