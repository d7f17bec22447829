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

/* Until when it lasts at most: its end. Where a trace that breaks off ends with it, nothing tells
 * until when: it has no length then, and may last to the history's end. */
ns_t loss_latest_end(const struct sonde_history *history, const struct sonde_loss *l);

/* Whether it has to do with the window [begin, end); not when it ends where that begins. */
bool loss_is_in(const struct sonde_history *history, const struct sonde_loss *l, ns_t begin,
		ns_t end);

/* Whether one of them, on whatever CPU, has to do with [from, to]. */
bool losses_touch(const struct losses *losses, ns_t from, ns_t to);

#endif
