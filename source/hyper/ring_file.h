/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_HYPER_RING_FILE_H
#define SOURCE_HYPER_RING_FILE_H

#include "base/error.h"

/*
 * A file that is the memory of an ivshmem device in which a guest keeps its rings
 * (docs/formats/hypertrace.md, By shared memory): its region stands where the file begins.  What it
 * holds of each ring is the newest blocks, whether the guest lives, has ended or crashed.
 *
 * A guest may be writing meanwhile, and may have written anything: each ring is read once, and only
 * copies are looked at.
 */
bool ring_file_is(int fd);

/* Appends all whole blocks in @fd to @out, ring by ring, the oldest first: a stream file.
 * -ENODATA: it is no such file; what else reading and writing fail with. */
int ring_file_copy(int fd, int out);

#endif
