/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_HYPERCALLS_H
#define CHANNEL_HYPERCALLS_H

/*
 * The numbers of docs/formats/hypercalls.md, for the BPF program that makes the records, for who
 * writes the file and for who reads it.  No other header: the includer has uint64_t and the like.
 */

#define HC_MAGIC "SONDEHYC"
#define HC_VERSION 1
#define HC_HEADER_BYTES 64
#define HC_RECORD_BYTES 112
#define HC_RING_BYTES (4u << 20) /* between program and recorder: 35,000 calls */

enum hc_kind { HC_CALL = 1, HC_EXIT, HC_ENTRY, HC_CLOCK, HC_LOST, HC_SPACE };

#define HC_SCALED 1 /* flags */
#define HC_VMX 2
#define HC_NO_EXIT 4  /* of a call: its kvm_exit is not in the trace */
#define HC_NO_ENTRY 8 /* ... its kvm_entry is not */
/* of a space: it was there at an earlier exit already, whose record was lost */
#define HC_LATE 16

#define HC_CPL_0 32    /* of a call: KVM's word is that the guest's kernel made it */
#define HC_CPL_USER 64 /* ... that a process did; neither: KVM was not asked */

#define HC_SKIPPED_CALL 1ull /* one of what the member skipped counts */
#define HC_SKIPPED_MARK (1ull << 32)

#define HC_CALL_BYTES 3 /* of the instruction, vmcall or vmmcall */

#define HC_UNKNOWN 0xffffffffu /* overhead_ns; also "many" in lost */

struct hc_header {
	char magic[8];
	uint32_t version;
	uint32_t record_bytes;
	uint64_t reserved[6];
};

struct hc_record {
	uint16_t kind;
	uint16_t flags;
	uint32_t lost;	    /* of this thread, before this one */
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t tsc;	    /* call, exit: the guest's; clock: the host's; lost: how many */
	int64_t tsc_offset; /* the guest's less the host's; clock: width of the reading, cycles */
	uint32_t tid, tgid; /* of the vCPU's thread */
	uint32_t vcpu_id;
	uint32_t cpu;
	uint32_t overhead_ns;
	uint32_t entry_cpu;
	uint64_t rip;
	uint64_t nr;	  /* space: CR3 */
	uint64_t args[4]; /* space: address of the nested guest's vmcb12 or vmcs12, 0 it is none;
			     time of the exit before, by which it was in another one, 0 unknown */
	/* Of a process's call: how many calls of its VM's processes were not written since the file
	 * began, low half: of those that only a kernel may make; high half: marks. */
	uint64_t skipped;
};

_Static_assert(sizeof(struct hc_header) == HC_HEADER_BYTES, "docs/formats/hypercalls.md");
_Static_assert(sizeof(struct hc_record) == HC_RECORD_BYTES, "docs/formats/hypercalls.md");

#endif
