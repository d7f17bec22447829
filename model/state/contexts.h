/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_CONTEXTS_H
#define MODEL_STATE_CONTEXTS_H

#include "base/types.h"
#include "model/context.h"

/*
 * Contexts, numbered: every distinct one once.  Open addressing with linear probing, at most half
 * full.
 */

/*
 * What a CPU does, as a row of table "context".  One is made, compared and looked up for nearly
 * every event: whole words, because reading a word that was written in halves waits for both of
 * them.
 */
struct context {
	uint64_t who;  /* CPU's index + 1; in the upper half its thread's row + 1, 0 unknown */
	uint64_t what; /* enum context_mode; from bit 8 on the VMM's reason + 1, 0 none; in the
			  upper half index + 1 of the CPU it serves, 0 none */
	int64_t detail;
};

static inline uint32_t context_cpu(const struct context *c)
{
	return (uint32_t)c->who;
}

static inline uint32_t context_thread(const struct context *c)
{
	return (uint32_t)(c->who >> 32);
}

static inline uint32_t context_mode(const struct context *c)
{
	return (uint8_t)c->what;
}

static inline int32_t context_vmm(const struct context *c)
{
	return (int32_t)((uint32_t)c->what >> 8) - 1;
}

static inline uint32_t context_serves(const struct context *c)
{
	return (uint32_t)(c->what >> 32);
}

static inline bool context_same(struct context a, struct context b)
{
	return a.who == b.who && a.what == b.what && a.detail == b.detail;
}

/* The last context with that hash, by a few bits of it. */
#define CONTEXT_CACHE 256

struct context_cache {
	struct context context;
	uint32_t row; /* + 1; 0 empty */
};

struct context_table {
	struct context *rows;
	uint32_t nr, room;
	uint32_t *slots; /* row + 1; a power of two of them */
	uint32_t mask;
	struct context_cache cache[CONTEXT_CACHE];
};

struct model;

/* Its row + 1; 0: no memory. */
uint32_t context_row(struct model *m, const struct context *c);
void contexts_release(struct model *m);

#endif
