/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_GUESTMEM_ANNOUNCE_H
#define RECORD_GUESTMEM_ANNOUNCE_H

#include "base/types.h"
#include "channel/origin.h"
#include "record/tracers/instance.h"
#include "record/guestmem/ring.h"

/*
 * Hears guests announce their rings, and who in them does so (channel/origin.h): in a small ftrace
 * instance of its own, all kvm_hypercall events, and the kvm_exit events of hypercalls, which say
 * where in the guest each came from.
 *
 * A guest that makes hypercalls without end has its lines, and others on its physical CPU with
 * them, overwritten by the kernel, or left for the next look: no more than ANNOUNCE_LINES are read
 * in one.  Modules announce each second, so an announcement that was missed is heard later.
 */
#define ANNOUNCE_LINES 4096
#define ANNOUNCE_EXIT_SETS 64
#define ANNOUNCE_EXIT_WAYS 4

struct announce {
	struct instance instance;
	int pipe; /* the instance's trace_pipe; -1: not heard */
	char text[8192];
	size_t used;
	unsigned lines; /* that may still be read in this look */
	struct announce_exit {
		uint64_t rip; /* of a thread's last exit by a hypercall; 0 there is none */
		int tid;      /* 0: nobody's */
		unsigned cpu; /* of the host, that it was on */
	} exits[ANNOUNCE_EXIT_SETS][ANNOUNCE_EXIT_WAYS]; /* by TID; of a set, the latest first */
};

struct announcement {
	int tid; /* the vCPU's thread */
	enum ht_origin origin;
	enum ht_announcement what;
	struct ring_announcement rings;
};

/* -ENODEV and others: this machine has no ftrace, or no KVM; announce_close() in any case. */
int announce_open(struct announce *a, struct error *err);
void announce_close(struct announce *a);

/* A look begins. */
void announce_look(struct announce *a);

/* The next one that was made, by whomever; false when there is none (now, or in this look). */
bool announce_next(struct announce *a, struct announcement *out);

/* One line of trace_pipe, in their order; true: an announcement.  For tests, too. */
bool announce_line(struct announce *a, const char *line, struct announcement *out);

#endif
