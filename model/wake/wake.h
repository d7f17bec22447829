/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_WAKE_WAKE_H
#define MODEL_WAKE_WAKE_H

#include "model/state/state.h"

/*
 * Who woke a vCPU, and what for; private to model/.  docs/fusion.md has the rules, section 8.
 */

void wake_halt(struct cpu *vcpu);
void wake_sleep(struct thread *host);
void wake_entry(struct cpu *vcpu);
/* The vCPU was given an interrupt: the first one in a rest tells what ended it, where nothing
 * better is known. */
void wake_note_vector(struct cpu *vcpu, int vector);
/* Its host has lost events: a rest that was not seen to end is over as far as is known. */
void wake_lost(struct cpu *vcpu);
/* Its thread has ended: a rest does not go on without it. */
void wake_gone(struct cpu *vcpu);
void wake_polled(struct cpu *host_cpu, const struct event *e);
void wake_userspace(struct cpu *vcpu);
void wake_delivery(struct cpu *host_cpu, const struct event *e);
void wake_thread(struct cpu *cpu, struct thread *woken);
void wakes_release(struct model *m);

#endif
