/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_WHY_WHY_H
#define ANALYSIS_WHY_WHY_H

#include "analysis/rows.h"
#include "analysis/sentence.h"

/*
 * Verdicts: what cost time, who paid, who took it, in a sentence.  Each source is a file
 * (why_*.c) with a function that adds verdicts; why.c sorts them and makes them facts.
 */
struct verdict {
	/* "vcpu", "thread", "hypervisor", "wait", "wakeup", "unknown", "attempt" */
	const char *kind;
	int64_t machine;   /* whom it is about */
	int64_t vcpu;	   /* CPU row, -1 */
	int64_t thread;	   /* row, -1 */
	ns_t cost_ns;	   /* 0 for what is not known */
	ns_t begin, end;   /* where to look: its worst stretch */
	struct culprit by; /* the greatest cause */
	ns_t by_ns;	   /* its part of the cost */
	int64_t count;	   /* how often it came to that */
	const char *cause; /* what it waited for, or the exit's name; "" */
	struct sentence says;
};

struct why {
	struct sonde_rows *out;
	struct sonde_history *history;
	ns_t begin, end;
};

/* The columns of all tables that are verdicts. */
enum why_column {
	WHY_TEXT,
	WHY_COST,
	WHY_SHARE,
	WHY_BEGIN,
	WHY_END,
	WHY_KIND,
	WHY_MACHINE,
	WHY_VCPU,
	WHY_THREAD,
	WHY_BY_MACHINE,
	WHY_BY_VCPU,
	WHY_BY_THREAD,
	WHY_MODE,
	WHY_BY_TIME,
	WHY_COUNT,
	WHY_CAUSE,
	WHY_NR_COLUMNS
};
extern const struct sonde_column why_columns[WHY_NR_COLUMNS];

struct verdict why_verdict(const struct why *w, const char *kind, int64_t machine);
void why_add(struct why *w, const struct verdict *v);

/* A verdict's cell; strings are its own. */
union sonde_cell why_cell(const struct why *w, const struct verdict *v, enum why_column column);

/* The sources. */
int why_delays(struct why *w, struct error *err);
int why_hypervisors(struct why *w, struct error *err);
int why_waits(struct why *w, struct error *err);
int why_unknown(struct why *w, struct error *err);
/* ... since events are missing: each gap once, of the physical machine with what it costs. */
int why_gaps(struct why *w, struct error *err);
struct verdict why_not_known(const struct why *w, const char *what, int64_t machine);
int why_refused(struct why *w, struct error *err);

/* The rows of another analysis over the same window; the caller releases them. */
int why_rows(const struct why *w, const struct table_def *table, struct sonde_rows **out,
	     struct error *err);

#endif
