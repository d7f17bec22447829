/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_STOLEN_H
#define CHANNEL_STOLEN_H

#include "channel/port.h"

/*
 * The numbers of docs/formats/stolen.md: memory of a guest in which its host tells when, for how
 * long and by what its vCPUs were held up.  For the guest's module, for who writes (sonde share, on
 * the host) and for who reads (sonde stolen, in the guest).
 *
 * The region is one piece of guest-physical memory: a page of st_region, then a ring per CPU.  The
 * guest writes st_region and st_ring.own; the host writes the rest of each ring, and nothing else.
 */
#define ST_ANNOUNCE_MAGIC 0x5354
#define ST_REGION_MAGIC "SONDESTL"
#define ST_RING_MAGIC "SONDESTR"
#define ST_VERSION 1
#define ST_PAGE_BYTES 4096
#define ST_RINGS_MAX 4096
#define ST_RING_BYTES_MAX (ST_PAGE_BYTES * 256)
#define ST_RECORD_BYTES 32
#define ST_HEAD_BYTES 256 /* of a ring, before its records */

enum st_announcement { ST_HERE, ST_GONE };

/* By what a vCPU was held up.  The first ones are while it was ready to run: stolen time. */
enum st_class {
	ST_HOST,       /* a task of the host ran */
	ST_VM,	       /* another VM */
	ST_OWN,	       /* its own VM: another vCPU, or a thread of its VMM */
	ST_NOBODY,     /* nobody ran: it was being woken, or may not have more of the CPU */
	ST_HYPERVISOR, /* KVM or the VMM worked for it, between an exit and the entry */
	ST_CLASSES,
};

#define ST_MOVED 1 /* of a record: on another physical CPU than the one before */
#define ST_VMX 2   /* of what is told: reasons are VMX's, else SVM's */

#define ST_REASON_UNKNOWN UINT32_C(0xffffffff)
#define ST_LAST_WORD UINT64_C(0xffffffffffffffff) /* begun: the host writes no more */

struct st_region {
	char magic[8];
	uint32_t version, nr_rings;
	uint64_t nonce; /* 0: gone */
	uint32_t ring_bytes, zero;
	uint64_t bytes; /* of the region, all of it */
	uint64_t more[3];
};

/* What the guest says of a ring. */
struct st_own {
	char magic[8];
	uint32_t version, cpu;
	uint64_t nonce;
	uint32_t vcpu; /* its APIC ID, which is what KVM calls it */
	uint32_t ring_bytes;
	uint64_t zero[4];
};

struct st_total {
	uint64_t ns, count, longest_ns;
};

/* What the host says: good when begun and ended are equal, read in this order: ended, the rest,
 * begun. */
struct st_told {
	uint64_t begun;	    /* tellings */
	uint64_t written;   /* records ever */
	uint64_t until_tsc; /* all before this is told */
	uint64_t lost;	    /* of the host's own events, since it shares with this guest */
	uint64_t tsc_hz;    /* the guest's counter; 0: not known yet */
	uint32_t bound_ns;  /* times may be off by so much */
	uint32_t flags;
	struct st_total totals[ST_CLASSES];
	uint64_t ended;
};

/* Record k, from 0, is in slot k modulo their number. */
struct st_record {
	uint64_t number; /* k + 1 */
	uint64_t begin_tsc;
	uint64_t length_ns;
	uint8_t kind; /* enum st_class */
	uint8_t flags;
	uint16_t zero;
	uint32_t reason; /* of the exit, ST_HYPERVISOR's */
};

struct st_ring {
	struct st_own own;
	struct st_told told;
	uint8_t zero[ST_HEAD_BYTES - sizeof(struct st_own) - sizeof(struct st_told)];
	struct st_record records[];
};

static inline uint32_t st_slots(uint32_t ring_bytes)
{
	return (ring_bytes - ST_HEAD_BYTES) / ST_RECORD_BYTES;
}

_Static_assert(sizeof(struct st_region) == 64, "docs/formats/stolen.md");
_Static_assert(sizeof(struct st_own) == 64, "docs/formats/stolen.md");
_Static_assert(sizeof(struct st_record) == ST_RECORD_BYTES, "docs/formats/stolen.md");
_Static_assert(sizeof(struct st_ring) == ST_HEAD_BYTES, "docs/formats/stolen.md");

#endif
