/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_THROTTLE_H
#define RECORD_TRACERS_THROTTLE_H

#include "base/error.h"

/*
 * Events that no kernel has: that the quota of a cgroup is used up on a CPU, and that there is some again.
 *
 *	sonde:cpu_throttle	cgroup (id: the number of its directory's inode), cpu
 *	sonde:cpu_unthrottle	the same
 *
 * They are probes on the functions that a kernel calls for a cgroup and all below it (tg_throttle_down(),
 * tg_unthrottle_up()), and cost nothing while nobody is throttled.  Where the structures' members lie, the kernel's BTF
 * tells.  A probe is the whole kernel's, switched on in an instance alone; one that another recorder has made is used,
 * and stays as long as anybody has it on.
 *
 * The first one alone would say that a quota is never there again.  So it is made and switched on last, and removed
 * first: whoever has it has both.
 *
 * @tracing_dir: a descriptor of tracefs.  A program that is built without libbpf has no such events.
 */

/* Before events are chosen.  0, or -errno: there are none. */
int throttle_probes_add(int tracing_dir, struct error *err);

/* After all of our instances have gone. */
void throttle_probes_remove(int tracing_dir);

#endif
