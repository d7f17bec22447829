/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_KIN_H
#define CLOCK_KIN_H

#include "clock/sample/declared.h"
#include "clock/topology.h"

/*
 * Which traces are of one kernel.  A clock's UUID and a boot ID are a trace's own word, and a guest
 * that has seen another's trace can repeat them.  So what both recorded is compared: at one moment
 * a CPU of a kernel switches between the same two threads, whoever recorded it.  Of each trace some
 * windows are read of the time that both have, and a switch is looked for among the nearest few of
 * the other's: one that is not found there says nothing.  A claim that most of these switches
 * contradict is none.  One that nothing can contradict (traces of other times, or without switches)
 * is not borne out: it counts where nothing else tells what the trace is.
 */
struct kin {
	struct kinship {
		bool claims;	 /* another trace says the same; else what follows is 0 */
		unsigned kernel; /* the first trace of that kernel; its own index when it is that */
		bool borne_out;	 /* it is of the same kernel as that trace, by switches */
		bool refuted;	 /* it is no kin of trace @not_of, whose kernel it claims */
		unsigned not_of;
		uint64_t tested, against; /* switches */
	} * list;			  /* owned */
	unsigned nr;
};

/* Fills *out, for kin_release() in any case.  @declared: [nr], read.  -ENOMEM. */
int kin_find(struct kin *out, const struct topology_input *in, const struct declared *declared,
	     unsigned nr);
void kin_release(struct kin *k);

/* Whether traces @a and @b have one clock, by UUID or boot ID, and nothing says that they lie. */
bool kin_share_clock(const struct kin *k, unsigned a, unsigned b);

/* ... and switches say that they do. */
bool kin_borne_out(const struct kin *k, unsigned a, unsigned b);

/* The clocks' UUIDs are known, and one. */
bool kin_one_clock(const struct trace_clock *a, const struct trace_clock *b);

/* The identity alone: a clock's UUID, or a boot ID, that both have. */
bool kin_claims(const struct topology_input *a, const struct declared *of_a,
		const struct topology_input *b, const struct declared *of_b);

/* Two clocks that are one, if they are of one kernel. */
bool kin_comparable(const struct trace *a, const struct trace *b);

#endif
