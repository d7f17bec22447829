/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_VCPU_THREAD_H
#define MODEL_KVM_VCPU_THREAD_H

#include "model/state/state.h"

/*
 * Which vCPU a thread runs: found out at its first VM entry or exit.
 *
 * The topology may know (a hint); else its process is the VM, and the event, or the name that QEMU
 * gives the thread, has the vCPU's number.  Where neither tells, the thread is a vCPU of a VM of
 * its own until the end, when one_vm.c has all evidence.
 */

/* @may_wait: NULL when a later event may number the vCPU better than we could now. */
struct cpu *vcpu_of_thread(struct thread *host, int64_t vcpu_id, bool may_wait);

#endif
