/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANNEL_READER_H
#define CHANNEL_READER_H

#include "channel/hypertrace.h"

/*
 * Reads the blocks of one stream (docs/formats/hypertrace.md).  What it reads comes from a guest
 * that may lie about everything: no byte is believed before it is checked, and nothing is read
 * beyond the block.  Callers who share memory with the guest copy a block first.
 *
 *	ht_reader_init(&r);
 *	ret = ht_block_open(&r, block, len);           0, or -EINVAL: not a block, counted
 *	while (ht_block_next(&r, &record))
 *		use record;
 *
 * Nothing is allocated.  Texts point into the block.
 */

struct ht_text {
	const char *at;
	uint8_t len;
};

struct ht_item {
	uint8_t opcode; /* up to 0x7f: a switch */
	uint8_t state;	/* switch: enum ht_state of the task taken off */
	uint64_t tsc;	/* of tables: that of the record before */
	/*
	 * Arguments in order; texts are in text.  Tasks as TIDs, -1 when the block named none for
	 * the slot.  Switch: args[0] previous TID (-1 unknown), args[1] next TID.  HT_TASK: TID,
	 * process (-1 not said), flags.
	 */
	int64_t args[HT_ARGS_MAX];
	unsigned nr_args;
	struct ht_text text[2];
	unsigned nr_text;
};

struct ht_stats {
	uint64_t blocks;
	uint64_t items;
	uint64_t dropped;	/* events that the guest dropped, as it says */
	uint64_t blocks_lost;	/* by sequence number; none where it goes back */
	uint64_t blocks_broken; /* not readable, from their first byte or from some byte on */
};

struct ht_reader {
	/* The block being read. */
	const uint8_t *block;
	uint32_t len, at;
	uint64_t begin, units;
	uint32_t lost_before; /* events lost right before this block, HT_LOST_MANY for many */
	bool gap_before;      /* blocks are missing before this one */
	uint16_t cpu;
	uint8_t shift, flags;
	int32_t current; /* TID, -1 unknown */
	int32_t tids[HT_TASK_SLOTS];

	/* The stream. */
	uint32_t seq; /* expected next */
	bool seq_known;
	struct ht_stats stats;

	/* What 0x83 said of opcodes from 0x88 on: their argument letters; "" unknown. */
	char letters[256 - HT_TABLE_LAST - 1][HT_ARGS_MAX + 1];
};

void ht_reader_init(struct ht_reader *r);

/* Length that the block's header says, or 0 when there is no header of a block at @data. */
uint32_t ht_block_length(const void *data, uint32_t available);

int ht_block_open(struct ht_reader *r, const void *block, uint32_t len);
bool ht_block_next(struct ht_reader *r, struct ht_item *item);

/* "sched switch", "waking", ...; NULL for an opcode that this version does not have. */
const char *ht_opcode_name(uint8_t opcode);

/*
 * Joins the fragments of hypercalls to blocks: one assembler per vCPU.  ht_call_take() returns the
 * length of a block that is now whole in @block, 0 when more is to come or nothing fits; what a
 * missing fragment makes useless is counted in broken.
 */
struct ht_assembler {
	uint8_t block[HT_CALL_BLOCK_MAX];
	uint32_t used;
	uint32_t broken;
	uint8_t seq, next; /* of the block; fragment expected */
};

static inline bool ht_is_call(uint64_t nr)
{
	return nr >> 48 == HT_CALL_MAGIC;
}

static inline bool ht_call_is_last(uint64_t nr)
{
	return nr & HT_CALL_LAST;
}

static inline bool ht_is_mark(uint64_t nr)
{
	return nr >> 48 == HT_MARK_MAGIC;
}

uint32_t ht_call_take(struct ht_assembler *a, uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2,
		      uint64_t a3);

/* Blocks have the same number again after so many.  Where so many calls may be missing, what comes
 * next is not the rest of the block at hand: it counts as broken. */
#define HT_CALL_NUMBERS 256
void ht_call_drop(struct ht_assembler *a);

struct ht_mark_call {
	enum ht_mark kind;
	uint32_t id;
	char text[HT_MARK_TEXT_MAX + 1];
};

/* False: not a mark that follows the rules. */
bool ht_mark_take(struct ht_mark_call *out, uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2,
		  uint64_t a3);

#endif
