/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_COMPARE_CLUSTER_H
#define ANALYSIS_COMPARE_CLUSTER_H

#include "base/types.h"

/*
 * Groups of points that lie together: k-means, with the number of groups that gives the best
 * silhouette.  Nothing is random: it begins with the point farthest from the middle, and then with
 * those farthest from what it has.
 */
#define CLUSTERS_MAX 8
/* A mean silhouette below this says that there are no groups. */
#define SILHOUETTE_MIN 0.25
/* A silhouette compares each point with all others of each group.  Of a group that has more than
 * this, it takes so many, spread evenly over it in the order of the points: costs grow with the
 * number of points then, not with its square. */
#define CLUSTER_SAMPLE_MAX 100

/*
 * @points: @nr x @dims, row by row.  @group[i]: 0 .. return value - 1.  @silhouette[i]: from -1
 * (would fit better elsewhere) to 1; 0 where there is one group only.  Returns the number of
 * groups, 1 when the points form none, or -ENOMEM.
 */
int cluster(const double *points, unsigned nr, unsigned dims, int *group, double *silhouette);

#endif
