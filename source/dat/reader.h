/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_READER_H
#define SOURCE_DAT_READER_H

#include "source/dat/file.h"
#include "source/dat/printk.h"
#include "source/dat/format.h"

#include <stdatomic.h>

/*
 * What the parts of the trace.dat reader share: struct dat is trace->reader, struct dat_stream is
 * stream->reader.
 *
 *	file.c options.c   the container: tables and where each CPU's pages are
 *	salvage.c          the same for a file whose end is missing
 *	unpack.c           decompression
 *	format.c           one event format
 *	types.c            all event types, and their decoding plans
 *	stream.c           streams and their packets
 *	cursor.c           the decoding loop
 *	field.c            any field by name, and events as text
 *	dat.c              open and release
 */

#define DAT_LOAD_BYTES 8
#define DAT_PLACE_MAX 4096 /* fields of arguments end before that; no kernel has them further back */

/*
 * How to decode one event type: canonical arguments from fixed places.  A number of 1 to 8 bytes is
 * loaded as the 8 bytes at its offset, and shifted: no branch on its size.
 */
struct dat_number {
	uint16_t offset;
	uint8_t slot;
	uint8_t shift;    /* 64 minus its bits */
	uint8_t sign;     /* 1: sign-extend */
};

struct dat_text {
	uint16_t offset;
	uint8_t slot;
	uint8_t where;    /* enum dat_where */
	uint16_t size;    /* DAT_FIXED: bytes it has */
};

struct dat_plan {
	uint16_t type;    /* index into trace->types */
	uint16_t kind;
	uint16_t min_len; /* a record shorter than this is broken */
	uint16_t reach;   /* the loads touch so many bytes, of DAT_PLACE_MAX + DAT_LOAD_BYTES */
	uint8_t nr_numbers;
	uint8_t nr_texts;
	struct dat_number numbers[EVENT_ARGS];
	struct dat_text texts[2];
	int32_t otherwise[EVENT_ARGS];
};

/* Of the traced kernel: its pages' header and its events' common fields. */
struct dat_page_form {
	uint8_t commit_offset;
	uint8_t long_size;   /* of the commit field, and of a stored count of missed events */
	uint8_t data_offset;
	uint16_t type_offset; /* common_type, 2 bytes */
	uint16_t tid_offset;  /* common_pid, 4 bytes */
	uint16_t common_len;  /* a record holds at least that */
};

struct dat {
	struct dat_file file;
	struct dat_page_form form;
	uint16_t *plan_of_id; /* in the arena: by common_type, index into plans; plans[0] = unknown */
	uint32_t nr_ids;
	struct dat_plan *plans; /* malloc'ed; as many as types */
	struct dat_printk printk;
	uint64_t stat_kept;     /* events that the file must have, as CPUSTAT counts; 0 not known */
	uint32_t nr_packets;    /* of all streams */
	atomic_uint_fast32_t nr_counted; /* ... whose events are counted */
	atomic_uint_fast64_t kept_seen;  /* events in these */
};

/* What can be wrong with a CPU's data. */
enum dat_issue {
	DAT_BAD_CHUNK,
	DAT_HOLE,
	DAT_BAD_PAGE,
	DAT_BAD_RECORD,
	DAT_UNKNOWN_ID,
	DAT_SHORT_RECORD,
	DAT_STEP_BACK,
	DAT_NR_ISSUES
};

struct dat_stream {
	const struct dat *dat;
	uint64_t offset_bytes, len_bytes; /* in the file */
	uint32_t page_size;
	bool packed;
	uint32_t chunk_max;      /* the largest chunk, unpacked */
	uint64_t stat_lost;      /* CPUSTAT's count; already in trace->loss */
	bool has_stats;
	/* Packets whose losses and problems are counted: a trace may be read more than once. */
	atomic_uchar *counted;
	atomic_uint_fast64_t lost_seen;              /* sum over those packets */
	atomic_uint_fast64_t issue_at[DAT_NR_ISSUES]; /* where each was met first; 0 = not yet */
};

/* Builds trace->types, the plans and the page form. */
int dat_types_init(struct dat *d, struct error *err);

/* Builds trace->streams. */
int dat_streams_init(struct dat *d, struct error *err);
void dat_streams_release(struct trace *t);

/* Reads the chunk header at *pos, moves *pos behind the chunk.  False when there is none before
 * @end: *pos is then @end. */
struct dat_chunk {
	const uint8_t *packed;
	uint32_t packed_len;
	uint32_t len_bytes; /* unpacked */
};
bool dat_chunk_next(const struct dat_stream *ds, uint64_t *pos, uint64_t end,
		    struct dat_chunk *out);

/* event.record points to a record's ring buffer header (see page.h); the cursor has checked it. */
static inline const uint8_t *dat_record_data(const uint8_t *record, bool swap, uint32_t *len_bytes)
{
	uint32_t word = load32(record, swap);
	bool big_endian = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint32_t type_len = big_endian ? word >> 27 : word & 31;

	if (type_len) {
		*len_bytes = type_len * 4;
		return record + 4;
	}
	*len_bytes = load32(record + 4, swap) - 4;
	return record + 8;
}

int dat_cursor_init(struct cursor *c, struct error *err);
unsigned dat_cursor_next(struct cursor *c, struct event *events, unsigned room);
void dat_cursor_release(struct cursor *c);

int dat_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out);
size_t dat_event_print(const struct stream *s, const struct event *e, char *buf, size_t room);

#endif
