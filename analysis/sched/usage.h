/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_USAGE_H
#define ANALYSIS_SCHED_USAGE_H

#include "query/kept.h"
#include "query/counts.h"
#include "analysis/rows.h"
#include "analysis/keyed.h"

/*
 * Usage: how long each context ran on each physical CPU in a window.  It is the one source of all
 * tables of CPU time, so that each of them adds up to window length x physical CPUs.
 */
struct usage {
	int cpu;			     /* physical */
	int64_t row;			     /* of the context; -1 = the history says nothing */
	const struct sonde_context *context; /* the history's, or one of which nothing is known */
	ns_t time_ns;
};

/* What is alike in all that a table may tell apart: a thread on a CPU, whatever it did there. */
struct usage_sum {
	int cpu; /* physical */
	unsigned machine;
	int64_t thread; /* -1 not known */
	ns_t per_mode[QUERY_NR_MODES];
	ns_t total_ns;
};

struct usages {
	struct kept kept;
	ns_t begin, end;
	struct usage *list; /* owned */
	size_t nr;
	size_t room;
	ns_t total_ns;	   /* window length x physical CPUs */
	struct keyed sums; /* struct usage_sum, in the order in which @list meets them */
};

/* Those of a window; they are the history's, which has them until the next question. */
int usages_get(const struct usages **out, struct sonde_history *history, ns_t begin, ns_t end,
	       struct error *err);

/*
 * Grouping: the sum of usages with the same key, one row each, longest first.  A row is: the
 * grouping's own columns, then total_ns, share_ppm (of all CPU time) and the time per mode: the
 * columns USAGE_COLUMNS below.
 */
#define USAGE_KEY_CELLS 5

struct grouping {
	unsigned nr_cells; /* own columns */
	/* Fills @cells; false leaves the time out.  The first @nr_key cells are the key. */
	bool (*cells)(struct sonde_history *history, const struct usage_sum *u,
		      union sonde_cell cells[USAGE_KEY_CELLS]);
	unsigned nr_key;
};

int usage_group(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		const struct grouping *g, struct error *err);

/* clang-format off */
#define USAGE_COLUMNS                                                                              \
	{"total", "TIME", SONDE_COL_NS, "time on physical CPUs"},                                  \
	{"share", "SHARE", SONDE_COL_PPM, "of all CPU time in the window, known or not"},          \
	{"user", "USER", SONDE_COL_NS, "in user space"},                                           \
	{"syscall", "SYSCALL", SONDE_COL_NS, "in system calls"},                                   \
	{"kernel", "KERNEL", SONDE_COL_NS, "in the kernel, not known more exactly"},               \
	{"task", "TASK", SONDE_COL_NS, "in a thread, user or kernel not known"},                   \
	{"irq", "IRQ", SONDE_COL_NS, "in hardirqs"},                                     \
	{"softirq", "SOFTIRQ", SONDE_COL_NS, "in softirqs"},                                \
	{"hypervisor", "HYPERVISOR", SONDE_COL_NS, "between VM exits and entries"},                \
	{"guest", "GUEST", SONDE_COL_NS, "in guest mode: user, kernel, handler or idle, not known which"}, \
	{"idle", "IDLE", SONDE_COL_NS, "idle"},                                                    \
	{"unknown", "UNKNOWN", SONDE_COL_NS,                                                       \
	 "not known, counted for the host"}
/* clang-format on */

#endif
