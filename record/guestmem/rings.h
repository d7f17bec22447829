/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_GUESTMEM_RINGS_H
#define RECORD_GUESTMEM_RINGS_H

#include "record/tracers/recorder.h"
#include "record/guestmem/ring.h"
#include "record/host/vms.h"

/*
 * The rings of all guests of this machine that have any (docs/formats/hypertrace.md): found as
 * their kernels announce them; in the memory of ivshmem devices, where nobody announces them, by
 * looking there every second; drained at each tick.
 *
 * What a guest's process announces is not looked at, and a notice says so; nor is anything read
 * that only stands in a VM's memory, for a process could have put it there.
 *
 * What is in a device's memory when its VM is seen first may be of an earlier life, which nothing
 * tells but that it never moves: it is no guest until it does, and of a VM that was there when
 * recording began blocks are read from then on.  Rings that come later are new, and read from their
 * first block.  A device that two VMs have would make one guest two: neither is read, and a notice
 * says so.
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
	/* Where a guest's blocks go, as SINK_BLOCKS; the sink stays the caller's, and lives as long
	 * as the rings.  NULL: the guest is left out.  *guest is that of rings_guest().  Asked
	 * again, with the same index, when a guest that had ended is there anew: what it sends then
	 * goes behind what it had sent. */
	struct sink *(*place)(const struct rings_guest *guest, void *data);
	/* Optional: this VM can tell by itself what its own guests keep in memory.  Of others a
	 * notice says that there is such a thing, and that it is not read. */
	bool (*is_asked)(int pid, void *asked_data);
	void *asked_data;
	/* In words, what is good to know. */
	void (*notice)(const char *text, void *data);
	void *data;
};

struct rings;

/* Fails only for memory: where nothing can be found nothing is. */
int rings_open(struct rings **out, const struct rings_options *options, struct error *err);
void rings_tick(struct rings *r);

/* The VM of this process has such a device: from the next tick on it is looked into.  VMs that KVM
 * or /proc shows are found without it.  -ENOMEM. */
int rings_share(struct rings *r, int pid);

unsigned rings_nr_guests(const struct rings *r);
struct rings_guest rings_guest(const struct rings *r, unsigned i);

/* How it went: true when nothing is missing; else @why. */
bool rings_outcome(const struct rings_guest *g, struct record_cost *cost, char why[static 256]);
void rings_close(struct rings *r);

#endif
