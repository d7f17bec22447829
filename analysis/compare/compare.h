/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_COMPARE_COMPARE_H
#define ANALYSIS_COMPARE_COMPARE_H

#include "analysis/rows.h"
#include "analysis/compare/match_machines.h"
#include "base/map.h"

/*
 * What a history measured, as many named series: each measure's value in each of COMPARE_SLICES
 * equal parts of the window.  A measure is told by machine, vCPU and what it is, in words, so that
 * those of two histories can be matched.
 */
#define COMPARE_SLICES 24
/* Slices in which a measure must be known in either history; with fewer, nothing is said of it. */
#define COMPARE_SLICES_MIN 6
/* So much of a slice that is known may be unknown: less than most changes that are told. */
#define KNOWN_LACKS 0.02

/* What must be known in a slice for a measure's value there to count.  Where it is not, the value
 * is what was seen, and may be any amount too small. */
enum measure_needs {
	NEEDS_STATE,   /* what the vCPU, or the machine's CPUs, did at all */
	NEEDS_CODE,    /* and of the guest's code, whether user, kernel or a nested VM's */
	NEEDS_CAUSE,   /* and what its waits were for */
	NEEDS_CULPRIT, /* and what of a traced machine kept it off the CPU */
	NEEDS_ORIGIN,  /* and of which nested VM's code exits were */
	NR_NEEDS
};

struct measure {
	const char *machine; /* in measures.arena */
	int cpu;	     /* -1: of the whole machine */
	const char *what;
	bool is_share; /* values are parts of 1; else they are counts per second */
	bool in_cpus;  /* the share is of one CPU: of n CPUs it is n at most */
	enum measure_needs needs;
	/* A history may not tell at all what it needs, as that of a host alone.  Where neither
	 * does, both leave out the same, and NEEDS_STATE is enough. */
	bool or_state;
	const char *by; /* NULL, or the machine whose own trace tells this measure from others */
	double values[COMPARE_SLICES];
	uint32_t next; /* the next of the same hash, counted from 1; 0 none */
};

/* Slices that are known of a machine or a vCPU, a bit each. */
struct known {
	const char *machine; /* "": the physical CPUs */
	int cpu;
	uint32_t slices[NR_NEEDS];
	uint32_t next; /* as in measure */
};

struct measures {
	struct arena arena;
	const char *const *names; /* per machine: what it is called here; NULL: by its name */
	struct measure *list;	  /* owned */
	size_t nr, room;
	struct map
		by_hash; /* measures_hash() -> the last of the list that has it, counted from 1 */
	struct known *known; /* owned */
	size_t nr_known, known_room;
	struct map known_by_hash;
};

uint64_t measures_hash(const char *machine, int cpu, const char *what);

/* @names: per machine of the history, what it shall be called (match.h); NULL: by its name. */
int measures_take(struct measures *m, struct sonde_history *history, const char *const *names,
		  ns_t begin, ns_t end, struct error *err);
void measures_release(struct measures *m);

/* The measure of that name in another history, NULL when it has none. */
const struct measure *measures_find(const struct measures *m, const struct measure *like);

/* What a machine of the history is called in its measures. */
const char *measures_machine(const struct measures *m, const struct sonde_history *history,
			     int64_t row);

/* known_slices.c: in which slices a measure's values count, a bit each. */
uint32_t known_slices(const struct measures *m, const struct measure *measure,
		      enum measure_needs needs);
/* Takes down that of slice @slice @part of @of is not known: too much or not.  false: memory is
 * out. */
bool known_lacks(struct measures *m, const char *machine, int cpu, unsigned slice,
		 enum measure_needs needs, int64_t part, int64_t of);
/* Takes down what is known in slice @slice, [begin, end), but for NEEDS_CULPRIT and NEEDS_ORIGIN.
 */
int known_take(struct measures *m, struct sonde_history *history, unsigned slice, ns_t begin,
	       ns_t end, const struct sonde_rows *states, struct error *err);

/* sonde_compare() with machines matched as @match says. */
struct compare_window {
	struct sonde_history *history;
	ns_t begin, end;
};

int compare_windows(struct sonde_rows **out, const struct compare_window *before,
		    const struct compare_window *after, const struct match *match,
		    struct error *err);

#endif
