/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEMBERS_H
#define BASE_MEMBERS_H

#include "base/types.h"

/*
 * Which things, by number, belong to which group: so that nobody looks at all things for each
 * group.  A thing is in one group at most.
 *
 *	members_init(&m, nr_groups, nr);
 *	for (int64_t i = nr; i-- > 0;)
 *		members_add(&m, group_of(i), i);
 *	for (int64_t i = members_first(&m, group); i >= 0; i = members_next(&m, i))
 *		...
 *	members_release(&m);
 *
 * A zeroed struct has no group.
 */
struct members {
	int64_t *first; /* owned, by group: thing + 1; 0 none */
	int64_t *next;	/* owned, by thing: the group's next one, the same way */
	int64_t nr_groups, nr;
};

/* 0 or -ENOMEM. */
int members_init(struct members *m, int64_t nr_groups, int64_t nr);
void members_release(struct members *m);

/* It comes before those that @group has already.  A group that there is not takes none. */
void members_add(struct members *m, int64_t group, int64_t thing);

/* -1: there is none. */
static inline int64_t members_first(const struct members *m, int64_t group)
{
	return group >= 0 && group < m->nr_groups ? m->first[group] - 1 : -1;
}

static inline int64_t members_next(const struct members *m, int64_t thing)
{
	return m->next[thing] - 1;
}

#endif
