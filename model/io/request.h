/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IO_REQUEST_H
#define MODEL_IO_REQUEST_H

#include "model/state/state.h"

/*
 * Requests to devices, and their way through the layers; private to model/.  docs/fusion.md has the
 * rules, section 9.
 *
 * A request to a disk begins and ends with its own machine's block events.  In between, its
 * machine's parent tells what it did for it: the kick that stopped the vCPU, the thread that took
 * it up, the request to a disk of its own, the interrupt that it sent and gave to a vCPU.  Where
 * the machine's own events are missing, a kick and the interrupt that answers it are what is left.
 */
/* ---- what the machine's own kernel does ---- */
void request_issue(struct cpu *cpu, const struct event *e);
void request_complete(struct cpu *cpu, const struct event *e);
void request_xmit(struct cpu *cpu);
/* A handler of a line begins, of the vector that its host injected last (-1 unknown). */
void request_handler(struct cpu *cpu, int vector, bool of_disk);
/* ... and it is a network device's. */
void request_received(struct cpu *cpu);

/* ---- what its parent's does ---- */
void request_exit(struct cpu *vcpu, int64_t reason, int64_t isa);
void request_mmio(struct cpu *host_cpu, const struct event *e);
void request_pio(struct cpu *host_cpu, const struct event *e);
void request_userspace(struct cpu *vcpu, int64_t reason);
void request_woken(struct cpu *host_cpu, struct thread *woken);
void request_picked(struct thread *worker);
/* Something was handed to the CPU that events which are lost may take from it again: an interrupt
 * that is on its way, or given to it, or handled. */
void request_note_handed(struct cpu *cpu);
void request_sent(struct cpu *vcpu, int vector, bool may_answer, struct thread *by);
void request_injected(struct cpu *vcpu, int vector);

/* Until @until requests of the machine may have been issued unseen. */
void requests_unseen(struct machine_state *mc, ns_t until);
/* Events of the machine are lost from here on, or its trace does not tell of all its CPUs any more,
 * or ends. */
void request_lost(struct machine_state *mc);
void requests_release(struct model *m);

#endif
