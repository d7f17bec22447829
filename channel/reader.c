// SPDX-License-Identifier: Apache-2.0
/* Reads blocks of the hypertrace format, see channel/reader.h. */
#include "channel/reader.h"

#include <errno.h>

#define FIRST_OPCODE (HT_TABLE_LAST + 1)

void ht_reader_init(struct ht_reader *r)
{
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < ht_nr_descriptions; i++)
		strcpy(r->letters[ht_descriptions[i].opcode - FIRST_OPCODE],
		       ht_descriptions[i].letters);
}

const char *ht_opcode_name(uint8_t opcode)
{
	if (opcode < 0x80)
		return "switch";
	for (unsigned i = 0; i < ht_nr_descriptions; i++)
		if (ht_descriptions[i].opcode == opcode)
			return ht_descriptions[i].name;
	return NULL;
}

static uint64_t get_le(const uint8_t *from, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

uint32_t ht_block_length(const void *data, uint32_t available)
{
	const uint8_t *block = data;
	uint32_t len;

	if (available < HT_HEADER_BYTES || get_le(block, 2) != HT_MAGIC || block[2] != HT_VERSION)
		return 0;
	len = (uint32_t)get_le(block + 4, 2);
	return len >= HT_HEADER_BYTES && len <= HT_BLOCK_BYTES_MAX ? len : 0;
}

int ht_block_open(struct ht_reader *r, const void *block, uint32_t len)
{
	const uint8_t *header = block;
	uint32_t said = ht_block_length(block, len);
	uint32_t seq;

	if (!said || said > len) {
		r->stats.blocks_broken++;
		r->len = r->at = 0;
		return -EINVAL;
	}
	seq = (uint32_t)get_le(header + 8, 4);
	r->gap_before = r->seq_known && seq != r->seq;
	/* A number that goes back is a writer that began anew: how much was lost is unknown. */
	if (r->gap_before && (int32_t)(seq - r->seq) > 0)
		r->stats.blocks_lost += (uint32_t)(seq - r->seq);
	r->seq = seq + 1;
	r->seq_known = true;
	r->block = header;
	r->len = said;
	r->at = HT_HEADER_BYTES;
	r->flags = header[3] & ~HT_SHIFT_MASK;
	r->shift = header[3] & HT_SHIFT_MASK;
	r->cpu = (uint16_t)get_le(header + 6, 2);
	r->lost_before = (uint32_t)get_le(header + 12, 4);
	r->begin = get_le(header + 16, 8);
	r->units = 0;
	r->current = -1;
	memset(r->tids, 0xff, sizeof(r->tids));
	r->stats.blocks++;
	r->stats.dropped += r->lost_before;
	return 0;
}

static bool get_byte(struct ht_reader *r, uint8_t *out)
{
	if (r->at >= r->len)
		return false;
	*out = r->block[r->at++];
	return true;
}

static bool get_varint(struct ht_reader *r, uint64_t *out)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 7 * HT_VARINT_MAX; shift += 7) {
		if (!get_byte(r, &byte))
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

static bool get_text(struct ht_reader *r, struct ht_item *item)
{
	struct ht_text *text = &item->text[item->nr_text];

	if (item->nr_text >= sizeof(item->text) / sizeof(item->text[0]) ||
	    !get_byte(r, &text->len) || text->len > r->len - r->at)
		return false;
	text->at = (const char *)r->block + r->at;
	r->at += text->len;
	item->nr_text++;
	return true;
}

static bool get_number(struct ht_reader *r, struct ht_item *item)
{
	uint64_t v;

	if (!get_varint(r, &v))
		return false;
	item->args[item->nr_args++] = (int64_t)v;
	return true;
}

static bool get_slot(struct ht_reader *r, uint8_t *slot)
{
	return get_byte(r, slot) && *slot < HT_TASK_SLOTS;
}

/* A block that spans more is a lie: 2^44 units are at least two hours of any machine. */
#define UNITS_MAX (UINT64_C(1) << 44)

/* TIDs have 31 bits. */
static bool get_tid(struct ht_reader *r, int64_t *out)
{
	uint64_t v;

	if (!get_varint(r, &v) || v > INT32_MAX)
		return false;
	*out = (int64_t)v;
	return true;
}

static bool read_task(struct ht_reader *r, struct ht_item *item)
{
	uint8_t slot, flags;

	item->nr_args = 3;
	item->args[1] = -1;
	if (!get_slot(r, &slot) || !get_tid(r, &item->args[0]) || !get_byte(r, &flags))
		return false;
	item->args[2] = flags;
	r->tids[slot] = (int32_t)item->args[0];
	if ((flags & HT_TASK_PROCESS) && !get_tid(r, &item->args[1]))
		return false;
	return !(flags & HT_TASK_NAME) || get_text(r, item);
}

static bool read_current(struct ht_reader *r, struct ht_item *item)
{
	uint8_t slot;

	if (!get_slot(r, &slot))
		return false;
	r->current = r->tids[slot];
	item->args[item->nr_args++] = r->current;
	return true;
}

static void learn_opcode(struct ht_reader *r, const struct ht_item *item)
{
	const struct ht_text *letters = &item->text[1];
	char *to;

	if (item->args[0] < FIRST_OPCODE || item->args[0] > 0xff || letters->len > HT_ARGS_MAX ||
	    ht_opcode_name((uint8_t)item->args[0]))
		return;
	to = r->letters[item->args[0] - FIRST_OPCODE];
	memcpy(to, letters->at, letters->len);
	to[letters->len] = '\0';
}

static bool read_describe(struct ht_reader *r, struct ht_item *item)
{
	if (!get_number(r, item) || !get_text(r, item) || !get_text(r, item))
		return false;
	learn_opcode(r, item);
	return true;
}

static bool read_table(struct ht_reader *r, struct ht_item *item)
{
	switch (item->opcode) {
	case HT_TASK:
		return read_task(r, item);
	case HT_CURRENT:
		return read_current(r, item);
	case HT_SYMBOL:
		return get_number(r, item) && get_number(r, item) && get_text(r, item);
	case HT_DESCRIBE:
		return read_describe(r, item);
	case HT_MACHINE:
		return get_text(r, item) && get_text(r, item) && get_number(r, item) &&
		       get_number(r, item);
	default:
		return false;
	}
}

static bool read_time(struct ht_reader *r)
{
	uint64_t units;

	if (!get_varint(r, &units) || units > UNITS_MAX - r->units)
		return false;
	r->units += units;
	return true;
}

static bool read_switch(struct ht_reader *r, struct ht_item *item)
{
	int32_t next = r->tids[item->opcode & 0x0f];

	if (!read_time(r))
		return false;
	item->state = item->opcode >> 4;
	item->args[0] = r->current;
	item->args[1] = next;
	item->nr_args = 2;
	r->current = next;
	return true;
}

static bool read_argument(struct ht_reader *r, struct ht_item *item, char letter)
{
	uint8_t slot;

	switch (letter) {
	case 'u':
		return get_number(r, item);
	case 's':
		if (!get_number(r, item))
			return false;
		item->args[item->nr_args - 1] =
			(int64_t)((uint64_t)item->args[item->nr_args - 1] >> 1) ^
			-(item->args[item->nr_args - 1] & 1);
		return true;
	case 't':
		if (!get_slot(r, &slot))
			return false;
		item->args[item->nr_args++] = r->tids[slot];
		return true;
	case 'n':
		return get_text(r, item);
	default:
		return false;
	}
}

static bool read_record(struct ht_reader *r, struct ht_item *item)
{
	const char *letters = r->letters[item->opcode - FIRST_OPCODE];

	if (!*letters || !read_time(r))
		return false;
	for (; *letters; letters++)
		if (!read_argument(r, item, *letters))
			return false;
	return true;
}

bool ht_block_next(struct ht_reader *r, struct ht_item *item)
{
	bool good;

	item->nr_args = item->nr_text = 0;
	if (!get_byte(r, &item->opcode))
		return false;
	if (item->opcode == HT_END) {
		r->at = r->len;
		return false;
	}
	if (item->opcode < 0x80)
		good = read_switch(r, item);
	else if (item->opcode <= HT_TABLE_LAST)
		good = read_table(r, item);
	else
		good = read_record(r, item);
	if (!good) {
		r->stats.blocks_broken++;
		r->at = r->len;
		return false;
	}
	item->tsc = r->begin + (r->units << r->shift);
	r->stats.items++;
	return true;
}

static void call_bytes(uint8_t *to, uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	const uint64_t registers[] = {a0, a1, a2, a3};

	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t)(nr >> 8 * i);
	for (unsigned i = 0; i < 32; i++)
		to[4 + i] = (uint8_t)(registers[i / 8] >> 8 * (i % 8));
}

/* The block that is together in @a; one whose header did not know its length yet is told now. */
static uint32_t call_block(struct ht_assembler *a)
{
	uint32_t len;

	if (a->used >= HT_HEADER_BYTES && !a->block[4] && !a->block[5]) {
		a->block[4] = (uint8_t)a->used;
		a->block[5] = (uint8_t)(a->used >> 8);
	}
	len = ht_block_length(a->block, a->used);
	if (len && len <= a->used && len + HT_CALL_BYTES > a->used)
		return len;
	a->broken++;
	return 0;
}

void ht_call_drop(struct ht_assembler *a)
{
	a->broken += a->next != 0;
	a->next = 0;
}

uint32_t ht_call_take(struct ht_assembler *a, uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2,
		      uint64_t a3)
{
	uint8_t seq = (uint8_t)(nr >> 40), fragment = nr >> 34 & (HT_CALL_FRAGMENTS - 1);

	if (seq != a->seq || fragment != a->next)
		ht_call_drop(a);
	if (fragment != a->next) {
		/* The rest of a block whose beginning is lost; counted with the block's number. */
		return 0;
	}
	a->seq = seq;
	call_bytes(a->block + fragment * HT_CALL_BYTES, nr, a0, a1, a2, a3);
	a->used = (fragment + 1u) * HT_CALL_BYTES;
	a->next = (uint8_t)(fragment + 1);
	if (!ht_call_is_last(nr)) {
		if (a->next == HT_CALL_FRAGMENTS) {
			a->broken++;
			a->next = 0;
		}
		return 0;
	}
	a->next = 0;
	return call_block(a);
}

bool ht_mark_take(struct ht_mark_call *out, uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2,
		  uint64_t a3)
{
	uint8_t bytes[HT_CALL_BYTES];
	uint32_t len = (uint8_t)(nr >> 32), kind = nr >> 44 & 15;

	if (!ht_is_mark(nr) || kind > HT_MARK_END || (nr >> 40 & 15) || len > HT_MARK_TEXT_MAX)
		return false;
	call_bytes(bytes, nr, a0, a1, a2, a3);
	out->kind = (enum ht_mark)kind;
	out->id = (uint32_t)nr;
	memcpy(out->text, bytes + 4, len);
	out->text[len] = '\0';
	return true;
}
