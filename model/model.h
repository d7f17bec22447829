/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "history/history.h"
#include "merge/merge.h"

/*
 * The model: one state machine for the whole stack.  It eats the merged stream in L0 time, keeps
 * the state of every machine, CPU, vCPU, thread and namespace, and writes what changes into a
 * history (docs/formats/schema.md).
 *
 * Every machine's CPUs have a state of their own, driven by that machine's own events.  What runs
 * on a physical CPU is found by walking from its L0 thread into the guest that this thread has
 * entered, and so on inwards.  docs/fusion.md has all the rules.
 *
 * The folders, from the top down.  A file uses those of its own folder and of those below it, and
 * no two files need each other (tools/check-layers).
 *
 *	feed		an event comes in, or a moment that was known beforehand
 *	tables		what is known becomes rows
 *	dump		what was there when the recording began
 *	kvm		what a host's KVM events say of its guests
 *	sched		who has which CPU, who waits for one and why, and what gaps leave unknown
 *	guest		what runs inside: guest mode, nested guests, the context of a pCPU
 *	wake		waits of vCPUs, and what ends them
 *	io		requests to devices, on their way through the layers
 *	boot		what a kernel does before it has a user space
 *	identity	which machine, VM, process, thread, namespace, cgroup it is
 *	state		the structs that all of these change
 *
 * In the tables that model_close() writes, a machine of the topology has the row of its index in
 * the topology; machines without a trace come after them.
 */
struct model;

/*
 * Gaps in traces that nothing in these tells of: others' events show them, and only later
 * (model/sched/uncounted_gap.h).  What was written since their begin cannot be taken back: so the
 * same traces are to be read again, with a model that knows of them from the start.
 */
struct model_gap {
	uint32_t machine; /* index in the topology; it has a trace */
	int32_t cpu;
	ns_t begin, end; /* from its last event on, until it was shown; it may go on */
};

struct model_gaps {
	struct model_gap *list; /* owned: free() */
	uint32_t nr, room;
};

/* @gaps: those that are known; what is found is put behind them.  NULL: none. */
int model_open(struct model **out, const struct topology *topo, struct model_gaps *gaps,
	       struct history_writer *w, struct error *err);

/* False for a CPU number that is unknown or beyond all sense: its streams cannot be fed. */
bool model_takes_cpu(int number);

/* Events of one stream: machine and CPU are those of @input.  Times never decrease over all
 * calls. */
void model_feed(struct model *m, const struct merge_input *input, const struct event *events,
		const ns_t *times, unsigned nr);

/* True when blocks of the hypertrace format were among the hypercalls of a machine of which the
 * topology does not say so (machine.carries_blocks): some guest is not among the machines that
 * might be. */
bool model_missed_blocks(const struct model *m);

/* What the history's table of problems has: some are notes, good to know and no fault. */
struct model_listed {
	uint64_t problems, notes;
};

/* Writes the tables and the ends of everything.  The model is gone afterwards.  @listed: may be
 * NULL. */
int model_close(struct model *m, ns_t end, struct model_listed *listed, struct error *err);

/* Adds a row to table "meta": provenance that the caller knows (version, command line ...). */
void model_meta(struct model *m, const char *key, const char *value);

/* Event kinds the model looks at: the @want of its merge. */
kinds_t model_want(void);

#endif
