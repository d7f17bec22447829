/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_WRITE_ALL_H
#define BASE_WRITE_ALL_H

#include <stddef.h>

/* Writes all of it, however many calls that takes.  0 or -errno; then a part of it may have been
 * written. */
int write_all(int fd, const void *data, size_t len_bytes);

#endif
