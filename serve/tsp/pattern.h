/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_PATTERN_H
#define SERVE_TSP_PATTERN_H

#include "base/error.h"

/*
 * Regular expressions as viewers write them into the search fields of tables.  They come from
 * strangers, and the C library bounds neither the time nor the memory of its own: here a pattern
 * has a fixed size, and a text is gone through once, whatever the pattern.
 *
 *	ret = pattern_parse(&p, "kvm_(entry|exit)", &err);
 *	found = pattern_found(&p, "kvm_exit", &steps);
 *
 * What browsers' own expressions have, as far as it says whether a text matches: a . [a-z] [^a-z]
 * \d \w \s \D \W \S ^ $ \b \B (a) (?:a) a|b a* a+ a? a{2,5}, lazy forms like a*?.  No look-ahead,
 * no references to groups.  Upper and lower case differ.  A letter is a byte.
 */
#define PATTERN_STEPS_MAX 400
#define PATTERN_SETS_MAX 24

struct pattern_step {
	uint8_t op;   /* enum pattern_op of pattern.c */
	uint8_t what; /* a byte, or which set */
	int16_t a, b; /* where it goes on, from here */
};

struct pattern {
	struct pattern_step steps[PATTERN_STEPS_MAX];
	uint8_t sets[PATTERN_SETS_MAX][32]; /* a bit for each byte */
	unsigned nr, nr_sets;
};

/* -EINVAL: it is no expression, has what is not known here, or is too long; @err says which. */
int pattern_parse(struct pattern *p, const char *text, struct error *err);

/* Is it anywhere in @text?  Adds to @cost what that took, in steps. */
bool pattern_found(const struct pattern *p, const char *text, uint64_t *cost);

#endif
