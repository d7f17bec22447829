/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_MODEL_H
#define CLOCK_FIT_MODEL_H

#include "events/event.h"

/*
 * A clock model says what L0's clock showed when a machine's trace clock showed a given number of
 * ticks, and how wrong that can be.
 *
 * It is a list of pieces, each a straight line from its first tick on, so that drift, a stepped
 * clock, a suspended or migrated guest have a place.  Times before the first piece use the first
 * piece's line.  Mapping is integer arithmetic: two equal ticks give equal ns, and within a piece
 * order is kept.
 *
 *	ns = at_ns + ((ticks - from) * mult >> CLOCK_SHIFT)
 */
#define CLOCK_SHIFT 32

struct clock_piece {
	uint64_t from; /* ticks: first tick this line is for */
	ns_t at_ns;    /* L0 time at @from */
	uint64_t mult; /* ns per tick, times 2^CLOCK_SHIFT */
	ns_t bound_ns; /* the true L0 time is within this of the mapped one, anywhere in the
			  piece; CLOCK_NO_BOUND when nothing limits it */
};

#define CLOCK_NO_BOUND INT64_MAX

enum clock_method {
	CLOCK_METHOD_NONE,	/* nothing known: taken from the wall clocks, no bound */
	CLOCK_METHOD_REFERENCE, /* this is L0's own clock */
	CLOCK_METHOD_SAME,	/* same clock as the parent's (same clock uuid) */
	CLOCK_METHOD_TSC,	/* exact: TSC offset and scale known */
	CLOCK_METHOD_PAIRS,	/* convex hull over hypercall pairs */
	CLOCK_METHOD_PAIRS_CONTAINMENT,
	CLOCK_METHOD_CONTAINMENT, /* no pairs at all */
	CLOCK_METHOD_READINGS,	  /* of both machines' clocks and cycle counters */
	CLOCK_METHOD_READINGS_CONTAINMENT,
	CLOCK_METHOD_TOLD, /* the user gave it */
};

struct clock_model {
	struct clock_piece *pieces; /* owned, sorted by from */
	unsigned nr_pieces;
	enum clock_method method;
	unsigned nr_breaks; /* the clock jumped, or changed its rate, so often */
	/* The evidence that it was made from, by kind. */
	uint64_t nr_pairs;	/* hypercalls that both sides recorded */
	uint64_t nr_readings;	/* limits by readings of clocks and cycle counters */
	uint64_t nr_contained;	/* limits by when the vCPUs' threads ran, see clock/bounds/contain.h
				 */
	uint64_t nr_timers;	/* see clock/bounds/timers.h */
	uint64_t nr_violations; /* of these, that the final model still breaks, and events that it
				   puts where their vCPU did not run */
	ns_t worst_violation_ns; /* in the target clock's unit, like bounds */
};

/* Sums of times of hostile traces are made in 128 bits and come back by these. */
static inline ns_t clamp_ns(__int128 v)
{
	if (v > NS_MAX)
		return NS_MAX;
	return v < NS_MIN ? NS_MIN : (ns_t)v;
}

static inline uint64_t clamp_tick(__int128 v)
{
	if (v < 0)
		return 0;
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* Index of the piece that tick @t falls in; the first one for earlier ticks. */
unsigned clock_piece_at(const struct clock_model *c, uint64_t t);

ns_t clock_to_l0(const struct clock_model *c, ticks_t t);

/* The bound at this tick; CLOCK_NO_BOUND when unknown. */
ns_t clock_bound(const struct clock_model *c, ticks_t t);

/* Maps the times of @nr events that are in time order. */
void clock_map(const struct clock_model *c, const struct event *events, unsigned nr, ns_t *out);

/* The tick at which the model shows @t, rounded down: the way back, for queries by raw time. */
ticks_t clock_from_l0(const struct clock_model *c, ns_t t);

/* What it rests on: "hypercall pairs, containment and timers" names each kind that limits it. */
const char *clock_method_name(const struct clock_model *c);
void clock_model_release(struct clock_model *c);

#endif
