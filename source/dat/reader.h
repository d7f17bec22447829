/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_READER_H
#define SOURCE_DAT_READER_H

#include "source/dat/events.h"
#include "source/dat/file.h"
#include "source/dat/printk.h"

#include <stdatomic.h>

/*
 * What the parts of the trace.dat reader share: struct dat is trace->reader, struct dat_stream is
 * stream->reader.
 *
 *	file.c options.c   the container: tables and where each CPU's pages are
 *	salvage.c          the same for a file whose end is missing
 *	unpack.c           decompression
 *	format.c           one event format
 *	events.h types.c   all event types, and their decoding plans
 *	stream.c           streams and their packets
 *	hollow.c           chunks that unpack to far more than any recorder's
 *	shifted.c          where streams are when bytes in front of them are missing
 *	claims.c           bytes that two CPUs claim, CPUs that are listed twice
 *	page.h page.c      one page: does it hold together?
 *	far.c              pages whose times are far from all others
 *	counts.c           what the recorder counted, held against what there is; what an excerpt is
 *	cursor.c           the decoding loop
 *	field.c            any field by name, and events as text
 *	dat.c              open and release
 */

/* Of the traced kernel: its pages' header. */
struct dat_page_form {
	uint8_t commit_offset;
	uint8_t long_size; /* of the commit field, and of a stored count of missed events */
	uint8_t data_offset;
};

struct dat {
	struct dat_file file;
	struct dat_page_form form;
	struct dat_events events;
	struct dat_printk printk;
	uint64_t earliest, latest; /* pages that begin before or after are not of this recording */
	uint64_t hollow_bytes;	   /* unpacked by hollow.c, and no events */
	uint32_t nr_packets;	   /* of all streams */
	atomic_uint_fast32_t nr_counted; /* ... whose events are counted */
};

/* What can be wrong with a CPU's data. */
enum dat_issue {
	DAT_BAD_CHUNK,
	DAT_HOLE,
	DAT_BAD_PAGE,
	DAT_BAD_RECORD,
	DAT_NEXT_TO_BAD,
	DAT_CUT_PAGE,
	DAT_UNKNOWN_ID,
	DAT_ASTRAY,
	DAT_FOREIGN,
	DAT_NR_ISSUES
};

enum { DAT_COUNTED = 1, DAT_SOUND, DAT_EMPTY };

struct dat_stream {
	const struct dat *dat;
	uint64_t offset_bytes, len_bytes; /* in the file */
	uint32_t page_size;
	bool packed;
	uint32_t chunk_max;		/* the largest chunk, unpacked */
	uint64_t second;		/* when the page behind the first one begins; 0 not known */
	uint64_t stat_lost;		/* CPUSTAT's count; already in trace->loss */
	uint64_t stat_kept, stat_least; /* ... and of events that there must be, with and without
					   those that were not read yet; 0 not known */
	uint64_t stat_oldest; /* ... and of when they were read to at least; 0 not known */
	bool lacks_at_seams;  /* events are missing between pages, nobody knows which: where one
				 page ends and the next begins is a gap, see counts.c */
	/* DAT_COUNTED: packets whose losses and problems are counted: a trace may be read more than
	 * once.  DAT_SOUND: and which have none.  DAT_EMPTY: and no event. */
	atomic_uchar *counted;
	atomic_uint_fast64_t lost_seen;	   /* sum over those packets */
	atomic_uint_fast64_t kept_seen;	   /* ... of events */
	atomic_uint_fast64_t skipped_seen; /* ... of bytes that are none */
	atomic_uint_fast64_t last_seen;	   /* ... the time of their last event */
	atomic_bool lost_uncounted; /* ... and some say that events were lost, but not how many */
	atomic_bool lacks; /* when all are counted: events are missing, nothing says where */
	atomic_uint_fast64_t issue_at[DAT_NR_ISSUES]; /* where each was met first; 0 = not yet */
};

/* Builds trace->types, the plans and the page form. */
int dat_types_init(struct dat *d, struct error *err);

/* Builds trace->streams. */
int dat_streams_init(struct dat *d, struct error *err);
void dat_streams_release(struct trace *t);

/* Finds d->earliest and d->latest; > 0 when a page is beyond them.  -ENOMEM. */
int dat_find_far(struct dat *d);

/* Ends a packed stream where the file's chunks have unpacked to far more than the file, of which
 * nothing is an event.  0 or -ENOMEM. */
int dat_cut_hollow(struct dat *d, struct stream *s, const struct dat_stream *ds);

/* Puts right where CPUs' data is in a file of which bytes in front of it are missing. */
void dat_find_shifted(struct dat *d);

/* Takes from CPUs what the file lists for two of them.  0 or -ENOMEM. */
int dat_settle_claims(struct dat *d);

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

/* All packets have been read: are there as many events as the recorder counted? */
void dat_counts_compare(struct dat *d);
bool dat_lacks_events(const struct stream *s);
void dat_show_lacking(struct stream *s);

int dat_cursor_init(struct cursor *c, struct error *err);
unsigned dat_cursor_next(struct cursor *c, struct event *events, unsigned room);
void dat_cursor_release(struct cursor *c);

int dat_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out);
size_t dat_event_print(const struct stream *s, const struct event *e, char *buf, size_t room);

#endif
