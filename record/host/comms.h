/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_COMMS_H
#define RECORD_HOST_COMMS_H

#include "base/map.h"
#include "record/base/buffer.h"

/*
 * Names of threads, by TID; the last one counts.  A trace.dat ends with them: tools like trace-cmd
 * name threads by that list.  The kernel's own list (saved_cmdlines) has 128 entries by default,
 * and its size is not ours to change.
 */
#define COMM_BYTES 16

struct comm {
	int tid;
	char name[COMM_BYTES];
};

struct comms {
	struct map by_tid;
	struct comm *list; /* owned */
	unsigned nr, room;
};

/* 0 or -ENOMEM. */
int comms_put(struct comms *c, int tid, const char *name);

/* What the kernel has seen run lately: tracefs' saved_cmdlines. */
void comms_read_saved(struct comms *c, int tracing_dir);

/* "TID NAME\n" for each. */
void comms_print(const struct comms *c, struct buffer *out);
void comms_release(struct comms *c);

#endif
