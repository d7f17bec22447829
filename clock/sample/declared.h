/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_DECLARED_H
#define CLOCK_SAMPLE_DECLARED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "source/state_line.h"

/*
 * What a trace's state lines (docs/formats/state.md) say that tells machines and clocks apart: who
 * the machine is, which VMs it runs with which threads and TSC offsets, and readings of its clocks.
 *
 * trace-cmd, too, notes which guests it recorded along with a host, and how their clocks relate
 * (trace.dat's options GUEST and TIME_SHIFT): these are taken as if they had been listed.
 *
 * The lines stand at the begin and the end of a trace, so only these are read.  declared_read_all()
 * reads the rest, too, for a VM that came and went, and for an offset that was changed.
 *
 * The offset that KVM shows of a vCPU is that of the guest's guest while it runs that one.  So the
 * lists of one VM may disagree, and which of them is right is for other evidence to say
 * (clock/exact.h).
 */
struct declared_clock {
	uint64_t tsc, width;	  /* cycles: the others were read within @width of @tsc */
	int64_t mono, boot, real; /* ns; -1 not told */
};

struct declared_vm {
	uint32_t block;	 /* of the trace, counted from 1 */
	uint64_t number; /* in the block */
	int32_t pid;
	bool has_uuid;
	uint8_t uuid[16];
	uint64_t trace_id; /* of its own trace, when trace-cmd noted it; else 0 */
	char name[64];
};

#define TSC_BITS_MAX 56 /* AMD has 32, Intel 48 */

/* Guest's TSC = (its host's * ratio >> bits) + offset.  A ratio of 0: not scaled. */
struct tsc_relation {
	int64_t offset;
	uint64_t ratio;
	unsigned bits;
};

struct declared_vcpu {
	uint32_t vm; /* index into vms */
	int number;
	int32_t tid; /* -1 not told */
	bool has_relation;
	struct tsc_relation relation;
	enum state_cause cause; /* of the block */
};

struct offset_write {
	uint64_t time;
	int32_t tid;
	int64_t offset;
};

#define DECLARED_LIST(type)                                                                        \
	struct {                                                                                   \
		type *list;                                                                        \
		size_t nr, room;                                                                   \
	}

/* A line as it was found. */
struct raw_line {
	uint64_t time;
	uint32_t order; /* in which it was met: decides between equal times */
	int32_t tid;
	uint32_t len_bytes;
	const char *text; /* in the arena */
};

struct declared {
	struct trace *trace;
	bool any;      /* there is a block */
	bool at_end;   /* ... and one of the end */
	bool has_uuid; /* the system's, which a hypervisor gave it */
	uint8_t uuid[16];
	bool hypervisor; /* it says that it runs in a VM */
	char hostname[65], boot_id[40];
	uint64_t tsc_khz; /* 0 not told */
	DECLARED_LIST(struct declared_clock) clocks;
	DECLARED_LIST(struct declared_vm) vms;
	DECLARED_LIST(struct declared_vcpu) vcpus;
	DECLARED_LIST(struct offset_write) writes; /* declared_read_all() only */
	bool of_another_time; /* nothing but its UUID led to its host, and it was not there then */
	bool misled; /* what its host lists of its clock did not stand the test: it is to be placed
			by other means first */
	/* private */
	DECLARED_LIST(struct raw_line) raw;
	struct arena arena;
	struct map by_thread;  /* TID -> the newest of vcpus */
	uint32_t *head, *tail; /* per stream: packets before and from there on are read */
	bool whole;
};

/* Reads begin and end of the trace; what it has no lines of is left empty.  -ENOMEM. */
int declared_read(struct declared *d, struct trace *t, struct error *err);

/* Reads all of it, and kvm_write_tsc_offset events as well. */
int declared_read_all(struct declared *d, struct error *err);
void declared_release(struct declared *d);

/* The newest listing of the VM with this UUID; NULL when there is none. */
const struct declared_vm *declared_vm_with_uuid(const struct declared *d, const uint8_t uuid[16]);
/* ... of the trace that trace-cmd gave this id. */
const struct declared_vm *declared_vm_of_trace(const struct declared *d, uint64_t trace_id);
/* ... with this name, when all of that name are one process. */
const struct declared_vm *declared_vm_named(const struct declared *d, const char *name);
/* ... that this process is. */
const struct declared_vm *declared_vm_of_process(const struct declared *d, int32_t pid);
/* ... that this thread is a vCPU of. */
const struct declared_vm *declared_vm_of_thread(const struct declared *d, int32_t tid);

/* Whether two listings, of any blocks, are of one VM. */
bool declared_same_vm(const struct declared_vm *a, const struct declared_vm *b);

/* The thread that runs the VM's vCPU; -1 not told. */
int32_t declared_thread(const struct declared *d, const struct declared_vm *vm, int vcpu);

/* A relation that was listed of the VM's vCPUs. */
struct relation_votes {
	struct tsc_relation relation;
	unsigned votes;	       /* how many times */
	bool at_start, at_end; /* ... among them in a block of the begin, of the end */
};

/* The different ones, most votes first; no more than @room. */
unsigned declared_relations(const struct declared *d, const struct declared_vm *vm,
			    struct relation_votes *out, unsigned room);

/* Of what declared_relations() gave: the one that counted at the begin only, and the one that did
 * at the end only.  False unless there is one of each: then the offset was not changed, or not
 * once. */
bool declared_change(const struct relation_votes *list, unsigned nr,
		     const struct relation_votes **before, const struct relation_votes **after);

/* When @offset was last written for one of the VM's vCPUs, in the host's ticks; after
 * declared_read_all() only.  False when it was not seen. */
bool declared_written_at(const struct declared *d, const struct declared_vm *vm, int64_t offset,
			 uint64_t *time);

/* Whether any VM's offset was changed between begin and end. */
bool declared_any_change(const struct declared *d);

/* The one listed most often; false when none is. */
bool declared_relation(const struct declared *d, const struct declared_vm *vm,
		       struct tsc_relation *out);

#endif
