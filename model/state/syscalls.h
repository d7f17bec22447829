/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_SYSCALLS_H
#define MODEL_STATE_SYSCALLS_H

#include "model/state/state.h"

/*
 * Which system call a thread is in.  It takes it along when it loses its CPU.
 */

void cpu_syscall_entry(struct cpu *cpu, const struct event *e);
void cpu_syscall_exit(struct cpu *cpu);

#endif
