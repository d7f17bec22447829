/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_LIFE_PHASES_H
#define ANALYSIS_LIFE_PHASES_H

#include "analysis/by_machine.h"
#include "analysis/rows.h"

/*
 * Phases of a VM's life (its start, its end), and what the time of each went into.  boot.c and
 * shutdown.c find them.
 */
struct phase {
	int64_t vm;
	const struct by_machine *cpus;
	const char *name;     /* lives as long as the rows */
	const char *evidence; /* how its end was found, likewise */
	ns_t begin, end;
	ns_t doubt_ns;	/* the end may have been this much earlier */
	int64_t thread; /* of the host: the VMM's, while it has no vCPU that runs; -1: its vCPUs
			   count */
};

#define PHASE_NR_COLUMNS 14
extern const struct sonde_column phase_columns[PHASE_NR_COLUMNS];

/* Adds the row of a phase, cut to [begin, end); nothing when nothing of it is in there.  A gap in
 * it adds to its doubt. */
int phase_add(struct sonde_rows *out, struct sonde_history *history, const struct phase *p,
	      ns_t begin, ns_t end, struct error *err);

/* The VMM's main thread, when the host's trace tells processes; -1. */
int64_t vmm_thread(struct sonde_history *history, int64_t vm, ns_t t);

#endif
