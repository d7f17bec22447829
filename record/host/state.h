/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_STATE_H
#define RECORD_HOST_STATE_H

#include "record/host/comms.h"
#include "record/host/vms.h"

/*
 * Blocks of state lines (docs/formats/state.md): what was there when recording began, when it
 * ended, and when VMs came or went.
 */
struct state_block {
	int fd;		   /* that lines are written to: trace_marker, lttng-logger */
	const char *cause; /* "start", "end", "vm", "clock", "boot" */
	uint64_t tsc_khz;  /* 0 = unknown */
	const struct vms *vms;
	struct comms *comms; /* takes the names of the threads that were seen; may be NULL */
};

/* A block of cause "vm" has the VMs and their threads only, one of cause "clock" neither, nor one
 * of cause "boot" (@vms may be NULL), which has what this kernel recorded of its boot.  -ENOTSUP,
 * when all is written but the threads: this process is in a PID namespace, and its TIDs are not
 * those of the trace. */
int state_write(const struct state_block *b, struct error *err);

/* DMI's UUID of this machine, or "". */
void product_uuid(char *out, size_t room);

#endif
