/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_PACKETS_H
#define ANALYSIS_PACKETS_H

#include "analysis/requests.h"

/*
 * Packets on their way between VMs and their hosts, found by the thread or the vCPU that has them at
 * some moment.  Read from the run's requests when first asked for, and kept with the run.
 */
struct packet {
	ns_t at;	/* when its taker was woken for it, or its handler began */
	int64_t holder; /* SEND: thread of the host that took it; RECEIVE: row of the vCPU */
	int64_t from;	/* SEND: the guest's thread, -1 unknown; RECEIVE: thread of the host */
	ns_t since;	/* SEND: its vCPU told of it; RECEIVE: the interrupt was sent */
	bool received;
};

struct packets {
	struct packet *list; /* owned, by holder and time */
	size_t nr, room;
};

/* 0 or -ENOMEM; they are the run's. */
int packets_get(const struct packets **out, struct sonde_run *run);
void packets_free(struct packets *p);

/* The last one that @holder got in [from, to]; NULL none. */
const struct packet *packets_last(const struct packets *p, bool received, int64_t holder, ns_t from,
				  ns_t to);

#endif
