/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOSSES_H
#define QUERY_LOSSES_H

#include "query/query.h"
#include "base/key_sort.h"

/*
 * Places where events of one machine were lost, by their begins: a file has them as they were
 * noticed.
 *
 * losses_init() fills it, losses_release() at the end.
 */
struct losses {
	struct sort_item *list; /* owned: rows of table "loss" */
	ns_t *ends;		/* owned: until when at most those up to this one last */
	size_t nr;
};

/* 0 or -ENOMEM; it is empty then. */
int losses_init(struct losses *losses, const struct sonde_history *history, int machine);
void losses_release(struct losses *losses);

/* Whether it has to do with the window [begin, end); not when it ends where that begins. */
static inline bool loss_is_in(const struct sonde_loss *l, ns_t begin, ns_t end)
{
	return l->begin < end && (l->end > begin || l->begin == begin);
}

/* Whether one of them, on whatever CPU, has to do with [from, to]. */
bool losses_touch(const struct losses *losses, ns_t from, ns_t to);

#endif
