/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_H
#define LIBSONDE_INPUTS_INPUTS_H

#include "clock/topology.h"
#include "libsonde/inputs/rundir.h"
#include "merge/merge.h"
#include "sonde/analyze.h"

/* What is done about guests within their hosts' traces. */
enum inputs_within {
	WITHIN_WHERE_SEEN, /* found where the clock pass saw their calls; not those that have a
			      trace of their own */
	WITHIN_EVERYWHERE, /* the same, found wherever there are hypercalls */
	WITHIN_AND_OWN, /* as the first, but also those that have a trace of their own; and traces
			   that cannot be placed: for a list of all events */
};

/* A trace that is not used. */
struct inputs_left_out {
	char name[64];	  /* "" when it could not be opened */
	char *path, *why; /* owned */
};

/* A guest whose trace was found within its host's (libsonde/inputs/within.h). */
struct inputs_origin {
	const struct trace *trace, *host; /* NULL: the host has none */
	char name[64], parent[64], because[200];
};

/*
 * The traces of a run, opened, and what is known about their machines and clocks: the common
 * start of sonde_analyze() and sonde_events_open().
 *
 * A trace that cannot be opened does not stop the others: the watcher hears of it, and it becomes
 * a problem of the topology; only when memory is out does everything end.  Of two copies of one
 * trace (same id, same streams) the one with the shorter name is taken, for a copy's name tends to
 * say that it is one; that, too, becomes a problem.  Different parts of one trace are joined.
 * Of a run directory the manifest says which machine is which; what it says went wrong becomes
 * problems.  Traces that cannot be placed beside the others are left out, or stand in trees of
 * their own: libsonde/inputs/inputs_place.h.  Guests that send their events to their host by
 * hypercall have no file: where the clock pass saw such calls in a machine's trace, their traces
 * are made from it.
 */
struct inputs {
	struct trace **traces; /* owned */
	unsigned nr_traces;
	struct rundir *runs; /* owned: of the paths that are run directories */
	unsigned nr_runs;
	struct inputs_origin *origins; /* owned: of traces that were found within others */
	unsigned nr_origins;
	struct inputs_left_out *left_out; /* owned */
	unsigned nr_left_out;
	struct trace **users; /* owned: of processes, see libsonde/inputs/inputs_user.h; NULL where
				 attached */
	unsigned nr_users;
	enum inputs_within within;
	bool show_lacking; /* counted events that are missing are gaps: trace_show_lacking() */
	bool every_tree;   /* also those that have nothing to do with the first machine's */
	unsigned threads;  /* that may work on them at once */
	struct topology topology;    /* owned; machines in its order */
	struct merge_input *streams; /* owned: every stream of every machine */
	unsigned nr_streams;
	uint64_t len_bytes;
};

int inputs_open(struct inputs *in, const struct sonde_inputs *told, enum inputs_within within,
		const struct sonde_watcher *watcher, struct error *err);
/* The same once more, when inputs_lack_events() is found to be true. */
int inputs_open_lacking(struct inputs *in, const struct sonde_inputs *told,
			enum inputs_within within, const struct sonde_watcher *watcher,
			struct error *err);
bool inputs_lack_events(const struct inputs *in);
void inputs_release(struct inputs *in);

/* Parts of inputs_open(), for inputs_open_run(): the files of what was told; and, when there is a
 * topology, its machines' streams. */
int inputs_open_traces(struct inputs *in, const struct sonde_inputs *told,
		       const struct sonde_watcher *watcher, struct error *err);
int inputs_list_streams(struct inputs *in, const struct sonde_watcher *watcher, struct error *err);

/* First and last time of any event, in L0 time.  -ENODATA when there is no event at all;
 * -ENOMEM. */
int inputs_span(const struct inputs *in, ns_t *begin, ns_t *end);

/* Workers for the merge: all processors but the one that uses what it hands out. */
unsigned inputs_workers(const struct sonde_inputs *told);

/* Calls the watcher, if there is one; false = stop. */
bool watcher_progress(const struct sonde_watcher *w, const char *phase, double done);
void watcher_notice(const struct sonde_watcher *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
