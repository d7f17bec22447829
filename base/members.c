/* SPDX-License-Identifier: Apache-2.0 */
#include "base/members.h"

#include <errno.h>
#include <stdlib.h>

int members_init(struct members *m, int64_t nr_groups, int64_t nr)
{
	*m = (struct members){.nr_groups = nr_groups, .nr = nr};
	m->first = calloc((size_t)nr_groups + 1, sizeof(*m->first));
	m->next = calloc((size_t)nr + 1, sizeof(*m->next));
	if (m->first && m->next)
		return 0;
	members_release(m);
	return -ENOMEM;
}

void members_release(struct members *m)
{
	free(m->first);
	free(m->next);
	*m = (struct members){0};
}

void members_add(struct members *m, int64_t group, int64_t thing)
{
	if (group < 0 || group >= m->nr_groups || thing < 0 || thing >= m->nr)
		return;
	m->next[thing] = m->first[group];
	m->first[group] = thing + 1;
}
