/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_TOPOLOGY_H
#define CLOCK_TOPOLOGY_H

#include "clock/fit/model.h"
#include "source/trace.h"

/*
 * The topology: which trace is which machine's, which machine runs inside which, and how each
 * machine's clock relates to L0's.  It is found from the evidence in the traces (a first, sparse
 * pass), and corrected by what the user says.
 *
 * Machines without a trace are not here, but for VMs in which there are some that have one: model/
 * finds them while it fuses.
 */

struct vcpu_hint {
	int vcpu;	   /* number of the CPU in the guest's own trace */
	int32_t host_tid;  /* the parent's thread that runs it */
	uint64_t evidence; /* number of hypercalls, or entries that fit, that say so */
};

#define MACHINE_EVIDENCE 400 /* bytes */

struct machine {
	char name[64];	/* unique; host name, or what the user said; "" not known */
	int parent;	/* index; -1 for L0 */
	unsigned level; /* 0 for L0, 1 for its VMs ... */
	struct trace
		*trace; /* not owned; NULL: a VM without one, of which only a guest's is there */
	struct clock_model clock;     /* to L0, composed through the parents */
	struct clock_model to_parent; /* to the parent's ticks; its bounds are parent ticks, too */
	struct vcpu_hint *vcpus;      /* owned */
	unsigned nr_vcpus;
	int vm_pid;	     /* as the input says */
	bool carries_blocks; /* hypercalls of the hypertrace format were seen in its trace */
	bool makes_calls;    /* it was seen to make hypercalls: it is a VM itself */
	char evidence[MACHINE_EVIDENCE]; /* how role and parent were found, in words */
};

/* An input that cannot be placed beside the others. */
struct topology_apart {
	bool apart;
	char name[64];
	char why[300]; /* in words */
	struct clock_model
		to_l0; /* owned: its ticks to those of L0, where L0 saw it run; else no pieces */
};

struct topology {
	struct machine *machines; /* [0] is L0; parents come before their children */
	unsigned nr_machines;
	bool ticks_are_ns;	/* false: L0's clock is a cycle counter of unknown rate, and "ns"
				   everywhere in this run are in truth its cycles */
	uint64_t tsc_khz;	/* L0's cycle counter, measured; 0 when not needed or unknown */
	int64_t wall_offset_ns; /* add to L0 ns for wall-clock time, when wall_known */
	bool wall_known;
	struct problems problems;
	struct topology_apart *apart; /* owned, [nr_apart]; only when topology_find() says -EXDEV:
					 one per input */
	unsigned nr_apart;
};

struct topology_input {
	struct trace *trace;
	const char *name;	  /* NULL: find out */
	bool named;		  /* @name is the user's word: no other has it */
	bool guessed;		  /* ... is but what an earlier search found */
	const char *parent;	  /* name of the parent, "-" for L0, NULL: find out */
	const struct trace *host; /* the parent's trace, where @parent is known by that */
	bool recorded;		  /* @parent is the recorder's word, not the user's */
	unsigned recording;	  /* whose manifest names it, from 1 on; 0: none does */
	int vm_pid; /* the process of the parent that it is, as the recorder says; 0 unknown */
	const char *because; /* how @parent is known, in words; NULL: the user or the recorder says
				so */
	int64_t tsc_offset;  /* valid when has_tsc_offset: guest TSC = parent TSC + offset */
	bool has_tsc_offset;
};

struct topology_options {
	unsigned threads; /* 0 = as many as CPUs */
	uint64_t tsc_khz; /* rate of L0's TSC when the user knows it; 0 = measure */
	/* Called now and then, in the caller's thread, with the share done, 0..1; false: stop, and
	 * topology_find() returns -EINTR.  May be NULL. */
	bool (*progress)(double done, void *data);
	void *progress_data;
};

/*
 * Finds machines, parents and clocks; docs/clocks.md says how.  Memory is bounded whatever the
 * traces' length.
 * Fails with -EXDEV when some inputs cannot be placed beside the others: out->apart says which, and
 * why; without these the rest can be placed, and they may be placed beside each other.  -EINVAL:
 * what the user says cannot be.  In any case topology_release() is to be called.
 */
int topology_find(struct topology *out, const struct topology_input *in, unsigned nr,
		  const struct topology_options *opt, struct error *err);
void topology_release(struct topology *t);

#endif
