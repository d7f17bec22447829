/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_FILTER_H
#define SERVE_TSP_TSP_FILTER_H

#include "serve/tsp/tsp_call.h"

/*
 * What a time graph's search field and its filters want to see, "filter_query_parameters" of a
 * question for states: lists of expressions, all of which a state must match, else it is to be
 * dimmed (list "1") or left out (list "4").  With the strategy DEEP, states between the samples
 * count, too.
 *
 *	tid == 4711 && duration > 10ms
 *	!(idle || "in guest") || machine contains vm
 *
 * As in Trace Compass, with its operators == != < > <= >= contains matches present && || ! ( ); "="
 * is "==", which the protocol's own examples have.  A word alone is an expression
 * (serve/tsp/pattern.h) looked for in all fields; quotes keep blanks together.  Fields, upper and
 * lower case are one:
 *
 *	label (state)	what the state is called
 *	mode		likewise, of a physical CPU, without details
 *	row		whose row it is
 *	machine cpu thread process container	names; of cpu and process numbers, too
 *	tid pid
 *	duration (length) start (begin) end	ns, or with a unit: 10ms, 2s; start and end in the
 *						experiment's time
 *
 * What has no such field, or does not know it, matches none of its conditions.
 */
#define TSP_DIMMED 1
#define TSP_EXCLUDED 4

struct tsp_filter;

/* A state; times are the history's. */
struct tsp_subject {
	const struct tsp_entry *entry;
	uint32_t value;
	int64_t begin, end;
};

/* *out is NULL when the question has no filter.  An expression that cannot be understood, as while
 * it is typed, is left out, and c->message says so.  -EINVAL, -ENOMEM. */
int tsp_filter_open(struct tsp_filter **out, struct tsp_call *c, struct error *err);
void tsp_filter_close(struct tsp_filter *f);

bool tsp_filter_is_deep(const struct tsp_filter *f);
bool tsp_filter_uses_times(const struct tsp_filter *f);

/* TSP_DIMMED, TSP_EXCLUDED or both: what it does not match.  States of one row come one after the
 * other, and that they belong to another one is seen from the subject's entry. */
unsigned tsp_filter_tags(struct tsp_filter *f, const struct tsp_subject *s);

/* That it took too long: from then on there are no tags. */
bool tsp_filter_gave_up(const struct tsp_filter *f);

/* That it is time to look at samples only, so that these are not given up. */
bool tsp_filter_has_had_enough(const struct tsp_filter *f);

#endif
