/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_SAMPLE_H
#define CLOCK_SAMPLE_SAMPLE_H

#include "base/stop.h"
#include "clock/sample/plan.h"
#include "source/trace.h"

/*
 * What the clock search keeps of a trace: which calls crossed the border to the parent or the
 * guest, when each CPU was surely running something, when each thread ran a guest, and the few
 * events that tell a clock outright.  All times are the trace's own ticks.  Read once, in bounded
 * memory; everything after works on samples alone, so it can be tested without traces.
 */

/* A call from guest to hypervisor or back, as one side recorded it.  The two sides of one call
 * have the same key. */
struct call {
	uint64_t key;
	uint64_t time;
	int32_t tid; /* parent's side: the thread that runs the vCPU; -1 unknown */
	int32_t cpu;
};

struct call_list {
	struct call *list;
	size_t nr, room;
};

enum nested { NESTED_NO, NESTED_YES, NESTED_UNKNOWN };

/* A thread's stay in guest mode: from its kvm_entry to the first sign that the host was back.  The
 * guest ran at no other time.  Where events were lost, it may have run: such times are stays too.
 */
struct stay {
	uint64_t begin, end;
	int32_t tid;
	int32_t cpu;	/* of the hypervisor's machine; -1 unknown */
	uint8_t nested; /* enum nested: whether it was a guest of the guest that ran */
	bool unsure;	/* not seen, but not ruled out */
};

struct stay_list {
	struct stay *list;
	size_t nr, room;
};

struct tick_list {
	uint64_t *list;
	size_t nr, room;
};

struct tsc_write {
	uint64_t time;
	int32_t tid;
	int32_t vcpu;
	int64_t previous, next;
};

struct tsc_write_list {
	struct tsc_write *list;
	size_t nr, room;
};

/* The kernel read CLOCK_MONOTONIC, as @now, after @before and no later than @after. */
struct mono_point {
	uint64_t before, after; /* before: 0 when no event says */
	uint64_t now;
};

struct mono_point_list {
	struct mono_point *list;
	size_t nr, room;
};

/* The machine's kernel started a timer that ends when its CLOCK_MONOTONIC shows @expires. */
struct armed {
	uint64_t time, expires;
};

struct armed_list {
	struct armed *list;
	size_t nr, room;
};

/* A guest wrote a TSC deadline, and KVM started a timer of its own for it: clock/bounds/timers.h.
 */
struct deadline {
	uint64_t time, expires; /* of KVM's timer */
	uint64_t timer;		/* which it is: its address */
	int32_t tid;		/* that runs the vCPU */
};

struct deadline_list {
	struct deadline *list;
	size_t nr, room;
};

enum sample_purpose {
	SAMPLE_ALL,
	SAMPLE_HOST,  /* nobody's guest: @events and @armed stay empty */
	SAMPLE_CALLS, /* only to find parents: @events, @armed, @stays and @deadlines stay empty */
};

struct sample {
	struct trace *trace;
	enum sample_purpose purpose; /* set before reading */
	uint64_t begin, end;	     /* all streams where vCPUs ran were read for these ticks */
	uint64_t first, last;	   /* first and last tick of the whole trace, as far as its packets
				      tell */
	uint64_t active;	   /* last event that was seen */
	uint64_t known_until;	   /* what is after this was not read at all; else UINT64_MAX */
	struct call_list calls;	   /* hypervisor's side, by time */
	struct call_list requests; /* guest's side, just before the call, by time */
	struct call_list acks;	   /* guest's side, just after it, by time */
	struct stay_list stays;	   /* by tid, then begin; stays of one thread do not overlap */
	struct tick_list *events;  /* [nr_cpus]: the CPU ran at these ticks; sorted */
	struct armed_list *armed;  /* [nr_cpus]: timers the CPU started, by time */
	unsigned nr_cpus;
	struct deadline_list deadlines; /* by tid, then time */
	struct tsc_write_list tsc_writes;
	struct mono_point_list monos;
	bool carries_blocks; /* among its hypercalls are some of the hypertrace format */
};

/* Most events that are noted of all traces together; some 20 bytes each. */
#define SAMPLE_EVENTS_MAX (3u << 20)

/*
 * Reads samples of @nr traces by @plans (settled), with @threads threads.  @samples[i].trace and
 * purpose are set by the caller, the rest is zero.  What is not read counts as lost: any vCPU may
 * have run then. On failure nothing is left to release.
 */
int sample_read(struct sample *samples, const struct plan *plans, unsigned nr, unsigned threads,
		struct stop *stop, struct error *err);
void sample_release(struct sample *s);

/* The stays of one thread; NULL and 0 when it has none. */
const struct stay *sample_stays(const struct sample *s, int32_t tid, size_t *nr);

/* Whether any of them is known to be of a nested guest: a host whose trace has no events of nesting
 * never says so. */
bool stays_show_nested(const struct stay *s, size_t nr);

/* Sorts everything and folds overlapping stays; sample_read() does it, tests that invent samples
 * call it themselves. */
void sample_settle(struct sample *s);
/* The same of stays only. */
void stay_list_settle(struct stay_list *l);

/* Adds one element to any of the lists above; NULL when memory is out. */
#define sample_add(l)                                                                              \
	((l)->nr < (l)->room ? &(l)->list[(l)->nr++]                                               \
			     : (typeof((l)->list))sample_grow((void **)&(l)->list, &(l)->nr,       \
							      &(l)->room, sizeof(*(l)->list)))
void *sample_grow(void **list, size_t *nr, size_t *room, size_t size);
/* Adds a stay of which it is not known whose guest ran; 0 or -ENOMEM. */
int stay_list_add(struct stay_list *l, int32_t tid, int32_t cpu, uint64_t begin, uint64_t end,
		  bool unsure);

#endif
