/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_GUESTMEM_VMMEM_H
#define RECORD_GUESTMEM_VMMEM_H

#include "base/error.h"

/*
 * The memory of a VM, as its VMM's process has it mapped: read only, and read as another process's
 * memory is (process_vm_readv), so that nothing is done to it.
 *
 * Guest-physical addresses count from the beginning of one of the process's mappings, but for the
 * hole below 4 GiB, whose size machine types choose.  Which of the places that come into question
 * is meant is for the reader to see by what stands there.
 */
struct vm_mapping {
	uint64_t begin, end;
};

struct vm_memory {
	int pid;
	struct vm_mapping *list; /* owned */
	unsigned nr;
};

/* -ENOMEM, or what /proc says: the process is gone, or not ours to look into. */
int vm_memory_open(struct vm_memory *m, int pid, struct error *err);
void vm_memory_close(struct vm_memory *m);

/* All of it or nothing: 0, or -errno (-ESRCH: the process is gone; -EFAULT: nothing is there). */
int vm_memory_read(const struct vm_memory *m, uint64_t at, void *to, size_t len_bytes);

/* How many bytes there are from @at on in the mapping that has it; 0: none has. */
uint64_t vm_memory_room(const struct vm_memory *m, uint64_t at);

/* The address in the process of guest-physical @gpa: the first place where @fits says so of its
 * first @len_bytes bytes (8, 16, ... 64), which are aligned to 8.  False when there is none. */
bool vm_memory_find(const struct vm_memory *m, uint64_t gpa, size_t len_bytes,
		    bool (*fits)(const void *bytes, void *data), void *data, uint64_t *at);

/* Looks at the first @len_bytes (8, 16, ... 64; aligned to 8) of every page that is there, until
 * @look says false, or
 * *@pages have been looked at, which it counts down.  Pages that are not in memory are not fetched.
 */
void vm_memory_scan(const struct vm_memory *m, size_t len_bytes, uint64_t *pages,
		    bool (*look)(uint64_t at, const void *bytes, void *data), void *data);

#endif
