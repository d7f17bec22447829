/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_TOP_H
#define TERM_TOP_H

#include "report/top.h"

#include <stdio.h>

/*
 * `sonde top` with all of the terminal for it: tables of CPUs, VMs with their vCPUs, and threads,
 * of one window after the other: of now, or of a history that is scrolled through.
 */
struct top_window {
	struct top top;	  /* the screen's, once it has been given */
	char about[256];  /* the first line: when, what it cost */
	char notice[256]; /* "" nothing */
	bool ticks_are_ns;
};

struct top_view {
	FILE *in, *out;
	bool color;
	bool (*stop)(void);

	/*
	 * Live: makes the next window; @wait is called meanwhile, returns after @ms or so, false to
	 * give up (-EINTR).  NULL: of a history.
	 */
	int (*next)(void *data, bool (*wait)(int ms, void *wait_data), void *wait_data,
		    enum top_order order, struct top_window *out, struct error *err);
	/* Of a history: the window [@begin, @end) of it. */
	int (*at)(void *data, int64_t begin, int64_t end, enum top_order order,
		  struct top_window *out, struct error *err);
	void *data;
	enum top_order order;	    /* of threads, to begin with */
	int64_t run_begin, run_end; /* what there is to scroll through */
	int64_t begin, end;	    /* the first window */
};

/* 0, -EINTR when stop() ended it, or what went wrong. */
int top_run(const struct top_view *view, struct error *err);

#endif
