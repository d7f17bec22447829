/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_HELD_H
#define CMD_COMMON_HELD_H

#include "cmd/common/command.h"

/*
 * Programs read JSON and CSV, and may not look at the exit status: of an answer that breaks off
 * they shall see nothing, rather than less.  So it is held back, in a file without a name, until
 * the command has ended well.
 */

/* Where the command writes its answer to: NULL when it need not be held, or cannot. */
FILE *held_begin(const struct invocation *inv);
/* Gives out what is held in @held, if @code says that it is all there.  NULL is nothing. */
enum exit_code held_end(const struct invocation *inv, FILE *held, enum exit_code code);

#endif
