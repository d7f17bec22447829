/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_MODULE_H
#define RECORD_TRACERS_MODULE_H

#include "record/tracers/tracer.h"

/*
 * A tracer that traces nothing itself: it passes on what the kernel module sonde_guest writes
 * (kernel/guest), from the module's device into the part SINK_BLOCKS.  So an agent takes a guest's
 * events to the host by whatever link there is: vsock, a virtio-serial port, TCP.
 *
 * The module's rings overwrite and count, whoever reads: a slow link costs events, never the
 * guest's time.  Whole blocks are moved, nothing is done per event.  There are no state lines: what
 * the module knows is in its own tables.
 *
 * Rings are read from the oldest block on that they have: a recording begins before its begin.
 */
#define MODULE_DEVICE "/dev/sonde_guest"
#define MODULE_DEVICE_HINT "insmod sonde_guest.ko channel=device makes it"

/* -ENOENT: the module is not loaded, or with a channel that has no device. */
int module_open(struct tracer **out, const char *device, struct sink *sink, struct error *err);

/* How much of the streams was not there any more; a block's header says so. */
struct module_losses {
	uint64_t events; /* that the module dropped */
	uint64_t
		blocks; /* that were overwritten before they were read, by their sequence numbers */
};

/* Looks at the headers of whole blocks, of which @data has @len_bytes; @next has CPUS_MAX numbers,
 * 0 at first.  What is no block ends the look: false. */
bool module_count(struct module_losses *losses, uint64_t *next, const void *data, size_t len_bytes);

#endif
