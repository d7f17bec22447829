/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_MILESTONE_H
#define QUERY_MILESTONE_H

#include "query/query.h"

/* A row of table "milestone"; -ENOENT. */
struct milestone {
	int64_t machine;
	ns_t since, at;
	const char *kind, *text;
};
int query_milestone(const struct sonde_history *history, int64_t row, struct milestone *out);

#endif
