/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_HYPER_READER_H
#define SOURCE_HYPER_READER_H

#include "base/arena.h"
#include "base/map.h"
#include "base/mapfile.h"
#include "channel/reader.h"
#include "source/trace.h"

/* What the parts of the reader of source/hyper/hyper.h share. */

/* How a field is shown. */
enum hyper_shown { SHOWN_INT, SHOWN_UINT, SHOWN_SYMBOL };

struct hyper_field {
	const char *name; /* NULL: there are no more */
	uint8_t slot;	  /* of event.arg */
	uint8_t shown;
};

#define HYPER_FIELDS HT_ARGS_MAX

/* What the events of an opcode are; see types.c. */
struct hyper_plan {
	uint8_t opcode;
	uint16_t kind;	  /* enum event_kind */
	const char *name; /* ftrace's, where it has such an event */
	struct hyper_field fields[HYPER_FIELDS + 1];
	const char
		*text; /* name of the text that event.record points to; NULL when there is none */
};

/* Opcodes that are in no block: any switch, and before and after a block's hypercalls. */
#define HYPER_OP_SWITCH 0x00
#define HYPER_OP_SEND 0x01
#define HYPER_OP_SENT 0x02

/* A run of blocks of one CPU. */
struct hyper_packet {
	uint64_t offset_bytes, len_bytes;
	uint64_t begin; /* TSC of the first block */
	uint32_t first_seq, next_seq;
	uint16_t cpu;
	bool gap;     /* blocks are missing before it */
	uint8_t told; /* what is wrong in it is counted; atomic */
};

struct hyper {
	struct trace *trace;
	struct mapfile file;
	struct arena arena;
	struct hyper_packet *packets; /* owned; by CPU, then time */
	size_t nr_packets, packets_room;
	int16_t type_of[256];	   /* by opcode; -1 none */
	struct hyper_plan *plans;  /* by type; in the arena */
	struct ht_reader template; /* knows the letters of all opcodes that were described */
	struct map symbols;	   /* number -> index + 1 of symbol_names */
	const char **symbol_names; /* owned; names in the arena */
	uint32_t nr_symbols, symbols_room;
};

/* types.c */
int hyper_types_init(struct hyper *h);
/* An opcode that only the guest describes; events of it are EV_OTHER. */
int hyper_types_add(struct hyper *h, uint8_t opcode, const char *name, const char *letters);
int hyper_event_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out);
size_t hyper_event_print(const struct stream *s, const struct event *e, char *buf, size_t room);

/* index.c: walks all blocks in @nr extents of the file; packets, streams and tables. */
struct hyper_extent;
int hyper_index(struct hyper *h, const struct hyper_extent *list, size_t nr, struct error *err);

/* cursor.c */
int hyper_cursor_init(struct cursor *c, struct error *err);
unsigned hyper_cursor_next(struct cursor *c, struct event *events, unsigned room);
void hyper_cursor_release(struct cursor *c);

static inline uint32_t hyper_seq(const uint8_t *block)
{
	return (uint32_t)block[8] | (uint32_t)block[9] << 8 | (uint32_t)block[10] << 16 |
	       (uint32_t)block[11] << 24;
}

static inline uint16_t hyper_cpu(const uint8_t *block)
{
	return (uint16_t)(block[6] | block[7] << 8);
}

#endif
