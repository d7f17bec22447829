/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_HYPERCALLS_H
#define RECORD_TRACERS_HYPERCALLS_H

#include "record/tracers/instance.h"
#include "record/tracers/sink.h"
#include "record/tracers/tracer.h"

/*
 * Folds the hypertrace calls of this machine's guests: each becomes one record in the part
 * SINK_CALLS (docs/formats/hypercalls.md), and its three events are kept out of the instance.
 *
 * And tells which address spaces (page tables: CR3) its guests' vCPUs are in, at exits: one record
 * in the same part for each change.  On Intel's CPUs with a module's help, see kernel/vmx.
 *
 * A thread of its own takes the records, writes them at least every CALLS_TICK_MS, and lets the
 * instance's filters follow the places that calls come from.
 */
#define CALLS_TICK_MS 200

struct hypercalls;

/* With tracing off and kvm's events on.  @tasks: bits of enum hypercalls_task (hypercalls_bpf.h).
 * @calls_per_s: of one VM, at most; 0: all.  An error: the events are recorded as they are. */
int hypercalls_start(struct hypercalls **out, struct instance *in, struct sink *sink,
		     unsigned tasks, uint32_t calls_per_s, struct error *err);

uint64_t hypercalls_bytes(const struct hypercalls *h);
uint64_t hypercalls_lost(const struct hypercalls *h);

/* With tracing off.  Writes what is left, frees @h (which may be NULL); adds what the thread has
 * used to @t, and what is written and lost to the others.  An error: of the sink. */
int hypercalls_stop(struct hypercalls *h, struct tracer *t, uint64_t *bytes, uint64_t *lost,
		    struct error *err);

#endif
