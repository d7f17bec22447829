/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_COVER_H
#define SOURCE_COVER_H

#include "source/trace.h"

/*
 * What a trace covers of its machine's CPUs.
 *
 *	ret = cover_find(&c, trace);
 *	for each of c.cpus[0 .. c.nr - 1]:
 *		...
 *	cover_release(&c);
 *
 * A CPU that writes no events may be idle or its stream lost: a CTF packet says until when its
 * stream goes, a trace.dat page does not.
 */
struct cpu_cover {
	bool there;	/* it has a stream */
	bool any;	/* ... of which something can be read */
	bool late;	/* ... what was recorded first is not there */
	bool ends;	/* ... which says when it ends */
	bool cut;	/* ... or whose end is missing: events follow its last */
	uint64_t first; /* ticks: from here on nothing is missing; UINT64_MAX without any */
	uint64_t last;	/* that moment, or its last event's */
	uint64_t last_event;
	int32_t running; /* TID that has had it since @first, by its first switch; -1 unknown */
};

struct cover {
	struct cpu_cover *cpus; /* owned; by number */
	unsigned nr;
	struct cpu_cover all; /* of them: first, and the last event (LTTng writes out its
				 last packets, and says when, some time after it has stopped) */
	bool unnumbered;      /* there are streams of unknown CPUs: any may be any's */
};

/* 0 or -ENOMEM; release it either way. */
int cover_find(struct cover *c, struct trace *t);
void cover_release(struct cover *c);

/* Streams end one after the other when tracing stops.  One that ends this long before the last was
 * cut short, and that is told.  However short it is, nothing is known of it behind its end. */
#define COVER_ENDS_TOGETHER_NS (NS_PER_SEC / 10)

/*
 * Raises t->nr_cpus to what the trace itself shows: threads were woken for a CPU, or moved to one,
 * or its recorder listed it, and there is no stream of it.  That is a problem of the trace.  So is
 * a stream without events of a CPU that was given work: it is marked as cut.
 * 0 or -ENOMEM.
 */
int cover_count_cpus(struct trace *t);

#endif
