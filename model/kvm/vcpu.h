/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_VCPU_H
#define MODEL_KVM_VCPU_H

#include "model/state/state.h"

/*
 * What the KVM events of a machine say about the vCPUs of its VMs.  docs/fusion.md explains the
 * rules.
 */

/* Its own trace tells of it, or of what is missing of it: it is there, whether or not its host is
 * ever seen to run it. */
void vcpu_heard(struct cpu *vcpu);
void vcpu_entry(struct cpu *host_cpu, const struct event *e);
void vcpu_exit(struct cpu *host_cpu, const struct event *e);
/* Something that only the thread of a vCPU, in KVM, records: it is one, though what its guest does
 * is not known before its next entry or exit. */
void vcpu_at_work(struct cpu *host_cpu);
void vcpu_userspace(struct cpu *host_cpu, const struct event *e);
void vcpu_nested(struct cpu *host_cpu, const struct event *e);

#endif
