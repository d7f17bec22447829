/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_ANNOUNCE_H
#define RECORD_ANNOUNCE_H

#include "record/instance.h"
#include "record/ring.h"

/*
 * Hears guests announce their rings: kvm_hypercall events with the announcement's number, and no
 * others, in a small ftrace instance of their own.
 */
struct announce {
	struct instance instance;
	int pipe; /* the instance's trace_pipe; -1: not heard */
	char text[8192];
	size_t used;
};

struct announcement {
	int tid; /* the vCPU's thread */
	enum ht_announcement what;
	struct ring_announcement rings;
};

/* -ENODEV and others: this machine has no ftrace, or no KVM; announce_close() in any case. */
int announce_open(struct announce *a, struct error *err);
void announce_close(struct announce *a);

/* The next one that was made; false when there is none (now). */
bool announce_next(struct announce *a, struct announcement *out);

/* One line of trace_pipe; for tests, too. */
bool announce_parse(const char *line, struct announcement *out);

#endif
