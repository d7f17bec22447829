/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_REQUESTS_H
#define MODEL_STATE_REQUESTS_H

#include "base/types.h"

/*
 * What is known of requests to devices at the moment: request.h finds it out.
 */
struct cpu;
struct thread;
struct machine_state;

enum request_kind {
	REQUEST_UNKNOWN, /* only its kick was seen */
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_FLUSH,	 /* no data: what was written is to be safe */
	REQUEST_SEND,	 /* a packet */
	REQUEST_RECEIVE, /* packets that came: from the interrupt that told of them to its handler
			  */
	NR_REQUEST_KINDS
};

/* Moments of a request; NS_MIN when not known. */
enum request_time {
	REQUEST_QUEUED,	    /* put into a scheduler's queue */
	REQUEST_ISSUED,	    /* given to its device's driver */
	REQUEST_KICKED,	    /* the vCPU left guest mode to tell its VMM */
	REQUEST_PICKED,	    /* the thread that works for it runs */
	REQUEST_DISK_BEGIN, /* the host's own device got it */
	REQUEST_DISK_END,
	REQUEST_SENT,	  /* the interrupt is on its way */
	REQUEST_INJECTED, /* ... and given to the vCPU */
	REQUEST_HANDLED,  /* its handler begins */
	REQUEST_DONE,
	NR_REQUEST_TIMES
};

struct request {
	struct machine_state *machine;
	struct cpu *cpu;       /* that issued it; NULL unknown */
	struct thread *thread; /* whose it is; NULL unknown, or a handler */
	struct thread *issuer; /* that gave it to the driver */
	struct thread *worker; /* of the parent, that took it up; RECEIVE: that handed them to
				  @sender, PICKED */
	struct thread *helper; /* of the parent, that @worker woke while it took it up; NULL none,
				  or unknown */
	struct thread *sender; /* of the parent, that sent the interrupt; NULL a handler */
	struct cpu *irq_cpu;   /* that got the interrupt */
	ns_t at[NR_REQUEST_TIMES];
	uint64_t doorbell; /* where it was kicked for; 0 unknown */
	int64_t dev;	   /* -1 unknown */
	int64_t sector;	   /* -1 none */
	int64_t bytes, disk_bytes;
	uint32_t serial;     /* of pending ones: 0 none */
	uint32_t for_serial; /* the request of a VM that this one of its host is for */
	struct machine_state *for_vm;
	int16_t vector;
	uint16_t depth; /* so many of its device were under way when it was issued, itself included;
			   0 unknown */
	uint8_t kind;	/* enum request_kind */
	bool covered;	/* its parent's trace tells of its vCPU, from its begin to its end */
	bool torn;     /* while it was under way its parent lost events: what that did for it is not
			  told any more */
	bool disputed; /* a disk of its host's worked for it or for another one: it is not known
			  which */
	bool queued_unseen; /* perhaps it was put into a scheduler's queue while events were lost */
	bool answered; /* all of the run shows that @vector is what answers its doorbell: doorbell.h
			*/
	bool met; /* its CPU's thread was not seen to get it: one that was issued unseen may share
		     its kick */
};

/* Then Linux gives up a request, as a rule: one that was issued before a trace begins, or in a gap,
 * is taken to have ended so long after. */
#define REQUEST_LONGEST_NS (30 * NS_PER_SEC)

/* Those that have not ended, oldest first. */
struct pending {
	struct request *list; /* owned */
	uint32_t nr, room;
	ns_t unseen_until; /* up to then others may be under way that were not seen to be issued */
};

/*
 * Where a disk of a VM lies on a disk of its host: so many sectors further on.  A file may lie
 * there in pieces: the last few distances that were seen.
 */
#define PLACES 8
struct place {
	int64_t dev, host_dev; /* -1: no entry */
	int64_t distance;
};

struct places {
	struct place *list; /* PLACES of them, in the arena; NULL none yet */
	unsigned next;	    /* the one to be overwritten */
};

/* Interrupts that were sent to a vCPU, by vector: the last few vectors. */
#define SENDS 6
struct send {
	int16_t vector;		   /* -1: no entry */
	bool may_answer;	   /* its cause is a disk, or a device that is not known better */
	ns_t first, last;	   /* since its handler ran last; NS_MIN none */
	ns_t injected;		   /* after the first of them */
	struct thread *by, *waker; /* ... who sent it, and had been woken last by that one; NULL: by
				      an interrupt, or unknown */
};

/* An interrupt handler of a vCPU's own kernel, and how it came to run. */
struct handler {
	ns_t at; /* NS_MIN none */
	struct cpu *cpu;
	struct send send; /* vector -1: not known */
};

/* Packets that a machine's code has handed to its network devices since one was told of, or was
 * seen to be taken. */
struct unsent {
	ns_t at; /* of the last one */
	struct cpu *cpu;
	struct thread *by; /* NULL: a handler */
	uint32_t nr;
};

struct kick {
	ns_t at; /* of an exit by which devices are told; NS_MIN: the last one was another */
	uint64_t doorbell;    /* the address or port that was written to then; 0 unknown */
	bool told;	      /* ... and a device was told of something by it, surely */
	struct thread *early; /* woken before that to take up what it tells of; NULL nobody */
	struct machine_state *early_for; /* ... whom it worked for until then */
	bool unclear; /* ... several were: which of them is to take it up is not known */
	ns_t xmit_at; /* the guest handed a packet to a network device, and has not kicked since */
	struct thread *xmit_by; /* ran then */
	bool xmit_soft;		/* a handler handed it over, not that thread */
	struct send *sends;	/* SENDS of them, in the arena; NULL none yet */
};

#endif
