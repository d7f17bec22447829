/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IO_PACKET_TAKER_H
#define MODEL_IO_PACKET_TAKER_H

#include "base/types.h"
#include "events/event.h"

/*
 * Who takes the packets that a host hands to its network devices, and who handed them; private to
 * model/. docs/fusion.md has the rules, section 10.
 *
 * A VM's network device is one of its host's, too (a tap), out of which a thread takes packets for
 * the VM: a vhost worker, or one of its VMM.  Which one is learned: who hands a packet to the
 * device wakes it.  A taker that is awake already is not woken, and then the device alone tells
 * whom the packet is for.
 */
struct cpu;
struct thread;
struct model;
struct machine_state;

/* So many packets that wait to be told of are kept of a device; of more it is only known that there
 * were more. */
#define TAP_HANDED 16

struct handing {
	ns_t at;
	struct thread *by; /* NULL: an interrupt handler, or unknown */
};

struct tap {
	struct machine_state *machine; /* the host */
	uint32_t name;		       /* string id */
	struct thread *woken;	       /* who was woken for the last packet that woke somebody */
	uint32_t times;		       /* ... so often in a row */
	struct tap *next_of_taker;     /* another one out of which @woken takes */
	struct handing handed[TAP_HANDED];
	struct tap *next_tapped; /* of machine->tapped ... */
	bool in_tapped;		 /* ... it is in it */
	unsigned nr;		 /* of those; TAP_HANDED + 1: more than are kept */
};

/* The CPU's code hands a packet to a device. */
void tap_xmit(struct cpu *cpu, const struct event *e);
/* ... and wakes a thread. */
void tap_woken(struct cpu *cpu, struct thread *woken);

/*
 * The last packet that was handed to @taker before @until, of those that have not been told of,
 * which are told of then. False when there is none, or when they are not all from the same thread:
 * whose it was that mattered is then not known.
 */
bool tap_handed(struct thread *taker, ns_t until, struct handing *out);

/* Events of the machine were lost: packets may have been taken unseen. */
void tap_lost(struct machine_state *mc);
void taps_release(struct model *m);

#endif
