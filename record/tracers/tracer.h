/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_TRACER_H
#define RECORD_TRACERS_TRACER_H

#include "record/host/comms.h"
#include "record/tracers/recorder.h"
#include "record/host/state.h"

/*
 * What a recorder needs of a tracer; recorder.c does the rest (VMs, state lines, cost).  A tracer's
 * struct begins with struct tracer; close() frees it and is called after any failure of open().
 *
 *	open    everything is ready, nothing is recorded yet
 *	on      tracing is on; lines written to marker become events of the trace
 *	named   the threads of the machine are known: @t->comms (may be called again)
 *	off     tracing is off, and all that was recorded is in the sink
 *	close   nothing of it is left on the machine
 */
struct tracer;

struct tracer_ops {
	int (*on)(struct tracer *t, struct error *err);
	int (*named)(struct tracer *t, struct error *err);
	int (*off)(struct tracer *t, struct error *err);
	int (*check)(struct tracer *t, struct error *err);
	uint64_t (*bytes)(struct tracer *t);
	uint64_t (*lost)(struct tracer *t);
	int (*close)(struct tracer *t, struct error *err);
};

struct tracer {
	const struct tracer_ops *ops;
	struct sink *sink;
	int marker;	/* where state lines are written to; the tracer's own; -1: nowhere */
	char clock[32]; /* as trace_clock calls it */
	char clock_reason[128]; /* why not x86-tsc */
	uint64_t tsc_khz;	/* 0 = unknown */
	uint64_t cpu_ns;	/* of threads that have ended */
	uint64_t calls_over;	/* after off: lost, because a VM made more hypercalls than it may */
	char missing[128];	/* after off: what is not there, and was not counted as events */
	struct comms comms;
};

int ftrace_open(struct tracer **out, const struct record_options *options, struct sink *sink,
		struct error *err);
int lttng_open(struct tracer **out, const struct record_options *options, struct sink *sink,
	       struct error *err);

/* Says something through the caller's notice(). */
void tracer_notice(const struct record_options *options, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
