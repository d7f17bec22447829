/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/stop.h"

/*
 * Calls @job(data, i) once for each i below @nr, by up to @threads threads, of which the calling
 * one is the first, and returns when all are done.  The lowest numbers are taken first.  Where no
 * thread can be made there are fewer: that is slower, not wrong.
 *
 * @stop may be NULL.  The calling thread asks it now and then while it waits for the others, so
 * that jobs that look at it end; no job is begun any more.  Who calls looks at it afterwards.
 */
void parallel(unsigned threads, unsigned nr, struct stop *stop, void (*job)(void *data, unsigned i),
	      void *data);

#endif
