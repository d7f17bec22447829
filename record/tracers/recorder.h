/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_RECORDER_H
#define RECORD_TRACERS_RECORDER_H

#include "events/rows.h"
#include "record/tracers/sink.h"

/*
 * Records one machine: the one this program runs on.  `sonde record` has one for the host, with a
 * folder as its sink; `sonde agent` has one for its guest, with the link to the host as its sink.
 *
 *	ret = recorder_start(&r, &options, sink, &err);    tracing is on when it returns
 *	... work, or wait ...
 *	ret = recorder_stop(r, &cost, &err);               everything is in the sink
 */

enum record_tracer {
	RECORD_FTRACE,
	RECORD_LTTNG,
	RECORD_HYPERTRACE, /* what the kernel module sonde_guest writes: record/tracers/module.h */
};

/* As run.json calls it. */
static inline const char *record_tracer_name(enum record_tracer tracer)
{
	static const char *const names[] = {"ftrace", "lttng", "hypertrace"};

	return names[tracer];
}

/* More a second no module sends that leaves its guest time for anything else; 22 MB. */
#define RECORD_CALLS_PER_S 200000

struct record_options {
	enum record_tracer tracer;
	unsigned purpose;	   /* enum record_purpose bits (events/rows.h); 0 = RECORD_CPU */
	const char *const *events; /* more events, "system:name" or "system" */
	unsigned nr_events;
	unsigned buffer_kb;   /* per CPU; 0 = choose */
	const char *clock;    /* trace_clock to use; NULL = x86-tsc where sound */
	bool fold_calls;      /* guests' hypertrace calls as one record each, where that can be */
	uint32_t calls_per_s; /* of one VM, in such records: the rest is lost; 0 = no limit */
	bool tell_spaces;     /* guests' address spaces, where that can be */
	bool want_spaces;     /* ... and the reason is told where it cannot */

	/* Of a tracer whose trace stays on this machine until its end (LTTng): recorder_check()
	 * says when there is so much.  0 = no limit.  A sink has its own limit. */
	uint64_t limit_bytes;

	/* Optional: told, in words, what is good to know and stops nothing: events that this
	 * kernel does not have, remains of a dead recorder that were removed.  From any thread of
	 * the recorder, one call at a time. */
	void (*notice)(const char *text, void *data);
	void *notice_data;
};

struct record_cost {
	uint64_t cpu_ns;	/* CPU time of the recorder's own threads, start and stop */
	uint64_t bytes;		/* written to the sink */
	uint64_t events_lost;	/* as the kernel counted them (overrun + dropped) */
	uint64_t state_ns;	/* time the state blocks took */
	char clock[32];		/* trace_clock used */
	char clock_reason[128]; /* why it is not x86-tsc; "" when it is */
	char missing[128];	/* "" or why it is not complete, though nothing failed */
};

struct recorder;

int recorder_start(struct recorder **out, const struct record_options *options, struct sink *sink,
		   struct error *err);

/* Writes another state block (docs/formats/state.md): VMs came or went.  Any thread. */
int recorder_note_state(struct recorder *r, const char *cause, struct error *err);

/* Written and lost so far, for a live display. */
uint64_t recorder_bytes(struct recorder *r);
uint64_t recorder_events_lost(struct recorder *r);

/* 0 while all is well.  Else what ended the recording early (the sink is full, the link is gone):
 * tracing is off by then, and recorder_stop() is to be called. */
int recorder_check(struct recorder *r, struct error *err);

/* Stops tracing, drains what is left, writes the tail, removes the instance, frees @r.  After an
 * error of the sink tracing is off as well, and what the sink took stays there. */
int recorder_stop(struct recorder *r, struct record_cost *cost, struct error *err);

#endif
