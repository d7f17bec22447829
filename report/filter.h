/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "sonde/history.h"

/*
 * The highlight filter: what it does not match is shown faded.  The same language as the page's
 * (web/src/filter.ts):
 *
 *	machine:vm-a cpu:vm-a/1 container:web process:1234 thread:burn state:preempted text -text
 *
 * Terms are joined by "and", values behind one colon, split by commas, by "or"; "-" turns a term
 * around; "=" for ":" wants the whole word; text without a colon is looked for everywhere; "..."
 * keeps blanks.  A key may be cut ("m:"); upper and lower case are one, in ASCII.
 *
 *	ret = filter_init(&f, run, text);       0 or -ENOMEM; the text is copied
 *	... filter_context(&f, row) ...
 *	filter_release(&f);
 *
 * One that is all zero matches everything.
 */
struct filter_term;

struct filter {
	struct sonde_history *history;
	struct filter_term *terms; /* owned */
	unsigned nr;		   /* 0: everything matches */
	uint8_t *contexts;	   /* owned: answers so far, per context */
};

int filter_init(struct filter *f, struct sonde_history *history, const char *text);
void filter_release(struct filter *f);

/* Rows of the history's tables; -1 is something unknown. */
bool filter_context(struct filter *f, int64_t context);
bool filter_thread(const struct filter *f, int64_t thread);

/* A vCPU (a CPU row), and a thread, in a state: values of their attributes "state". */
bool filter_vcpu_state(const struct filter *f, int64_t vcpu, uint32_t state);
bool filter_thread_state(const struct filter *f, int64_t thread, uint32_t state);

#endif
