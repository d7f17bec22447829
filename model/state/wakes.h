/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_WAKES_H
#define MODEL_STATE_WAKES_H

#include "base/map.h"
#include "base/types.h"
#include "model/context.h"

/*
 * What is known of the waits of vCPUs and of what ends them: wake.h finds it out.
 *
 * A note is what is known of one delivery or wake-up.
 */
struct cpu;
struct thread;
struct machine_state;

enum wake_evidence {
	EVIDENCE_NONE,
	EVIDENCE_VECTOR,    /* only the vector that was injected is known */
	EVIDENCE_OWN_TIMER, /* its own thread delivered it, after it was woken: an expired timer */
	EVIDENCE_TIMER_INTERRUPT, /* a timer interrupt of its host woke it or delivered it */
	EVIDENCE_PIT,		  /* a kernel thread that plays a timer chip */
	EVIDENCE_IPI,	       /* another vCPU's thread delivered it, handling that vCPU's exit */
	EVIDENCE_KICK,	       /* ... by a hypercall that wakes who waits for a spinlock */
	EVIDENCE_STARTUP,      /* ... to start it */
	EVIDENCE_BLOCK,	       /* follows the end of a block request of its host */
	EVIDENCE_POOL,	       /* follows the work of another thread of the VMM */
	EVIDENCE_NET,	       /* follows a packet */
	EVIDENCE_HOST_IRQ,     /* a host interrupt handler delivered it */
	EVIDENCE_VMM,	       /* a thread of the VMM delivered it, for what is not known */
	EVIDENCE_EMULATED,     /* a vCPU's thread delivered it, playing a device */
	EVIDENCE_NO_INTERRUPT, /* woken, and no interrupt came */
	EVIDENCE_UNSEEN,       /* woken; interrupts are not in the trace */
	EVIDENCE_NOT_HALTED,   /* slept without having halted */
	EVIDENCE_PENDING,      /* neither slept nor polled */
	EVIDENCE_NESTED,       /* of a nested vCPU: the entry that ended it gave it the interrupt */
	EVIDENCE_NESTED_NONE,  /* ... or none */
	EVIDENCE_LOST,	       /* events of its host were lost: it may have ended any time since */
	EVIDENCE_GONE,	       /* nothing did: its thread ended in it */
	NR_EVIDENCE
};

struct note {
	uint8_t cause;	   /* enum wake_cause */
	uint8_t evidence;  /* enum wake_evidence; EVIDENCE_NONE: no note */
	int16_t vector;	   /* -1 none or unknown */
	struct cpu *from;  /* the vCPU that sent it; NULL none */
	struct thread *by; /* of the parent; NULL an interrupt handler, or unknown */
};

/* What a thread or an interrupt handler acts for: bits, kept until the thread sleeps again. */
#define FOR_DISK 1u
#define FOR_NET 2u
#define FOR_POOL 4u /* another thread of its process, which is no vCPU, had woken it */

/* A row of table "wake". */
struct wake {
	const struct cpu *vcpu;
	struct note note;
};

/* A row of table "vector". */
struct vector {
	const struct cpu *vcpu;
	uint8_t number;
	uint32_t told[NR_WAKE_CAUSES]; /* deliveries by cause */
	uint32_t pool;		       /* ... of those for disk, by the weaker evidence only */
	int32_t irq;		       /* of the guest: that which most injections led to */
	uint32_t irq_lead;	       /* by how many votes */
	uint32_t irq_votes, irq_agree;
	uint32_t name;	    /* string id: the guest's name of the vector itself */
	uint8_t name_cause; /* what that says */
};

/* A row of table "irq". */
struct irq_name {
	const struct machine_state *machine;
	int32_t irq;
	uint32_t name; /* string id */
	uint8_t cause; /* what that says */
	bool receives; /* packets, as far as its name tells */
};

struct wakes {
	struct wake *rows;
	uint32_t nr, room;
	struct map by_note;
	struct vector *vectors;
	uint32_t nr_vectors, vectors_room;
	struct map by_vector; /* cpu's index << 8 | vector -> index of vectors */
	struct irq_name *irqs;
	uint32_t nr_irqs, irqs_room;
	struct map by_irq; /* machine << 32 | irq -> index of irqs */
};

#endif
