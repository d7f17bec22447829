/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_WRITER_H
#define CHANNEL_WRITER_H

#include "channel/hypertrace.h"

/*
 * Writes the blocks of one CPU's stream (docs/formats/hypertrace.md).  Used in the guest kernel,
 * in probes, with preemption or interrupts off, and in user space.  It never allocates, waits or
 * fails: where a record does not fit, ht_*() returns false and nothing was written; the caller
 * then sends the block (ht_end()), begins the next (ht_begin()) and tries once more.
 *
 *	ht_writer_init(&w, cpu, shift);
 *	ht_begin(&w, buffer, sizeof(buffer), tsc);
 *	ht_switch(&w, tsc, &next, HT_SLEEPING);
 *	...
 *	len = ht_end(&w);             the block is in buffer
 *
 * One writer serves one CPU; callers keep two writers of one CPU from running at once.
 */

struct ht_task {
	int32_t tid;
	int32_t process; /* -1: not said */
	bool kthread;
	const char *name; /* of at most 15 bytes and NUL; NULL: not said */
};

#define HT_HINTS 64

struct ht_writer {
	uint8_t *block; /* not owned */
	uint32_t room;
	uint32_t used;
	uint64_t begin; /* TSC of the block */
	uint64_t units; /* of the last record, since begin */
	uint32_t seq;
	uint32_t lost; /* not yet reported */
	uint16_t cpu;
	uint8_t shift;
	uint8_t flags;
	uint8_t slots;	/* in use */
	uint8_t oldest; /* slot to give away next */
	int32_t tids[HT_TASK_SLOTS];
	uint8_t hint[HT_HINTS]; /* by TID: the slot it was last found in */
};

void ht_writer_init(struct ht_writer *w, uint16_t cpu, uint8_t shift);

/* @room: at least 64, at most HT_BLOCK_BYTES_MAX (HT_CALL_BLOCK_MAX for hypercalls). */
void ht_begin(struct ht_writer *w, void *block, uint32_t room, uint64_t tsc);
bool ht_empty(const struct ht_writer *w);

/* Completes the header; returns the block's length. */
uint32_t ht_end(struct ht_writer *w);

/* @nr events found no place; the next block's header tells. */
void ht_lost(struct ht_writer *w, uint32_t nr);

/*
 * The slot that @tid has in this block, or -1: then its name is to be sent.  Callers use it to look
 * a name up only when it is needed, and for the short ways to write below.
 */
int ht_slot_search(struct ht_writer *w, int32_t tid);

static inline int ht_slot(struct ht_writer *w, int32_t tid)
{
	uint8_t slot = w->hint[(uint32_t)tid % HT_HINTS];

	return w->tids[slot] == tid ? slot : ht_slot_search(w, tid);
}

/* The task that is running now. */
bool ht_current(struct ht_writer *w, const struct ht_task *task);
bool ht_switch(struct ht_writer *w, uint64_t tsc, const struct ht_task *next, enum ht_state prev);

/* The same for a task that has a slot. */
bool ht_switch_slot(struct ht_writer *w, uint64_t tsc, unsigned slot, enum ht_state prev);

/* Records whose first argument is a task; @args are the other @nr numbers. */
bool ht_task_record(struct ht_writer *w, uint64_t tsc, enum ht_record record,
		    const struct ht_task *task, const uint64_t *args, unsigned nr);
bool ht_slot_record(struct ht_writer *w, uint64_t tsc, enum ht_record record, unsigned slot,
		    const uint64_t *args, unsigned nr);

/* And a text, of @len bytes. */
bool ht_task_text(struct ht_writer *w, uint64_t tsc, enum ht_record record,
		  const struct ht_task *task, const char *text, uint32_t len);

/* Records of @nr numbers (svarints are passed through ht_signed()), then a text unless NULL. */
bool ht_record(struct ht_writer *w, uint64_t tsc, enum ht_record record, const uint64_t *args,
	       unsigned nr, const char *text, uint32_t text_len);

static inline uint64_t ht_signed(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

/* Tables.  ht_describe_all() writes what HT_RECORDS says, as far as it fits from *next on, and
 * moves *next; call again with another block until it returns true. */
bool ht_symbol(struct ht_writer *w, uint32_t symbol, uint64_t address, const char *name);
bool ht_machine(struct ht_writer *w, const char *hostname, const char *release, uint64_t tsc_khz,
		uint32_t cpus);
bool ht_describe_all(struct ht_writer *w, unsigned *next);

/*
 * For blocks that leave by hypercall as they fill: ht_begin_open() writes a header, whose length is
 * 0, and ht_end_open() says that nothing follows.  Both know the losses so far.
 */
void ht_begin_open(struct ht_writer *w, void *block, uint32_t room, uint64_t tsc);
uint32_t ht_end_open(struct ht_writer *w);

/* The five registers of hypercall number @fragment of a block of @len bytes; the number of
 * hypercalls is ht_call_fragments(len). */
struct ht_call {
	uint64_t nr, a0, a1, a2, a3;
};

static inline uint32_t ht_call_fragments(uint32_t len)
{
	return (len + HT_CALL_BYTES - 1) / HT_CALL_BYTES;
}

/* Fragment @fragment of a block of which @len bytes are known; @last: it ends the block. */
void ht_call_fragment(struct ht_call *call, const void *block, uint32_t len, uint32_t seq,
		      uint32_t fragment, bool last);

/* A mark of user space. */
void ht_call_mark(struct ht_call *call, enum ht_mark kind, uint32_t id, const char *text,
		  uint32_t len);

#endif
