/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_HYPER_HYPER_H
#define SOURCE_HYPER_HYPER_H

#include "source/trace.h"

/*
 * A guest's events as its blocks of the hypertrace format (docs/formats/hypertrace.md), one after
 * the other: a stream file, as a ring, a socket or a virtio port was drained into, or the file
 * behind an ivshmem device, both of which trace_open() opens like any trace; or parts of a file
 * into which the hypercalls of a host's trace were put together.
 *
 * A stream per CPU of the guest; a packet is a run of its blocks.  A block's events are followed by
 * an EV_SYNC_REQUEST with the registers of the last hypercall that it takes, and the next block
 * begins with an EV_SYNC_ACK with the same: where blocks did travel so, that is a moment which host
 * and guest share.
 *
 * What the guest says of itself (names, rates, numbers) is taken as far as it hurts nobody but
 * itself.
 */

/* A part of a file that holds whole blocks. */
struct hyper_extent {
	uint64_t offset_bytes, len_bytes;
};

/*
 * Opens @nr extents of the file @path, or with @nr 0 all of it, as one guest's trace; @label is its
 * path for messages.  -ENODATA when there is no block.
 */
int hyper_open(struct trace **out, const char *path, const struct hyper_extent *list, size_t nr,
	       const char *label, struct error *err);

#endif
