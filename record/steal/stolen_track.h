/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_TRACK_H
#define RECORD_STEAL_STOLEN_TRACK_H

#include "base/types.h"
#include "channel/stolen.h"

/*
 * Makes stretches in which a vCPU was held up out of what the BPF program tells
 * (channel/holdups.h).
 *
 * A wait for a CPU is cut where another process begins to run there: each stretch has one class.
 * Who ran is only told as a class: a process that has vCPUs is a VM, this one's or another.
 * Who began to wait before anybody listened is known from its next wait on.
 */
struct holdup;

struct hold {
	int tid;
	uint32_t tgid, vcpu;
	int64_t begin_ns, length_ns; /* CLOCK_MONOTONIC */
	enum st_class kind;
	uint32_t reason;    /* of an exit */
	bool moved, is_vmx; /* moved: it goes on on another CPU than it ran on */
	int64_t tsc_offset; /* of the vCPU; ratio 0: not known yet */
	uint64_t tsc_ratio;
	/* Exits that were too short to be told one by one, in begin_ns + length_ns' place: */
	uint32_t sum_nr; /* 0: this is one stretch */
	int64_t sum_ns, longest_ns;
};

struct stolen_track;

/* -ENOMEM: NULL. */
struct stolen_track *stolen_track_new(void (*take)(void *data, const struct hold *hold),
				      void *data);

/* In the order in which they were told; those of another order do no harm. */
void stolen_track_put(struct stolen_track *t, const struct holdup *h);
void stolen_track_free(struct stolen_track *t);

#endif
