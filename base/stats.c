/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct series series_of(const double *values, unsigned nr)
{
	struct series s = {.nr = nr};
	double cross = 0, r;

	for (unsigned i = 0; i < nr; i++)
		s.mean += values[i] / nr;
	for (unsigned i = 0; i < nr; i++) {
		double d = values[i] - s.mean;

		s.variance += d * d / (nr - 1);
		if (i)
			cross += d * (values[i - 1] - s.mean);
	}
	r = s.variance > 0 ? cross / (s.variance * (nr - 1)) : 0;
	s.effective = r > 0 ? nr * (1 - r) / (1 + r) : nr;
	if (s.effective < 2)
		s.effective = 2;
	return s;
}

/* Continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	double h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return h;
}

/* The regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_p(double t, double df)
{
	return beta(df / 2, 0.5, df / (df + t * t));
}

/* The t that is exceeded, to either side, with probability @p. */
static double student_t(double p, double df)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (student_p(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct difference series_compare(const struct series *before, const struct series *after)
{
	double a = before->variance / before->effective;
	double b = after->variance / after->effective;
	struct difference d = {.change = after->mean - before->mean};
	double error = sqrt(a + b);
	double df, margin;

	if (error <= 0) { /* constant both: different, or equal */
		d.low = d.high = d.change;
		d.p = d.change != 0 ? 0 : 1;
		return d;
	}
	df = (a + b) * (a + b) / (a * a / (before->effective - 1) + b * b / (after->effective - 1));
	margin = student_t(0.05, df) * error;
	d.low = d.change - margin;
	d.high = d.change + margin;
	d.p = student_p(d.change / error, df);
	return d;
}

struct ranked {
	double p;
	unsigned at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

int stats_holm(double *p, unsigned nr)
{
	struct ranked *ranked = malloc((nr + 1) * sizeof(*ranked));
	double worst = 0;

	if (!ranked)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++)
		ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, nr, sizeof(*ranked), by_p);
	for (unsigned i = 0; i < nr; i++) {
		double adjusted = ranked[i].p * (nr - i);

		worst = adjusted > worst ? adjusted : worst;
		p[ranked[i].at] = worst > 1 ? 1 : worst;
	}
	free(ranked);
	return 0;
}
