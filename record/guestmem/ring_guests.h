/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_GUESTMEM_RING_GUESTS_H
#define RECORD_GUESTMEM_RING_GUESTS_H

#include "record/guestmem/ring.h"
#include "record/guestmem/rings.h"

/*
 * The guests whose rings are read: a list of regions, several of one VM when its kernel was
 * exchanged.  A region that has ended keeps its place and what it counted, until the VM has another
 * one.
 */
struct ring_guest {
	int pid;
	struct sink *sink; /* the caller's */
	char name[128], uuid[40];
	struct ring_set *set; /* NULL: it has ended */
	uint64_t nonce;
	struct ring_counts counts; /* of its regions that have ended */
	char why[256];
};

struct ring_guests {
	struct ring_guest **list; /* owned, each owned: some hold a pointer to one */
	unsigned nr;
};

/* Takes @set, and asks the options' place() where what it sends goes; closes it where there is no
 * place. */
void ring_guests_add(struct ring_guests *l, const struct rings_options *options, int pid,
		     struct ring_set *set);
/* A region of @pid; with that @nonce, unless it is 0.  NULL: there is none. */
struct ring_guest *ring_guests_find(const struct ring_guests *l, int pid, uint64_t nonce);
/* Takes out what is there; all regions of a VM share its limit (0: none). */
void ring_guests_drain(struct ring_guests *l, struct ring_guest *g, uint64_t limit_bytes,
		       uint64_t *pages);
void ring_guests_release(struct ring_guests *l);

/* Name and UUID as the VMM's command line has them. */
void ring_guest_describe(struct ring_guest *g);
/* @why: "" as guests end.  One that has ended stays as it did. */
void ring_guest_end(struct ring_guest *g, const char *why);
struct rings_guest ring_guest_show(const struct ring_guest *g, unsigned index);

#endif
