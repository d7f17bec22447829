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
