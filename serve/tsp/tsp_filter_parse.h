/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_FILTER_PARSE_H
#define SERVE_TSP_TSP_FILTER_PARSE_H

#include "serve/tsp/pattern.h"

/* Expressions of serve/tsp/tsp_filter.h as trees; nobody else includes this. */
#define FILTER_NODES_MAX 64
#define FILTER_PATTERNS_MAX 16
#define FILTER_DEPTH_MAX 24 /* of parentheses and "!" */
#define FILTER_TEXT_MAX 128

enum filter_field {
	FILTER_LABEL,
	FILTER_MODE,
	FILTER_ROW,
	FILTER_MACHINE,
	FILTER_CPU,
	FILTER_THREAD,
	FILTER_PROCESS,
	FILTER_CONTAINER,
	FILTER_TID,
	FILTER_PID,
	FILTER_NR_TEXTS, /* a word alone is looked for in those before */
	FILTER_DURATION = FILTER_NR_TEXTS,
	FILTER_START,
	FILTER_END,
	FILTER_ANY
};

enum filter_op {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT, /* of .left */
	FILTER_EQUAL,
	FILTER_UNEQUAL,
	FILTER_LESS,
	FILTER_GREATER,
	FILTER_AT_MOST,
	FILTER_AT_LEAST,
	FILTER_CONTAINS,
	FILTER_MATCHES,
	FILTER_PRESENT
};

struct filter_node {
	enum filter_op op;
	int left, right; /* nodes: of AND, OR, NOT */
	enum filter_field field;
	char text[FILTER_TEXT_MAX];
	bool is_number; /* .text is one, */
	double number;	/* this; of times in ns */
	int pattern;	/* of FILTER_MATCHES */
};

struct filter_tree {
	struct filter_node nodes[FILTER_NODES_MAX];
	struct pattern patterns[FILTER_PATTERNS_MAX];
	unsigned nr, nr_patterns;
	bool uses_times, uses_row; /* a value alone does not tell whether it matches */
};

/* Adds an expression; its root, or -EINVAL and a sentence: nothing was added then. */
int filter_parse(struct filter_tree *t, const char *text, struct error *err);

#endif
