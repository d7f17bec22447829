/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare/cluster.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 100

struct problem {
	const double *points;
	unsigned nr, dims;
	double *centres;			/* owned: CLUSTERS_MAX x dims */
	int *group;				/* owned: of the number of groups at hand */
	double *silhouette;			/* owned */
	unsigned (*sample)[CLUSTER_SAMPLE_MAX]; /* owned: points of each group, ... */
	unsigned nr_sample[CLUSTERS_MAX];	/* ... and how many */
};

static double distance(const double *a, const double *b, unsigned dims)
{
	double sum = 0;

	for (unsigned i = 0; i < dims; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum);
}

static const double *point(const struct problem *p, unsigned i)
{
	return p->points + (size_t)i * p->dims;
}

static double *centre(const struct problem *p, unsigned k)
{
	return p->centres + (size_t)k * p->dims;
}

/* Distance to the nearest of the first @k centres, and which that is. */
static double nearest(const struct problem *p, unsigned i, unsigned k, int *which)
{
	double least = DBL_MAX;

	for (unsigned c = 0; c < k; c++) {
		double d = distance(point(p, i), centre(p, c), p->dims);

		if (d < least) {
			least = d;
			*which = (int)c;
		}
	}
	return least;
}

static void first_centres(const struct problem *p, unsigned k)
{
	memset(p->centres, 0, p->dims * sizeof(*p->centres));
	for (unsigned i = 0; i < p->nr; i++) {
		for (unsigned d = 0; d < p->dims; d++)
			p->centres[d] += point(p, i)[d] / p->nr;
	}
	/* The middle only serves to find the first. */
	for (unsigned c = 0; c < k; c++) {
		unsigned far = 0;
		double most = -1;
		int which;

		for (unsigned i = 0; i < p->nr; i++) {
			double d = nearest(p, i, c ? c : 1, &which);

			if (d > most) {
				most = d;
				far = i;
			}
		}
		memcpy(centre(p, c), point(p, far), p->dims * sizeof(*p->centres));
	}
}

static bool assign(const struct problem *p, unsigned k)
{
	bool changed = false;

	for (unsigned i = 0; i < p->nr; i++) {
		int which = 0;

		nearest(p, i, k, &which);
		changed |= p->group[i] != which;
		p->group[i] = which;
	}
	return changed;
}

static void move_centres(const struct problem *p, unsigned k)
{
	for (unsigned c = 0; c < k; c++) {
		unsigned nr = 0;

		for (unsigned i = 0; i < p->nr; i++)
			nr += p->group[i] == (int)c;
		if (!nr)
			continue;
		memset(centre(p, c), 0, p->dims * sizeof(*p->centres));
		for (unsigned i = 0; i < p->nr; i++) {
			for (unsigned d = 0; d < p->dims && p->group[i] == (int)c; d++)
				centre(p, c)[d] += point(p, i)[d] / nr;
		}
	}
}

/* Those of each group that its points are compared with. */
static void take_sample(struct problem *p, unsigned k)
{
	unsigned size[CLUSTERS_MAX] = {0}, seen[CLUSTERS_MAX] = {0};

	for (unsigned i = 0; i < p->nr; i++)
		size[p->group[i]]++;
	memset(p->nr_sample, 0, k * sizeof(*p->nr_sample));
	for (unsigned i = 0; i < p->nr; i++) {
		int g = p->group[i];
		size_t wanted = size[g] < CLUSTER_SAMPLE_MAX ? size[g] : CLUSTER_SAMPLE_MAX;

		/* When its share of the group has grown by one more. */
		if (++seen[g] * wanted / size[g] > p->nr_sample[g])
			p->sample[g][p->nr_sample[g]++] = i;
	}
}

/* Mean distance of @i to the others of group @k; -1 there are none. */
static double mean_distance(const struct problem *p, unsigned i, int k)
{
	double sum = 0;
	unsigned nr = 0;

	for (unsigned s = 0; s < p->nr_sample[k]; s++) {
		unsigned j = p->sample[k][s];

		if (j == i)
			continue;
		sum += distance(point(p, i), point(p, j), p->dims);
		nr++;
	}
	return nr ? sum / nr : -1;
}

/* Each point's, and their mean. */
static double silhouettes(struct problem *p, unsigned k)
{
	double sum = 0;

	take_sample(p, k);
	for (unsigned i = 0; i < p->nr; i++) {
		double own = mean_distance(p, i, p->group[i]);
		double other = DBL_MAX;

		for (unsigned c = 0; c < k; c++) {
			double d = (int)c == p->group[i] ? -1 : mean_distance(p, i, (int)c);

			if (d >= 0 && d < other)
				other = d;
		}
		p->silhouette[i] = 0; /* alone in its group */
		if (own >= 0 && other < DBL_MAX && (own > 0 || other > 0))
			p->silhouette[i] = (other - own) / (own > other ? own : other);
		sum += p->silhouette[i];
	}
	return sum / p->nr;
}

static void search(struct problem *p, int *group, double *silhouette, int *found)
{
	unsigned most = p->nr - 1 < CLUSTERS_MAX ? p->nr - 1 : CLUSTERS_MAX;
	double best = SILHOUETTE_MIN;

	for (unsigned k = 2; k <= most; k++) {
		double mean;

		first_centres(p, k);
		memset(p->group, -1, p->nr * sizeof(*p->group));
		for (unsigned round = 0; round < ROUNDS_MAX && assign(p, k); round++)
			move_centres(p, k);
		mean = silhouettes(p, k);
		if (mean <= best)
			continue;
		best = mean;
		*found = (int)k;
		memcpy(group, p->group, p->nr * sizeof(*group));
		memcpy(silhouette, p->silhouette, p->nr * sizeof(*silhouette));
	}
}

int cluster(const double *points, unsigned nr, unsigned dims, int *group, double *silhouette)
{
	struct problem p = {.points = points, .nr = nr, .dims = dims};
	int found = 1;

	memset(group, 0, nr * sizeof(*group));
	memset(silhouette, 0, nr * sizeof(*silhouette));
	if (nr < 3)
		return 1;
	p.centres = calloc((size_t)CLUSTERS_MAX * dims, sizeof(*p.centres));
	p.group = calloc(nr, sizeof(*p.group));
	p.silhouette = calloc(nr, sizeof(*p.silhouette));
	p.sample = calloc(CLUSTERS_MAX, sizeof(*p.sample));
	if (p.centres && p.group && p.silhouette && p.sample)
		search(&p, group, silhouette, &found);
	else
		found = -ENOMEM;
	free(p.centres);
	free(p.group);
	free(p.silhouette);
	free(p.sample);
	return found;
}
