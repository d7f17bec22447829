/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_BOARD_H
#define RECORD_STEAL_STOLEN_BOARD_H

#include "base/error.h"
#include "channel/stolen.h"

/*
 * The region of one guest in which it is told what held it up (docs/formats/stolen.md): written
 * as another process's memory is (process_vm_writev).
 *
 * The guest is not believed.  Where the region is and how much memory there is comes from KVM; what
 * the guest says of its size must fit into that, and into limits.  Before each writing, the ring's
 * own head must stand where it stood, with the nonce: a page that has become another's is not
 * written to.  What is written stays within the ring, and is never read back.
 */
struct stolen_place {
	int pid;
	uint64_t at, room;   /* in the process; bytes of the guest's memory from there on */
	uint64_t generation; /* of the VM's memory map, when that was so */
	uint64_t nonce, bytes;
	uint64_t nr_rings, ring_bytes; /* as announced, and not more true than that */
};

struct stolen_board;

/* -EINVAL: what was announced makes no sense; -ENODATA: it is not there. */
int stolen_board_open(struct stolen_board **out, const struct stolen_place *place,
		      struct error *err);

/* The same region was announced again: where it is now.  Other than 0: as above, the board is not
 * to be used. */
int stolen_board_again(struct stolen_board *b, const struct stolen_place *place, struct error *err);

bool stolen_board_is_at(const struct stolen_board *b, int pid, uint64_t nonce);
uint64_t stolen_board_generation(const struct stolen_board *b);

/* What the next writing is to say of all rings. */
struct stolen_state {
	uint64_t lost;
	uint32_t bound_ns;
	bool is_vmx;
};

/* One stretch of a vCPU, with a record; or (@count > 0) so many, of @r->length_ns together, without
 * one.  False: the guest has no ring for this vCPU, or there is no memory. */
bool stolen_board_add(struct stolen_board *b, uint32_t vcpu, const struct st_record *r,
		      uint32_t count, uint64_t longest_ns);

/* Of a vCPU that stolen_board_add() was called for: how its counter runs. */
void stolen_board_set_clock(struct stolen_board *b, uint32_t vcpu, uint64_t until_tsc,
			    uint64_t tsc_hz);

/* Calls @each for the vCPUs that have a ring. */
void stolen_board_each(struct stolen_board *b, void (*each)(void *data, uint32_t vcpu), void *data);

/* Writes what is new, and (@all) to the others that there is nothing.  -ENODEV: the guest took the
 * region away; -ESRCH and others: its process is gone. */
int stolen_board_tell(struct stolen_board *b, const struct stolen_state *state, bool all);

/* The last word: nothing is written from now on. */
void stolen_board_end(struct stolen_board *b);
void stolen_board_close(struct stolen_board *b);

#endif
