/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_SAY_LIMIT_H
#define RECORD_BASE_SAY_LIMIT_H

#include "base/types.h"

/* What others make us say, as often as they like, fills nobody's log.  Begins as zeros. */
#define SAY_LIMIT_MAX 20u
#define SAY_LIMIT_SPAN_NS (10 * NS_PER_SEC)

struct say_limit {
	int64_t since_ns;
	unsigned said; /* since then */
};

/* Whether one more may be said now, by CLOCK_MONOTONIC. */
static inline bool may_say(struct say_limit *l, int64_t now_ns)
{
	if (now_ns - l->since_ns > SAY_LIMIT_SPAN_NS)
		*l = (struct say_limit){.since_ns = now_ns};
	return l->said++ < SAY_LIMIT_MAX;
}

#endif
