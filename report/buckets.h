/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_BUCKETS_H
#define REPORT_BUCKETS_H

#include "sonde/history.h"

/*
 * Charts: a window of time cut into equal parts, and how much of something is in each.
 *
 * load         time of all physical CPUs together per machine and mode; adds up to the window ×
 * CPUs exit_counts  how often a vCPU left its guest
 */
#define BUCKETS_MAX 600	  /* of a chart */
#define EXITS_MAX 1000000 /* changes looked at for one; where there are more, a part is counted */

struct load {
	int64_t *time_ns; /* owned: [machine][mode][bucket] */
	int64_t nr_machines;
	unsigned nr_buckets;
	unsigned nr_cpus;
};

/* @nr ≤ BUCKETS_MAX.  0 or -errno; to be released in any case. */
int load_init(struct load *l, struct sonde_history *history, int64_t begin, int64_t end,
	      unsigned nr);
void load_release(struct load *l);

/* The buckets of a machine and mode. */
int64_t *load_cells(const struct load *l, unsigned machine, unsigned mode);

/* Where bucket @b of [begin, end) begins; with b = nr, the end. */
static inline int64_t bucket_begin(int64_t begin, int64_t end, unsigned nr, unsigned b)
{
	return begin + (int64_t)((__int128)(end - begin) * b / nr);
}

struct exit_counts {
	uint32_t *counts; /* owned: per bucket, of the vCPU asked for last */
	int64_t begin, end;
	unsigned nr_buckets;
	bool about;    /* counted in the first part of each bucket, and estimated for all of it */
	unsigned left; /* of the changes that may be looked at */
	bool inside;   /* of an exit */
};

int exit_counts_init(struct exit_counts *x, int64_t begin, int64_t end, unsigned nr);
void exit_counts_release(struct exit_counts *x);

/* -ENOENT: the CPU (a row) has no exits. */
int exit_counts_of(struct exit_counts *x, struct sonde_history *history, int64_t cpu);

#endif
