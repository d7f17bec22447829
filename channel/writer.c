// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Writes blocks of the hypertrace format, see channel/writer.h. */
#include "channel/writer.h"

/* What a varint can need at most, one byte of opcode, and a byte each for slot and flags. */
#define TASK_ROOM (1 + 1 + 5 + 1 + 5 + 1 + 15)
#define SWITCH_ROOM (1 + HT_VARINT_MAX)

static void put_le(uint8_t *to, uint64_t v, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++, v >>= 8)
		to[i] = (uint8_t)v;
}

static void put_byte(struct ht_writer *w, uint8_t v)
{
	w->block[w->used++] = v;
}

static uint8_t *long_varint(uint8_t *to, uint64_t v)
{
	while (v >= 0x80) {
		*to++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*to++ = (uint8_t)v;
	return to;
}

/* Most are of one or two bytes. */
static inline uint8_t *varint(uint8_t *to, uint64_t v)
{
	if (v < 0x80) {
		*to = (uint8_t)v;
		return to + 1;
	}
	if (v < 0x4000) {
		to[0] = (uint8_t)(v | 0x80);
		to[1] = (uint8_t)(v >> 7);
		return to + 2;
	}
	return long_varint(to, v);
}

static void put_varint(struct ht_writer *w, uint64_t v)
{
	w->used = (uint32_t)(varint(w->block + w->used, v) - w->block);
}

static void put_text(struct ht_writer *w, const char *text, uint32_t len)
{
	put_byte(w, (uint8_t)len);
	memcpy(w->block + w->used, text, len);
	w->used += len;
}

static uint32_t text_len(const char *text, uint32_t max)
{
	uint32_t len = 0;

	while (len < max && text[len])
		len++;
	return len;
}

static bool fits(const struct ht_writer *w, uint32_t bytes)
{
	return w->used + bytes <= w->room;
}

void ht_writer_init(struct ht_writer *w, uint16_t cpu, uint8_t shift)
{
	memset(w, 0, sizeof(*w));
	w->cpu = cpu;
	w->shift = shift & HT_SHIFT_MASK;
}

void ht_begin(struct ht_writer *w, void *block, uint32_t room, uint64_t tsc)
{
	w->block = block;
	w->room = room;
	w->used = HT_HEADER_BYTES;
	w->begin = tsc;
	w->units = 0;
	w->flags &= HT_FLAG_PANIC;
	w->slots = 0;
	w->oldest = 0;
	memset(w->tids, 0xff, sizeof(w->tids));
}

bool ht_empty(const struct ht_writer *w)
{
	return w->used == HT_HEADER_BYTES;
}

static void put_header(struct ht_writer *w, uint32_t len)
{
	put_le(w->block, HT_MAGIC, 2);
	w->block[2] = HT_VERSION;
	w->block[3] = w->shift | w->flags;
	put_le(w->block + 4, len, 2);
	put_le(w->block + 6, w->cpu, 2);
	put_le(w->block + 8, w->seq, 4);
	put_le(w->block + 12, w->lost, 4);
	put_le(w->block + 16, w->begin, 8);
	w->lost = 0;
}

uint32_t ht_end(struct ht_writer *w)
{
	put_header(w, w->used);
	w->seq++;
	return w->used;
}

void ht_begin_open(struct ht_writer *w, void *block, uint32_t room, uint64_t tsc)
{
	/* The last byte is kept for ht_end_open(). */
	ht_begin(w, block, room - 1, tsc);
	put_header(w, 0);
}

uint32_t ht_end_open(struct ht_writer *w)
{
	put_byte(w, HT_END);
	w->seq++;
	return w->used;
}

void ht_lost(struct ht_writer *w, uint32_t nr)
{
	w->lost = nr < HT_LOST_MANY - w->lost ? w->lost + nr : HT_LOST_MANY;
}

/*
 * Writes opcode and time.  Time goes on in units since the block's beginning, so that what is
 * rounded away never adds up; a clock that steps back (it should not, on one CPU) stands still.
 */
static inline uint8_t *head(struct ht_writer *w, uint8_t *to, uint8_t opcode, uint64_t tsc)
{
	int64_t delta = (int64_t)(((tsc - w->begin) >> w->shift) - w->units);

	*to++ = opcode;
	if (delta < 0 || tsc < w->begin)
		delta = 0;
	w->units += (uint64_t)delta;
	return varint(to, (uint64_t)delta);
}

static void put_head(struct ht_writer *w, uint8_t opcode, uint64_t tsc)
{
	w->used = (uint32_t)(head(w, w->block + w->used, opcode, tsc) - w->block);
}

int ht_slot_search(struct ht_writer *w, int32_t tid)
{
	unsigned int i;

	for (i = 0; i < w->slots; i++)
		if (w->tids[i] == tid) {
			w->hint[(uint32_t)tid % HT_HINTS] = (uint8_t)i;
			return (int)i;
		}
	return -1;
}

/* The task's slot, given to it now if it has none.  The caller has seen to TASK_ROOM. */
static uint8_t task_slot(struct ht_writer *w, const struct ht_task *task)
{
	int known = ht_slot(w, task->tid);
	uint8_t slot;

	if (known >= 0)
		return (uint8_t)known;
	if (w->slots < HT_TASK_SLOTS) {
		slot = w->slots++;
	} else {
		slot = w->oldest;
		w->oldest = (w->oldest + 1) % HT_TASK_SLOTS;
	}
	w->tids[slot] = task->tid;
	w->hint[(uint32_t)task->tid % HT_HINTS] = slot;
	put_byte(w, HT_TASK);
	put_byte(w, slot);
	put_varint(w, (uint32_t)task->tid);
	put_byte(w, (task->kthread ? HT_TASK_KTHREAD : 0) | (task->name ? HT_TASK_NAME : 0) |
			    (task->process >= 0 ? HT_TASK_PROCESS : 0));
	if (task->process >= 0)
		put_varint(w, (uint32_t)task->process);
	if (task->name)
		put_text(w, task->name, text_len(task->name, 15));
	return slot;
}

bool ht_current(struct ht_writer *w, const struct ht_task *task)
{
	uint8_t slot;

	if (!fits(w, TASK_ROOM + 2))
		return false;
	slot = task_slot(w, task);
	put_byte(w, HT_CURRENT);
	put_byte(w, slot);
	return true;
}

bool ht_switch_slot(struct ht_writer *w, uint64_t tsc, unsigned int slot, enum ht_state prev)
{
	if (!fits(w, SWITCH_ROOM))
		return false;
	put_head(w, (uint8_t)(prev << 4 | slot), tsc);
	return true;
}

bool ht_switch(struct ht_writer *w, uint64_t tsc, const struct ht_task *next, enum ht_state prev)
{
	if (!fits(w, TASK_ROOM + SWITCH_ROOM))
		return false;
	return ht_switch_slot(w, tsc, task_slot(w, next), prev);
}

bool ht_slot_record(struct ht_writer *w, uint64_t tsc, enum ht_record record, unsigned int slot,
		    const uint64_t *args, unsigned int nr)
{
	unsigned int i;
	uint8_t *to;

	if (!fits(w, 1 + 1 + (nr + 1) * HT_VARINT_MAX))
		return false;
	to = head(w, w->block + w->used, (uint8_t)record, tsc);
	*to++ = (uint8_t)slot;
	for (i = 0; i < nr; i++)
		to = varint(to, args[i]);
	w->used = (uint32_t)(to - w->block);
	return true;
}

bool ht_task_record(struct ht_writer *w, uint64_t tsc, enum ht_record record,
		    const struct ht_task *task, const uint64_t *args, unsigned int nr)
{
	if (!fits(w, TASK_ROOM + 1 + 1 + (nr + 1) * HT_VARINT_MAX))
		return false;
	return ht_slot_record(w, tsc, record, task_slot(w, task), args, nr);
}

bool ht_task_text(struct ht_writer *w, uint64_t tsc, enum ht_record record,
		  const struct ht_task *task, const char *text, uint32_t len)
{
	uint8_t slot;

	if (len > HT_TEXT_MAX)
		len = HT_TEXT_MAX;
	if (!fits(w, TASK_ROOM + 1 + HT_VARINT_MAX + 1 + 1 + len))
		return false;
	slot = task_slot(w, task);
	put_head(w, (uint8_t)record, tsc);
	put_byte(w, slot);
	put_text(w, text, len);
	return true;
}

bool ht_record(struct ht_writer *w, uint64_t tsc, enum ht_record record, const uint64_t *args,
	       unsigned int nr, const char *text, uint32_t len)
{
	unsigned int i;
	uint8_t *to;

	if (len > HT_TEXT_MAX)
		len = HT_TEXT_MAX;
	if (!fits(w, 1 + (nr + 1) * HT_VARINT_MAX + (text ? 1 + len : 0)))
		return false;
	to = head(w, w->block + w->used, (uint8_t)record, tsc);
	for (i = 0; i < nr; i++)
		to = varint(to, args[i]);
	w->used = (uint32_t)(to - w->block);
	if (text)
		put_text(w, text, len);
	return true;
}

bool ht_symbol(struct ht_writer *w, uint32_t symbol, uint64_t address, const char *name)
{
	uint32_t len = text_len(name, HT_TEXT_MAX);

	if (!fits(w, 1 + 5 + HT_VARINT_MAX + 1 + len))
		return false;
	put_byte(w, HT_SYMBOL);
	put_varint(w, symbol);
	put_varint(w, address);
	put_text(w, name, len);
	return true;
}

bool ht_machine(struct ht_writer *w, const char *hostname, const char *release, uint64_t tsc_khz,
		uint32_t cpus)
{
	uint32_t host_len = text_len(hostname, 64), release_len = text_len(release, 64);

	if (!fits(w, 1 + 1 + host_len + 1 + release_len + HT_VARINT_MAX + 5))
		return false;
	put_byte(w, HT_MACHINE);
	put_text(w, hostname, host_len);
	put_text(w, release, release_len);
	put_varint(w, tsc_khz);
	put_varint(w, cpus);
	return true;
}

bool ht_describe_all(struct ht_writer *w, unsigned int *next)
{
	for (; *next < ht_nr_descriptions; (*next)++) {
		const char *name = ht_descriptions[*next].name;
		const char *letters = ht_descriptions[*next].letters;
		uint32_t name_len = text_len(name, HT_TEXT_MAX);
		uint32_t letters_len = text_len(letters, HT_ARGS_MAX);

		if (!fits(w, 1 + 2 + 1 + name_len + 1 + letters_len))
			return false;
		put_byte(w, HT_DESCRIBE);
		put_varint(w, ht_descriptions[*next].opcode);
		put_text(w, name, name_len);
		put_text(w, letters, letters_len);
	}
	return true;
}

static uint64_t get_le(const uint8_t *from, uint32_t available, unsigned int bytes)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < bytes && i < available; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

/* Eight bytes at @offset of a fragment that has @left bytes; zeros behind its end. */
static uint64_t call_register(const uint8_t *from, uint32_t left, uint32_t offset)
{
	return left > offset ? get_le(from + offset, left - offset, 8) : 0;
}

void ht_call_fragment(struct ht_call *call, const void *block, uint32_t len, uint32_t seq,
		      uint32_t fragment, bool last)
{
	const uint8_t *from = (const uint8_t *)block + fragment * HT_CALL_BYTES;
	uint32_t left = len - fragment * HT_CALL_BYTES;

	call->nr = (uint64_t)HT_CALL_MAGIC << 48 | (uint64_t)(seq & 0xff) << 40 |
		   (uint64_t)fragment << 34 | (last ? HT_CALL_LAST : 0) | get_le(from, left, 4);
	call->a0 = call_register(from, left, 4);
	call->a1 = call_register(from, left, 12);
	call->a2 = call_register(from, left, 20);
	call->a3 = call_register(from, left, 28);
}

void ht_call_mark(struct ht_call *call, enum ht_mark kind, uint32_t id, const char *text,
		  uint32_t len)
{
	const uint8_t *from = (const uint8_t *)text;

	if (len > HT_MARK_TEXT_MAX)
		len = HT_MARK_TEXT_MAX;
	call->nr = (uint64_t)HT_MARK_MAGIC << 48 | (uint64_t)kind << 44 | (uint64_t)len << 32 | id;
	call->a0 = call_register(from, len, 0);
	call->a1 = call_register(from, len, 8);
	call->a2 = call_register(from, len, 16);
	call->a3 = call_register(from, len, 24);
}
