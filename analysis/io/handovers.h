/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_IO_HANDOVERS_H
#define ANALYSIS_IO_HANDOVERS_H

#include "query/kept.h"
#include "analysis/io/requests.h"

/*
 * What was handed on between VMs and their hosts, found by the thread or the vCPU that has it at
 * some moment: packets, and answers of disks.  Read from the history's requests when first asked
 * for, and kept with the history.
 */
enum handover_kind {
	HANDED_SENT,	 /* a packet, by a guest's thread to a thread of the host */
	HANDED_RECEIVED, /* packets, by a thread of the host to a vCPU */
	HANDED_DONE,	 /* a disk's answer, in the same way */
	HANDED_ON, /* a packet, by a guest's thread to the thread of the host that handed it on */
};

struct handed {
	ns_t at; /* when its taker was woken for it, its handler began, or it was handed on */
	int64_t holder; /* its taker: SENT and ON a thread, else row of a vCPU */
	int64_t from;	/* thread, -1 unknown */
	ns_t since; /* SENT and ON: its vCPU told of it, or its taker was at work already and it was
		       sent; else the interrupt was sent */
	int64_t by; /* RECEIVED: the thread that handed it to @from; -1 unknown, or else */
	ns_t by_at; /* ... and when */
	enum handover_kind kind;
};

struct handovers_list {
	struct kept kept;
	struct handed *list; /* owned, by kind, holder and time */
	size_t nr, room;
};

/* 0 or -ENOMEM; they are the history's. */
int handovers_get(const struct handovers_list **out, struct sonde_history *history);

/* The last one that @holder got in [from, to]; NULL none. */
const struct handed *handovers_last(const struct handovers_list *h, enum handover_kind kind,
				    int64_t holder, ns_t from, ns_t to);

#endif
