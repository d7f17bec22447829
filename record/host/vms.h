/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_VMS_H
#define RECORD_HOST_VMS_H

#include "base/error.h"

/*
 * The VMs of this machine, found rather than configured.
 *
 * KVM's debugfs has a directory "PID-FD" for each VM and in it one for each vCPU, with the thread
 * (where the kernel has that file) and the TSC's offset and scale.  Where debugfs cannot be had,
 * the open files of all processes show who holds a VM ("anon_inode:kvm-vm") and its vCPUs; offsets
 * are then unknown.  vCPU threads that neither tells are found by the names that VMMs give them.
 *
 * Names and UUIDs come from the VMM's command line (QEMU: -name, -uuid; Firecracker: --id); libvirt
 * is recognised by its own record of the VM.
 */
struct vcpu_info {
	unsigned id;
	int tid; /* 0 = unknown */
	bool offset_known;
	int64_t tsc_offset;
	uint64_t tsc_ratio; /* 0 = not scaled, or unknown */
	unsigned tsc_ratio_bits;
};

struct vm_info {
	int pid;
	int fd;		/* the number that debugfs has behind the PID; 0 = unknown */
	char name[128]; /* "" = unknown, like all text here */
	char uuid[40];
	char manager[24];	 /* "libvirt", "qemu", "firecracker", ... */
	bool shares_memory;	 /* it has an ivshmem device */
	struct vcpu_info *vcpus; /* owned, by id */
	unsigned nr_vcpus;
};

struct vms {
	struct vm_info *list; /* owned */
	unsigned nr;
};

/* Where VMs can be seen: opened once, for many looks. */
struct vm_source {
	int kvm_dir;	/* debugfs' kvm directory, or -1 */
	uint64_t print; /* of what was there at the last look */
};

void vm_source_open(struct vm_source *s);
void vm_source_close(struct vm_source *s);

/* Cheap, for every second: true when VMs (or their vCPUs) came or went since the last vms_find().
 */
bool vm_source_changed(struct vm_source *s);

/* 0 or -ENOMEM.  *out is the caller's: vms_release(). */
int vms_find(struct vm_source *s, struct vms *out);
void vms_release(struct vms *v);

/* The process of the VM that has this UUID; 0 when there is none, -1 when several processes claim
 * it: then neither is proven. */
int vms_with_uuid(const struct vms *v, const char *uuid);
/* ... of those that are there now. */
int vm_of_uuid(const char *uuid);

/*
 * debugfs' root directory, also when it is not mounted anywhere: a mount of our own that nobody
 * sees.  A descriptor, or -errno.
 */
int debugfs_open(void);

#endif
