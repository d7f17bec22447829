/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_QUERY_H
#define SERVE_TSP_TSP_QUERY_H

#include "base/error.h"

/*
 * The body of a question of the Trace Server Protocol, {"parameters": {...}}, and what can stand in
 * it.  All of it is hostile: whatever is not of the type or size that is expected is refused with
 * -EINVAL and a sentence.  What is not there at all is -ENODATA, with a sentence, too, for those
 * who cannot do without.
 */
#define TSP_ITEMS_MAX 16384 /* entries in one question */
#define TSP_TIMES_MAX 65536 /* samples in one question, as the protocol has it */

struct tsp_query {
	void *root;	    /* owned, jansson's; NULL when the body was empty */
	const void *params; /* of it */
};

/* A range of time and how many samples of it are wanted; 0 = not said. */
struct tsp_range {
	int64_t start, end;
	unsigned nr;
};

enum tsp_element_kind { TSP_STATE, TSP_ANNOTATION, TSP_ARROW };

/* What a tooltip is for; -1 where an entry is not told. */
struct tsp_element {
	enum tsp_element_kind kind;
	int64_t time, duration;
	int64_t entry, destination;
};

int tsp_query_parse(struct tsp_query *q, const char *body, size_t len_bytes, struct error *err);
void tsp_query_release(struct tsp_query *q);

/* "requested_timerange": start before end. */
int tsp_query_range(const struct tsp_query *q, struct tsp_range *out, struct error *err);

/* An array of integers; *out is allocated, the caller frees it.  Returns how many. */
int tsp_query_list(const struct tsp_query *q, const char *key, int64_t **out, struct error *err);

int tsp_query_int(const struct tsp_query *q, const char *key, int64_t min, int64_t max,
		  int64_t *out, struct error *err);

bool tsp_query_has(const struct tsp_query *q, const char *key);

/* Text, NULL when there is none. */
const char *tsp_query_text(const struct tsp_query *q, const char *key);

/* Text @i of an array, NULL behind its end. */
const char *tsp_query_text_at(const struct tsp_query *q, const char *key, unsigned i);

int tsp_query_element(const struct tsp_query *q, struct tsp_element *out, struct error *err);

/* What a column is searched for: text @i of "table_search_expressions" and its column.  False
 * behind the last. */
bool tsp_query_search(const struct tsp_query *q, unsigned i, int64_t *column, const char **text);

/* Of "filter_query_parameters": its "strategy", NULL when there is none, and expression @i of the
 * list @key of its map, NULL behind the last. */
const char *tsp_query_filter_strategy(const struct tsp_query *q);
const char *tsp_query_filter(const struct tsp_query *q, const char *key, unsigned i);

#endif
