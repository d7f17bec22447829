/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_WALK_H
#define SOURCE_CTF_WALK_H

#include "source/ctf/class.h"

/*
 * The interpreter: walks a record of any field class, bit by bit where need be.  It saves lengths
 * and selectors, collects values that have a role or an argument slot, and shows every field to
 * a visitor if there is one.  Headers and rare layouts are read with it; common events have a
 * compiled plan (plan.h), which must come to the same values.
 */
struct ctf_value {
	const char *name;
	const struct ctf_fc *fc;
	uint64_t pos; /* of its first bit */
	union {
		uint64_t u; /* integers; sign-extended when the class is signed */
		double f;
	};
	const uint8_t *text; /* strings, text arrays, blobs */
	size_t len;	     /* bytes of text or blob; elements of an array */
};

/* open and close surround the members of structures and the elements of arrays; false from open
 * or leaf ends the walk with -ECANCELED.  An absent optional is a leaf without len. */
struct ctf_visitor {
	bool (*open)(void *data, const struct ctf_value *v);
	void (*close)(void *data, const struct ctf_value *v);
	bool (*leaf)(void *data, const struct ctf_value *v);
};

/* Values of fields with a role; the last one read when several have the same. */
struct ctf_roles {
	uint64_t value[CTF_NR_ROLES];
	uint8_t bits[CTF_NR_ROLES]; /* their sizes */
	uint32_t seen;		    /* bit per enum ctf_role */
	const uint8_t *uuid;	    /* of CTF_ROLE_UUID, else NULL */
};

static inline bool ctf_has_role(const struct ctf_roles *r, enum ctf_role role)
{
	return r->seen >> role & 1;
}

struct ctf_walk {
	const uint8_t *data;	 /* the packet's first byte */
	uint64_t pos, end;	 /* bits; end is the first that must not be read */
	uint64_t fuel;		 /* fields that may still be visited: hostile input has to end */
	uint64_t *regs;		 /* [CTF_REGS] */
	int64_t *slots;		 /* [CTF_NR_SLOTS], or NULL */
	struct ctf_roles *roles; /* or NULL */
	const struct ctf_visitor *visitor;
	void *visitor_data;
};

/* Enough for every honest record: each field takes a bit at least, but for some empty ones. */
static inline uint64_t ctf_walk_fuel(uint64_t nr_bits)
{
	return nr_bits + 4096;
}

/* What a register has when its field was not read: it was in an option of a variant that was not
 * taken.  As a length it is longer than any file, and it selects nothing. */
#define CTF_REG_UNSET UINT64_C(0x8badf00d5eed0bad)

/* Before an event: what the one before it left is of no field of this one. */
static inline void ctf_forget_regs(uint64_t regs[static CTF_REGS], unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		regs[CTF_SHARED_REGS + i] = CTF_REG_UNSET;
}

/* Reads one record (a root structure; NULL is an empty one) at w->pos and moves behind it.
 * -ENODATA: it does not fit before w->end; -EINVAL: it cannot be what it says. */
int ctf_walk_record(struct ctf_walk *w, const struct ctf_fc *fc, const char *name);

#endif
