/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_WATCH_H
#define CLOCK_SAMPLE_WATCH_H

#include "clock/sample/sample.h"
#include "source/origin.h"
#include "source/seam.h"

/*
 * A watch sits on one stream while it is read and notes what clock/sample/sample.h wants of it.
 * When all streams of a trace are done, their notes are gathered into its sample (gather.h).
 *
 * When the guest ran, seen from one CPU's stream of the hypervisor: kvm_entry is recorded before
 * the CPU enters the guest, kvm_exit after it left; on some processors and kernels long after:
 * interrupts, and even other threads, run in between.  So a stay ends at the first event that
 * cannot happen between kvm_entry and the guest's first instruction, where interrupts are off.
 */
enum guest_mode {
	MODE_NOT_KNOWN, /* since @since: start of the stream, or events were lost */
	MODE_OUT,
	MODE_IN, /* since @since */
};

/* A thread's vCPU goes into (or comes out of) a guest of its guest. */
struct nesting {
	uint64_t time;
	int32_t tid;
	bool in;
};

struct nesting_list {
	struct nesting *list;
	size_t nr, room;
};

struct watch {
	struct stream *stream;
	const struct part *parts; /* of the stream that are read */
	size_t nr_parts;
	enum guest_mode mode;
	uint64_t since;
	int32_t tid; /* running now; -1 unknown */
	struct seam seam;
	int32_t guest_tid;  /* the thread that entered the guest */
	int32_t synced_tid; /* whose vCPU's kernel asked for the time last; -1 none */
	struct call_origins origins;
	uint64_t irq_at; /* last timer interrupt's entry, 0 none */
	uint64_t now;	 /* of the last hrtimer */
	bool wants_mono;
	bool has_entries; /* a vCPU ran here */
	enum sample_purpose purpose;
	uint64_t nr_events;
	uint64_t first, last; /* events that were read */
	struct call_list calls, requests, acks;
	struct stay_list stays;
	struct nesting_list nestings;
	struct tick_list events;
	struct armed_list armed;
	/* Of a timer, by the thread that is out of its guest; time 0: none. */
	struct deadline last_start;
	struct deadline_list deadlines;
	struct tsc_write_list tsc_writes;
	struct mono_point_list monos;
	struct stay_list lost;	 /* times of lost events; tid is not used */
	struct stay_list silent; /* long times without events */
	uint64_t from, until;	 /* of this part */
	size_t in_part;		 /* events of this part so far */
	size_t notes_max;	 /* events that may be noted in all */
	size_t passing;		 /* events of which nothing was noted */
	bool fresh;		 /* the next event begins a part */
	bool carries_blocks;	 /* hypercalls of the hypertrace format were seen */
	bool cut;		 /* the last part was left before the stream's end */
	uint64_t silence;	 /* how many ticks are long */
};

void watch_init(struct watch *w, struct stream *s);
/* A part begins: what lies between it and the one before was not read.  Nothing before the tick
 * @from is noted, and what is behind @until only so far that it tells something. */
void watch_part(struct watch *w, uint64_t from, uint64_t until);
/* So much was noted that the rest is not read. */
bool watch_full(const struct watch *w);
/* That, or the part has been read. */
bool watch_done(const struct watch *w);
kinds_t watch_wanted(const struct watch *w);
/* 0 or -ENOMEM */
int watch_events(struct watch *w, const struct event *events, unsigned nr);
/* The stream was read as far as it will be. */
int watch_end(struct watch *w);
void watch_release(struct watch *w);

#endif
