/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/types.h"

/*
 * Calls @job(data, i) once for each i below @nr, by up to @threads threads, of which the calling one
 * is the first, and returns when all are done.  The lowest numbers are taken first.  Where no thread
 * can be made there are fewer: that is slower, not wrong.
 */
void parallel(unsigned threads, unsigned nr, void (*job)(void *data, unsigned i), void *data);

#endif
