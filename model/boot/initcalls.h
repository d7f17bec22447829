/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_BOOT_INITCALLS_H
#define MODEL_BOOT_INITCALLS_H

#include "model/state/state.h"

/*
 * What a kernel does while it starts, by its own events: the levels of its initcalls (a milestone
 * each), and the initcalls, each from its start to its finish.  Initcalls of modules come later,
 * and several at once; the function and the thread tell them apart.
 */

/* The level of one that is the kernel's own, as far as it is known: none was seen to begin. */
uint32_t initcall_level_unknown(struct model *m);
void initcall_add(struct model *m, const struct initcall *c);
void initcall_event(struct cpu *cpu, const struct event *e);
void initcalls_release(struct model *m);

#endif
