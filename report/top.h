/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_TOP_H
#define REPORT_TOP_H

#include "base/arena.h"
#include "base/error.h"
#include "sonde/history.h"

/*
 * What `sonde top` tells of a window: what each physical CPU, VM and vCPU did and waited for and
 * who kept it from running, and the threads.  Made of the same rows as all reports; a run of a
 * second that was just recorded is as good as any.
 *
 *	ret = top_make(&top, run, begin, end, TOP_BY_CPU, 20, &err);
 *	... top.rows ...
 *	top_release(&top);
 *
 * Times of a row are of the window: of a CPU and a vCPU they add up to its length.
 */
enum top_kind { TOP_CPU, TOP_VM, TOP_VCPU, TOP_THREAD, NR_TOP_KINDS };

/* Which threads come first. */
enum top_order {
	TOP_BY_CPU,  /* those that had the most of the CPUs */
	TOP_BY_KEPT, /* those that wanted one and did not get it */
};

/* Where the time went; which of them a kind has, top_columns() says. */
enum top_part {
	TOP_RUN,   /* its own code ran: a CPU's threads, a vCPU's guest code, a thread */
	TOP_GUEST, /* of a CPU: code of VMs */
	TOP_HYP,   /* hypervisor work, VMM included; of a vCPU: on its behalf */
	TOP_NEST,  /* of a vCPU: hypervisors worked for the vCPU it was on, or for one in it */
	TOP_IRQ,   /* interrupt handlers; of a vCPU: of the machines around it */
	TOP_OFF,   /* a vCPU's lost time (docs/lost-time.md); of a thread: it wanted to run */
	TOP_WAIT,  /* of a CPU: idle */
	TOP_UNKNOWN,
	TOP_GONE, /* of a vCPU: its thread had ended */
	NR_TOP_PARTS
};

/* The greatest of several causes. */
struct top_cause {
	const char *text; /* in the arena; NULL: there is none */
	int64_t time_ns;
};

struct top_row {
	enum top_kind kind;
	int64_t machine, cpu, thread; /* rows of the history's tables, -1 none */
	int number;		      /* of a CPU */
	const char *name;	      /* in the arena */
	int64_t parts[NR_TOP_PARTS];
	int64_t all_ns;		    /* what shares are of: the window, of a VM once per vCPU */
	struct top_cause mostly;    /* of a CPU: what ran there most */
	struct top_cause waits_for; /* of a vCPU */
	struct top_cause off_by;    /* who ran instead, while it was ready itself */
};

struct top {
	int64_t begin, end;
	struct top_row *rows; /* owned: CPUs, then each VM and its vCPUs, then threads */
	unsigned nr, room;
	unsigned threads; /* that ran or wanted to, shown or not */
	int64_t lost;	  /* events that are missing in the window, -1 not counted */
	struct arena arena;
};

/* 0, or -errno with a sentence. */
int top_make(struct top *top, struct sonde_history *history, int64_t begin, int64_t end,
	     enum top_order order, unsigned threads_max, struct error *err);
void top_release(struct top *top);

/* ---- as text ------------------------------------------------------------------------------- */

#define TOP_COLUMNS_MAX 9

/* A column of the table of a kind: a part as a share, or a text. */
struct top_column {
	const char *title;
	const char *name;  /* for programs */
	const char *words; /* in a sentence */
	enum top_part part;
	enum { TOP_NAME, TOP_SHARE, TOP_MOSTLY, TOP_WAITS_FOR, TOP_OFF_BY } what;
};

/* VMs and vCPUs stand in one table, and have the same. */
const struct top_column *top_columns(enum top_kind kind, unsigned *nr);

/* One cell: "12.3%", "14.0% h-burn[519]". */
char *top_cell(const struct top_row *row, const struct top_column *column, char *buf, size_t room);

#endif
