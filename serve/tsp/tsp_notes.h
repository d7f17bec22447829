/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_NOTES_H
#define SERVE_TSP_TSP_NOTES_H

#include "serve/tsp/tsp_call.h"

/* Annotations: what is laid over a chart or one of its rows. */
enum tsp_category { TSP_MARKS, TSP_LOSSES, TSP_CLOCKS, TSP_NR_CATEGORIES };
#define TSP_ALL_CATEGORIES ((1u << TSP_NR_CATEGORIES) - 1)

struct tsp_note {
	enum tsp_category category;
	int64_t entry; /* -1: of the whole chart */
	int64_t time, duration;
	const char *label;
};

/* "Gaps". */
const char *tsp_category_name(enum tsp_category category);

/* Calls @each for those of the categories (bits) that touch the range; false stops. */
int tsp_notes(struct tsp_call *c, const struct tsp_range *range, unsigned categories,
	      bool (*each)(const struct tsp_note *note, void *data), void *data, struct error *err);

#endif
