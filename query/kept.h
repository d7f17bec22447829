/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_KEPT_H
#define QUERY_KEPT_H

#include "query/query.h"

/*
 * What analyses keep with a history, for who asks next: things of the history, or of the window
 * that was asked for last.  The history knows of none what it is; it releases all when it is
 * closed.
 *
 *	struct sums { struct kept kept; ... };          the first member
 *	static void release(struct kept *kept);         frees it; of one that is half made, too
 *	static const struct kept_kind kind = {release};
 */
struct kept_kind {
	void (*release)(struct kept *kept);
};

struct kept {
	const struct kept_kind *kind;
	struct kept *next;
};

/* NULL: there is none of that kind. */
void *kept_find(const struct sonde_history *history, const struct kept_kind *kind);

/* @what belongs to the history from here on; one that was there of that kind is released. */
void kept_set(struct sonde_history *history, const struct kept_kind *kind, struct kept *what);

/* Releases the one of that kind, if there is one. */
void kept_drop(struct sonde_history *history, const struct kept_kind *kind);

void kept_release_all(struct sonde_history *history);

#endif
