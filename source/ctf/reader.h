/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_READER_H
#define SOURCE_CTF_READER_H

#include "base/mapfile.h"
#include "source/ctf/class.h"
#include "source/ctf/plan.h"
#include "source/ctf/walk.h"
#include "source/trace.h"

/*
 * The CTF reader's own side of struct trace and struct stream.
 *
 *	open.c    reads the metadata, fills struct trace
 *	streams.c finds the files, and which of them are one stream
 *	covers.c  compares the metadata of two parts of a trace
 *	packet.c  reads one packet's header and context
 *	claims.c  CPUs that two streams of a channel say to be of
 *	index.c   makes a stream's list of packets, from LTTng's index file or by walking the packets
 *	cursor.c  cursors: from packet to packet
 *	decode.c  events of a packet
 *	print.c   any field of any event, by name or as text
 *
 * A data stream is one file, or several when the tracer began a new one now and then: of one stream
 * class, with the same stream_instance_id, in any of the trace's directories.  They follow each
 * other in time, or overlap (snapshots).
 */
struct ctf_file {
	const char *path;
	struct mapfile map;
	uint32_t first_packet, nr_packets; /* its own, of the stream's by place */
	uint8_t uuid[16];		   /* what its first packet says to be part of */
	bool has_uuid;
};

/* What struct packet does not say. */
struct ctf_packet {
	uint64_t content_bits;
	uint64_t begin_raw; /* as written; struct packet has it made monotonic */
	uint64_t end_raw;
	uint64_t discarded; /* events lost during this packet, by the tracer's counter */
	uint64_t gap_from;  /* where @gap begins: all of the packet before is earlier, or then */
	uint32_t file;
	bool gap;	   /* packets before this one are missing, or bytes */
	bool truncated;	   /* the file ends before the packet does */
	bool open_ended;   /* it does not say how long it is: the file's last bits may be padding */
	bool torn;	   /* the next packet begins within this one: bytes of it are missing */
	bool misplaced;	   /* it is earlier than one in front of it, or that one again */
	bool lost_unknown; /* events were lost in it, or before the trace begins */
	bool indexed;	   /* all this is what the index says; the packet may say otherwise */
	_Atomic uint8_t told; /* CTF_TOLD_*: what has been reported and counted already */
};

#define CTF_TOLD_DAMAGE 1
#define CTF_TOLD_STEP_BACK 2
#define CTF_TOLD_LATE 4
#define CTF_TOLD_INDEX 8
/* What it was found to be when it was judged (cursor.h). */
#define CTF_JUDGED_SOUND 16
#define CTF_JUDGED_BAD 32

/* vCPU numbers are small; where lttng-modules writes a pointer's low half instead, it is not. */
#define CTF_MAX_VCPU_ID 4096

struct ctf_stream {
	struct ctf_trace *trace;
	const struct ctf_stream_plan *plan;
	struct ctf_file *files;
	unsigned nr_files;
	struct ctf_packet *packets; /* beside struct stream's */
	uint32_t *by_place;	    /* packets by file and offset; NULL: that is their order */
	uint64_t instance;
	bool has_instance;
	/* Where time first stepped back, and first was behind its packet's end: bit + 1. */
	_Atomic uint64_t first_step_back, first_late;
};

/* Files that end inside a packet, and the first of them. */
struct ctf_cut {
	const char *path;
	uint64_t end_bytes, packet_bytes; /* where it ends, and where that packet begins */
	unsigned nr;
};

struct ctf_trace {
	struct ctf_metadata meta;
	struct arena arena; /* what the trace hands out: types, paths, plans, packets */
	struct ctf_stream_plan *plans;
	unsigned nr_plans;
	struct ctf_stream *streams;
	struct ctf_cut cut;
	bool forget; /* large: give pages back behind the cursors */
	bool open;   /* all settled: from now on only cursors run */
	/* When its first event was recorded, of all streams; 0 not looked for yet. */
	_Atomic uint64_t first_event;
	_Atomic bool vcpu_id_seen_unsound;
};

/* The full time of which @bits low bits were recorded, the last full time being @last. */
static inline uint64_t ctf_extend_time(uint64_t last, uint64_t recorded, unsigned bits)
{
	uint64_t mask, t;

	if (bits >= 64)
		return recorded;
	mask = (UINT64_C(1) << bits) - 1;
	t = (last & ~mask) | recorded;
	return t < last ? t + mask + 1 : t;
}

/* Whether @begin is so long before @last that events of its packet get false times: their headers hold
 * a time's low bits, and the packet's begin gives the rest. */
static inline bool ctf_is_far_back(const struct ctf_stream_plan *plan, uint64_t begin,
				   uint64_t last)
{
	return begin < last && (last - begin) >> (plan->header == CTF_HEADER_LARGE ? 32 : 27);
}

/* Header and context of the packet that begins at @data. */
struct ctf_packet_info {
	struct ctf_roles roles;
	const struct ctf_stream_plan *plan;
	uint64_t body_bits;    /* where the events begin */
	uint64_t content_bits; /* where they end; not more than there is of the file */
	uint64_t packet_bits;  /* as written */
	bool truncated;	       /* the file ends before the packet */
};

#define CTF_PACKET_MAGIC 0xc1fc1fc1u

/*
 * What each packet of this file begins with: magic number and uuid together are too long to be
 * there by chance.  Returns how many bytes of it are known: fewer when its packets do not have
 * both.
 */
#define CTF_KEY_BYTES 20
unsigned ctf_packet_key(const struct ctf_trace *t, const struct ctf_file *cf,
			uint8_t key[static CTF_KEY_BYTES]);

/*
 * @room_bytes: from @data to the end of the file.  @regs is filled with what events need to know
 * of header and context.  -errno and a sentence when this is no packet as this trace has them.
 * Whose it says to be (roles.uuid) is not looked at.
 */
int ctf_packet_read(const struct ctf_trace *t, const uint8_t *data, uint64_t room_bytes,
		    uint64_t regs[static CTF_REGS], struct ctf_packet_info *out, struct error *err);

/* Whether a packet may be of that stream, by the number and the CPU that it says.  @cpu: the
 * stream's; -1 when its packets have not said. */
bool ctf_is_of_stream(const struct ctf_stream *cs, int64_t cpu, const struct ctf_roles *r);

/* All that @part's metadata describes is described by @t's, too, and in the same way. */
bool ctf_covers(const struct trace *t, const struct trace *part);

/* Makes t->streams of the files in the directories, with their packets.  -errno; files that cannot
 * be used are problems of the trace. */
int ctf_open_streams(struct trace *t, struct error *err);

/* Takes from LTTng's streams what two of a channel claim of one CPU at the same time.  0 or
 * -ENOMEM. */
int ctf_settle_claims(struct trace *t, struct error *err);

/* Lists the packets of s->reader's files; fills s->packets and s->cpu, adds to t->loss. */
int ctf_index_stream(struct trace *t, struct stream *s, struct error *err);

/*
 * LTTng's index file beside a stream file; -ENOENT when there is none.  @lt->entries is malloc'ed.
 */
struct ctf_lttng_entry {
	uint64_t offset_bytes, packet_bits, content_bits, begin, end, discarded, stream_id;
	uint64_t instance, seq_num; /* minor version 1 and later */
};

struct ctf_lttng_index {
	struct ctf_lttng_entry *entries;
	uint32_t nr;
	unsigned minor;
};

int ctf_lttng_index_read(struct ctf_lttng_index *lt, const char *stream_path, struct error *err);

/* Time of the last event of a packet; for index.c, while the list is being made. */
uint64_t ctf_last_event_time(struct stream *s, uint32_t packet);

/* The trace_ops of cursor.c and print.c. */
int ctf_cursor_init(struct cursor *c, struct error *err);
unsigned ctf_cursor_next(struct cursor *c, struct event *events, unsigned room);
void ctf_cursor_release(struct cursor *c);
int ctf_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out);
size_t ctf_event_print(const struct stream *s, const struct event *e, char *buf, size_t room);

/* What a field is to a person. */
enum field_class ctf_field_class(const struct ctf_fc *fc);

/*
 * event.record of this reader is no pointer but a place: file number and bit position in it, so
 * that records need not begin at a byte.  Never NULL.
 */
#define CTF_PLACE_BITS 48

static inline const uint8_t *ctf_place(uint32_t file, uint64_t bit)
{
	return (const uint8_t *)(uintptr_t)(((uint64_t)file << CTF_PLACE_BITS | bit) + 1);
}

static inline uint32_t ctf_place_file(const uint8_t *record)
{
	return (uint32_t)(((uint64_t)(uintptr_t)record - 1) >> CTF_PLACE_BITS);
}

static inline uint64_t ctf_place_bit(const uint8_t *record)
{
	return ((uint64_t)(uintptr_t)record - 1) & ((UINT64_C(1) << CTF_PLACE_BITS) - 1);
}

#endif
