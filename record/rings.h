/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_RINGS_H
#define RECORD_RINGS_H

#include "record/ring.h"
#include "record/vms.h"

/*
 * The rings of all guests of this machine that have any (docs/formats/hypertrace.md): found where
 * they were announced before, by looking through the VMs' memory once, and later as they are
 * announced; in the memory of ivshmem devices, where nobody announces them, by looking there every
 * second; drained at each tick.
 *
 *	ret = rings_open(&r, &options, &err);
 *	rings_tick(r);                          some times a second
 *	rings_close(r);                         after the last tick
 *
 * One thread at a time.
 */
struct rings_guest {
	unsigned index;	  /* that of rings_guest() */
	int pid;	  /* of the VM */
	const char *name; /* "" unknown */
	const char *uuid;
	struct ring_counts counts;
	bool ended;	 /* nothing more comes */
	const char *why; /* ... because; "" it did not end badly */
};

struct rings_options {
	uint64_t limit_bytes; /* of each VM, which is stopped when it has reached it; 0 none */
	/* Where a guest's blocks go: a descriptor, which is closed when the guest ends, or -errno:
	 * it is left out.  *guest is that of rings_guest().  Asked again, with the same index, when
	 * a guest that had ended is there anew: what it sends then goes behind what it had sent. */
	int (*place)(const struct rings_guest *guest, void *data);
	/* In words, what is good to know. */
	void (*notice)(const char *text, void *data);
	void *data;
};

struct rings;

/* Fails only for memory: where nothing can be found nothing is. */
int rings_open(struct rings **out, const struct rings_options *options, struct error *err);
void rings_tick(struct rings *r);
unsigned rings_nr_guests(const struct rings *r);
struct rings_guest rings_guest(const struct rings *r, unsigned i);
void rings_close(struct rings *r);

#endif
