/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_HOLDUPS_H
#define CHANNEL_HOLDUPS_H

/*
 * What kernel/bpf/stolen.bpf.c tells of this machine's vCPU threads, for record/stolen*.c on the
 * same machine: no format that leaves it.  No other header: the includer has uint64_t and the like.
 */
enum holdup_kind {
	HU_WAIT = 1, /* @tid wants to run, on @cpu, where @runner does */
	HU_MOVE,     /* ... waits on @cpu from now on */
	HU_RUN,	     /* ... runs, on @cpu */
	HU_RUNNER,   /* @runner runs on @cpu now, where somebody waits */
	HU_EXIT,     /* @tid was out of the guest; see below */
	HU_ANNOUNCE, /* a guest says where its region is */
};

#define HU_VMX 1 /* flags */

#define HU_REASON_UNKNOWN 0xffffffffu

struct holdup {
	uint16_t kind, flags;
	uint32_t tid, tgid, vcpu; /* of the vCPU's thread; 0 in HU_RUNNER */
	uint32_t cpu, runner;	  /* runner: process that runs there, 0 nobody */
	uint64_t time_ns;	  /* CLOCK_MONOTONIC */
	int64_t tsc_offset;	  /* the guest's counter is the host's * ratio / 1 + this */
	uint64_t tsc_ratio;	  /* 32 bits of fraction, with VMX 48 */
	uint64_t generation;	  /* of the VM's memory map */
	union {
		/* The stretch that ended now, 0 if none is worth a record of its own; and how many
		 * shorter ones there were before, that nothing was told of. */
		struct {
			uint64_t begin_ns, held_ns; /* without the waits in it */
			uint64_t sum_ns, longest_ns;
			uint32_t sum_nr, reason;
		} exit;
		/* As in channel/stolen.h; where the region is in the process, and what there is of
		 * the VM's memory from there on in one piece (0: no memory that may be written). */
		struct {
			uint64_t nr, gpa, bytes, nonce, ring_bytes, at, room;
		} announce;
	};
};

#endif
