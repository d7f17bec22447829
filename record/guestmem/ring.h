/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_GUESTMEM_RING_H
#define RECORD_GUESTMEM_RING_H

#include "channel/hypertrace.h"
#include "record/tracers/sink.h"
#include "record/guestmem/vmmem.h"

/*
 * The rings of one guest, in its VM's memory (docs/formats/hypertrace.md, "By shared memory"), its
 * own or that of a device (ivshmem), which the VM's process has mapped like the other: read without
 * the guest's help, and written into a sink (SINK_BLOCKS).  Nothing that the guest wrote is believed
 * before it is checked, and all of it is copied first.
 *
 *	ret = ring_set_open(&s, pid, &announcement, &err);
 *	ret = ring_set_drain(s, &pages, sink, &err);            now and then
 *	ring_set_close(s);
 */
struct ring_announcement {
	bool in_device;	 /* nobody announced it: a region at the begin of a device's memory, if any
			  */
	uint64_t region; /* guest-physical; 0 with a nonce of 0: any region that is found */
	uint64_t nonce;
	uint32_t ring_bytes, nr_rings; /* as announced; what the region says counts */
};

struct ring_counts {
	uint64_t blocks, bytes; /* written into the sink */
	uint64_t blocks_lost;	/* overwritten before they were read */
	uint64_t events_lost;	/* in them, as the guest counted */
	uint64_t broken;	/* blocks that are none */
};

struct ring_set;

/* *@pages: how many pages may be looked at where addresses do not lead to the region; counted down.
 * -ENODATA: no such region, or nothing that could be one.  -EREMOTE: any was wanted, and what there
 * is belongs to a guest of this guest.  -E2BIG: more memory than is sane. */
int ring_set_open(struct ring_set **out, int pid, const struct ring_announcement *a,
		  uint64_t *pages, struct error *err);

/*
 * A device's memory may still have what an earlier life of the VM left: rings that never move.
 * ring_set_see() notes how far they are; with @skip what is in them now will not be read.
 * ring_set_has_moved(): 1 when something was written since; 0; -errno as ring_set_drain().
 */
void ring_set_see(struct ring_set *s, bool skip);
int ring_set_has_moved(struct ring_set *s);

/* No more than so many bytes are written, those included that were. */
void ring_set_limit(struct ring_set *s, uint64_t bytes);

/* *@pages: as above, for rings that are not where the region says.
 * 0; -ESRCH: the VM is gone; -ENODEV: the guest took the region away; -EDQUOT: the limit is
 * reached; -ENOSPC and others of the sink. */
int ring_set_drain(struct ring_set *s, uint64_t *pages, struct sink *sink, struct error *err);
void ring_set_close(struct ring_set *s);

struct ring_counts ring_set_counts(const struct ring_set *s);
uint64_t ring_set_nonce(const struct ring_set *s);
bool ring_set_in_device(const struct ring_set *s);

#endif
