/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_PLAN_H
#define CLOCK_SAMPLE_PLAN_H

#include "source/trace.h"

/*
 * Which parts of a trace a sample is read from.  Packets are the smallest part one can begin with,
 * and they may be megabytes; a part can be left early, though.
 */
struct part {
	struct stream *stream;
	uint32_t first, nr;   /* packets */
	uint64_t from, until; /* ticks: nothing before is kept; leave at the first event after */
	uint64_t records_max; /* or after so many, wanted or not */
};

struct plan {
	struct part *list; /* owned; grouped by stream in the streams' order, ascending, apart */
	size_t nr, room;
};

/* Everything. */
int plan_whole(struct plan *p, const struct trace *t);

/* The first @records of up to @nr packets spread over each stream. */
int plan_heads(struct plan *p, const struct trace *t, unsigned nr, uint64_t records);

/* Bytes of events, once they are unpacked: a plan does not depend on how they are stored. */
uint64_t plan_packet_bytes(const struct packet *p);
uint64_t plan_trace_bytes(const struct trace *t);

/* @len_bytes in one piece from where the share @at, below 1, of each stream is past, but no more
 * than so many @records. */
int plan_chunk(struct plan *p, const struct trace *t, double at, uint64_t len_bytes,
	       uint64_t records);

/* The last packet of each stream, whole. */
int plan_tail(struct plan *p, const struct trace *t);

/* What holds the time from @begin to @end, in all streams, and of what comes before it in the same
 * packets no more than @before ticks. */
int plan_window(struct plan *p, const struct trace *t, uint64_t begin, uint64_t end,
		uint64_t before);

/* Puts the parts in order, and overlapping ones together; a plan is used after this only. */
void plan_settle(struct plan *p);
void plan_release(struct plan *p);

#endif
