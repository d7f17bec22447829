/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_FUNCTIONS_H
#define SONDE_GUEST_FUNCTIONS_H

#include <linux/types.h>

/*
 * Functions of the kernel: one record per call, when it returns, with its duration and depth.  The
 * set is a list of names.  A function that is called too often is switched off by itself.  All of
 * these may sleep; the caller sees to it that one runs at a time.
 */

/*
 * Adds the functions named in @list, with blanks between them; -ENOENT, -EINVAL, -ENOSPC at the
 * first that cannot be, those before it stay.
 */
int functions_add(const char *list);
void functions_clear(void);
/* A line per function: name, calls, misses, "hot" if it was switched off. */
int functions_print(char *to, size_t size);

/* Switches hot functions off, in the background. */
void functions_begin(void);
/* Clears the set, too. */
void functions_end(void);

#endif
