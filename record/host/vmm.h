/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_VMM_H
#define RECORD_HOST_VMM_H

#include "record/host/vms.h"

/*
 * What a virtual machine monitor (QEMU, Firecracker, cloud-hypervisor, crosvm) tells of its VM by
 * its command line and by the names of its threads.
 */

/* The process that thread @tid belongs to; @tid itself when that cannot be found out. */
int process_of(int tid);

/* Fills in name, UUID and manager, and the vCPU threads that are not known yet. */
void vmm_describe(struct vm_info *vm);

/* The same from a command line, its words ended by NULs: for tests. */
void vmm_read_command(struct vm_info *vm, const char *words, size_t len_bytes);

/* The vCPU's number in a thread's name, or -1. */
int vmm_vcpu_of_thread(const char *comm);

#endif
