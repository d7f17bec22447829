/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include "base/types.h"

/*
 * Is what was measured in two series really different?  Welch's test for means of unequal variance.
 *
 * Measurements that follow each other in time resemble each other, and then say less than their
 * number: each series counts as n (1 - r) / (1 + r) measurements, r its correlation with itself one
 * step later, where that is positive.
 */
struct series {
	unsigned nr;
	double mean, variance; /* of the values */
	double effective;      /* how many independent measurements it is worth, 2 at least */
};

struct difference {
	double change;	  /* mean of the second minus mean of the first */
	double low, high; /* it lies in there with a probability of 95% */
	double p;	  /* of a change this great by chance alone */
};

/* @nr 2 or more. */
struct series series_of(const double *values, unsigned nr);
struct difference series_compare(const struct series *before, const struct series *after);

/*
 * Holm's correction: of many comparisons some look different by chance.  Replaces each of @p by the
 * probability that holds for all of them together.
 */
int stats_holm(double *p, unsigned nr);

/* Two-sided probability of Student's t with @df degrees of freedom. */
double student_p(double t, double df);

#endif
