/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_LIFE_MARK_PAIRS_H
#define ANALYSIS_LIFE_MARK_PAIRS_H

#include "query/query.h"

/*
 * Requests between two marks: from each mark of one text to the mark of another that ends it.
 *
 * An end belongs to the last begin before it that has the same id and has not been ended.  Without
 * a text for the end, the begin's text is that of a span, and the span's end ends it.  Marks of
 * different machines pair, too.  The text of an event of user space may be its name alone.
 */
struct mark_pair {
	struct sonde_mark from, to;
};

struct mark_pairs {
	struct mark_pair *list; /* owned; the longest first */
	size_t nr, room;
	uint64_t begins, ends; /* marks of these texts, paired or not */
};

/* Those that lie in [@begin, @end); @to NULL: spans.  0 or a negative errno. */
int mark_pairs_find(struct mark_pairs *out, const struct sonde_history *history, const char *from,
		    const char *to, ns_t begin, ns_t end);
void mark_pairs_release(struct mark_pairs *p);

/* The thread whose path led to a mark: who marked, or, where that is not known, the thread of the
 * host that ran its vCPU; -1. */
int64_t mark_thread(const struct sonde_history *history, const struct sonde_mark *m);

#endif
