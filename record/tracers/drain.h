/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_DRAIN_H
#define RECORD_TRACERS_DRAIN_H

#include "record/tracers/instance.h"
#include "record/tracers/sink.h"

/*
 * Moves what an instance's per-CPU buffers hold into a sink, in whole pages and, where the sink
 * can, without copying them through user space (splice).
 *
 * One thread serves DRAIN_CPUS_PER_THREAD CPUs.  It sleeps until a buffer is half full
 * (buffer_percent) or a second has passed, so that a recorder that is killed has lost no more than
 * a second.  Not a thread per CPU, pinned to it: that costs a context switch on every CPU each
 * time, just where we measure; the kernel wakes a thread that may run wherever a CPU is idle.
 * CPUs that come later are found each second; those that go keep their buffers.
 */
#define DRAIN_CPUS_PER_THREAD 16u

struct drain;

int drain_start(struct drain **out, const struct instance *in, struct sink *sink,
		struct error *err);

uint64_t drain_bytes(const struct drain *d);

/* 0, or what went wrong with the sink: tracing has been switched off then. */
int drain_check(struct drain *d, struct error *err);

/* With tracing off: moves what is left, partly filled pages too, ends the threads, frees @d.  Adds
 * what the threads have used and moved to @cpu_ns and @bytes, which may be NULL. */
int drain_stop(struct drain *d, uint64_t *cpu_ns, uint64_t *bytes, struct error *err);

#endif
