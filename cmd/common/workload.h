/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_WORKLOAD_H
#define CMD_COMMON_WORKLOAD_H

#include "base/error.h"

#include <sys/types.h>

/*
 * The command that is run while something is recorded: what stands behind "--".  It runs as the
 * user that sonde runs as (under sudo: root), as with perf and trace-cmd; "sudo -u" before it
 * changes that.
 */
struct workload {
	pid_t pid;
	int pidfd; /* readable when it has ended; -1 = there is no command */
	bool ended;
	int status; /* of waitpid(), once it has ended */
};

/* No words: no command.  -ENOENT and others: it cannot be started. */
int workload_start(struct workload *w, char **words, struct error *err);

/* Waits for its end, an interruption or @timeout_ms; true when it has ended. */
bool workload_wait(struct workload *w, int timeout_ms);

/* Ends it, if it still runs: with SIGTERM, and with SIGKILL if it has not ended 5 s later.  Only
 * it, not what it has started itself: it is of our own process group, so that ^C reaches all. */
void workload_stop(struct workload *w);

#endif
