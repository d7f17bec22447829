/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_LINES_H
#define TERM_LINES_H

#include "base/map.h"
#include "base/members.h"
#include "sonde/history.h"

/*
 * The lines of the picture: the tree machine → physical CPUs, vCPUs, containers, threads, VMs, as
 * on the page (web/src/rows.ts).  A line of a machine or a container shows the same attribute as a
 * physical CPU's, but only where its own code ran: laid over each other the machines' lines give
 * the physical ones back.
 *
 * Groups are opened and closed; lines_build() makes the list anew, and costs nothing but that: what
 * is in which machine is listed once.
 */
enum line_kind {
	LINE_GROUP,
	LINE_CPU,    /* contexts: what ran on a physical CPU */
	LINE_VCPU,   /* a vCPU's state */
	LINE_TASK,   /* the thread on a vCPU, as its own kernel sees it */
	LINE_THREAD, /* a thread's state */
	LINE_EXITS,  /* how often a vCPU left its guest: no attribute, term/exits.h counts */
};

struct line {
	enum line_kind kind;
	uint64_t id; /* the same after each lines_build() */
	unsigned depth;
	char label[96];
	char note[48]; /* small print behind it */
	uint32_t attr; /* SONDE_NO_ATTR for groups */
	int64_t machine;
	int64_t cpu;			   /* row, -1 none */
	int64_t thread;			   /* row, -1 none */
	int64_t only_machine, only_pid_ns; /* rows: what the line is limited to, -1 all */
	bool open;			   /* of a group */
};

struct lines {
	struct sonde_history *history;
	struct line *list; /* owned */
	unsigned nr, room;
	struct map open;  /* id of a group -> open; others are as they are by default */
	struct map extra; /* threads (rows) that are shown beside the busiest */
	int64_t *busy; /* owned: threads (rows), the busiest first; the owner calls lines_busy() */
	size_t nr_busy;
	struct members busy_of;			 /* places in @busy, by machine */
	struct members vms, containers, threads; /* rows, by machine; made when first needed */
	bool no_memory;
};

void lines_init(struct lines *l, struct sonde_history *history);
void lines_release(struct lines *l);

/* 0 or -ENOMEM. */
int lines_build(struct lines *l);

/* Who is busy in [begin, end): which threads come first is decided by that.  0 or -errno. */
int lines_busy(struct lines *l, int64_t begin, int64_t end);

void lines_toggle(struct lines *l, const struct line *line);
void lines_open_all(struct lines *l, bool open);

/* The line with that id; -1 when it is not in the list. */
int lines_find(const struct lines *l, uint64_t id);

/*
 * The line of the next thing, after line @after, whose name holds @text: a machine, vCPU, container
 * or thread; unless @again, one that is called just that comes before the others.  What hides it is
 * opened.  -1: there is none.
 */
int lines_search(struct lines *l, const char *text, int after, bool again);

/* What a line shows of a value of its attribute; 0 when that is not its own. */
uint32_t line_value(struct sonde_history *history, const struct line *line, uint32_t value);

#endif
