/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_BOOT_TRACE_H
#define RECORD_HOST_BOOT_TRACE_H

#include "record/host/state_line.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The boot of the kernel that runs here, as it has recorded it itself: a stock kernel with
 * BOOTED_COMMAND_LINE traces its initcalls from the first on into ftrace's top buffer, and that is
 * still there when a recorder comes.  The recorder reads it, which takes nothing out of it, and
 * says it again in state lines (docs/formats/state.md).
 *
 * Of a module's initcall ftrace no longer knows the function: its memory is given to others as soon
 * as it is done.  It is called after the module, "[virtio_blk]".
 *
 * The buffer overwrites its oldest events: every exec after the boot is one more (the command line
 * has no filter for it; trace_trigger= of Linux 6.2 and later would end tracing too early).  What
 * was overwritten is told with the rest.
 */

/* What is to be on the kernel's command line.  The clock is the one that relates a guest's times to
 * its host's exactly; two megabytes hold ten times the initcalls of a distribution's kernel. */
#define BOOTED_COMMAND_LINE                                                                        \
	"trace_event=initcall:*,module:module_load,sched:sched_process_exec "                      \
	"trace_clock=x86-tsc trace_buf_size=2M"

enum booted_kind {
	BOOTED_NOTHING, /* the line is no event of these */
	BOOTED_LEVEL,	/* the level @name of initcalls begins */
	BOOTED_START,	/* the initcall @name begins */
	BOOTED_FINISH,	/* ... ends, with @result */
	BOOTED_MODULE,	/* the thread loads the module @name */
	BOOTED_INIT,	/* process 1 executes @name, the last part of the file's path */
};

struct booted_event {
	enum booted_kind kind;
	uint64_t time; /* cycles */
	int tid;
	int64_t result;
	char name[128];
};

/* A line of tracefs' file "trace"; false: none of these events. */
bool booted_parse(struct booted_event *out, const char *line);

/* What is not there of what was recorded. */
struct booted_losses {
	uint64_t header; /* "# entries-in-buffer/entries-written: a/b" */
	uint64_t lines;	 /* "CPU:0 [LOST n EVENTS]" */
	bool cut;	 /* it was not read to its end */
};

/* False: the line says nothing of losses. */
bool booted_parse_loss(struct booted_losses *losses, const char *line);

/* What tracefs' file "trace" says, @trace, as state lines written to @l, losses last; how many
 * initcalls. */
unsigned booted_tell(struct line *l, FILE *trace);

/* Whether this kernel was told to record its boot. */
bool booted_was_told_to(void);

/* The same of this machine.  -EINVAL: it was recorded with another clock; -ENODATA: nothing of it
 * is there (any more). */
int booted_write(struct line *l, struct error *err);

#endif
