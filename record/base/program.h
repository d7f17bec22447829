/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_PROGRAM_H
#define RECORD_BASE_PROGRAM_H

#include "record/base/buffer.h"

#include <sys/types.h>

/*
 * Starts a program.  @words: a NULL-terminated list, looked up in PATH.  @out: what it writes to
 * stdout and stderr goes there, and it has nothing to read; -1: it has our own files.  0 or -errno.
 */
int program_start(pid_t *pid, const char *const *words, int out);

/*
 * Runs a program to its end.  @words: a NULL-terminated list, looked up in PATH.  What it writes to
 * stdout and stderr is appended to @output, which may be NULL.  Returns its exit status (0 to 255),
 * or -errno: it could not be run, or was killed (-EINTR).
 */
int program_run(const char *const *words, struct buffer *output);

/* True when PATH has an executable of this name. */
bool program_exists(const char *name);

#endif
