/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_CALLERS_H
#define LIBSONDE_INPUTS_CALLERS_H

#include "channel/reader.h"
#include "clock/sample/declared.h"
#include "libsonde/inputs/spool.h"

/*
 * Which threads that send blocks by hypercall are vCPUs of one guest; private to lib/.  The rules
 * are in libsonde/inputs/within.h.  Costs n log n, whatever they call themselves.
 */

/* A vCPU that sends blocks: of a guest, a host's thread; of a guest's guest, a VMCB of that
 * guest's. The latter runs now in one thread of the host, now in another, of one process. */
struct caller {
	int32_t tid;
	int32_t process; /* of the VM (nested: of the guest between); -1 unknown */
	int32_t vcpu;	 /* its number in the VM, as the host says; -1 unknown, or nested */
	uint64_t vmcb;	 /* 0: not nested */
	bool contested;	 /* VMs call themselves what this one does: callers_group() says so */
	unsigned name;	 /* number of what it calls itself; the same */
	struct ht_assembler assembler;
	unsigned input;	    /* of its last call: the host's stream */
	uint64_t losses[2]; /* ... and how often calls were lost there, and on all of them */
	struct spool_writer out;
	uint64_t blocks;
	char hostname[65], release[65];	    /* as its blocks say */
	uint64_t cpus[TRACE_CPUS_MAX / 64]; /* bits: CPUs of the guest that it sent for */
};

/* In the order in which they first sent. */
struct caller_guest {
	struct caller **callers; /* in caller_guests.callers */
	unsigned nr;
	const struct declared_vm *listed; /* what the host's state lines have of it; NULL nothing */
};

struct caller_guests {
	struct caller_guest *list; /* owned: those that are listed, then the others */
	unsigned nr;
	struct caller **callers; /* owned */
};

/* Those that sent no block are of no guest.  0 or -ENOMEM; to be released either way. */
int callers_group(struct caller_guests *out, struct caller **callers, unsigned nr,
		  const struct declared *declared);
void caller_guests_release(struct caller_guests *g);

#endif
