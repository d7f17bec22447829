/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_PERF_RECORD_H
#define SOURCE_PERF_RECORD_H

#include "base/load.h"
#include "base/map.h"

/*
 * One record of a perf.data: {u32 type, u16 misc, u16 size, data}.  The kernel's are in
 * <linux/perf_event.h>, those from 64 on are perf's own.
 *
 * What a sample holds, and what stands at the end of the kernel's other records (their "sample
 * id"), follows from its event's attribute: sample_type.  Most of it is eight bytes each, in an
 * order that never changes, so all that is wanted has a fixed place.
 */
enum perf_record_type {
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_READ = 8,
	RECORD_SAMPLE = 9,
	RECORD_LOST_SAMPLES = 13,
	RECORD_TEXT_POKE = 20,
	RECORD_KERNEL_KNOWN = 21, /* the last one that <linux/perf_event.h> of 6.1 has */
	RECORD_KERNEL_LAST = 63,
	RECORD_ATTR = 64,
	RECORD_TRACING_DATA = 66,
	RECORD_FINISHED_ROUND = 68,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE = 71,
	RECORD_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_FINISHED_INIT = 82,
	RECORD_COMPRESSED2 = 83,
	RECORD_TYPES_MAX = 256, /* far more than there are */
};

#define RECORD_HEAD_BYTES 8
#define RECORD_MISC_BPF (1u << 15) /* of LOST_SAMPLES: a filter's doing */

struct perf_record {
	uint32_t type;
	uint16_t misc;
	uint32_t len_bytes; /* of its data */
	const uint8_t *data;
	uint64_t next; /* where the next one is */
};

/* Reads the record at @pos of the @end bytes at @file.  False when there cannot be one. */
bool perf_record_read(const uint8_t *file, uint64_t pos, uint64_t end, struct perf_record *out);

#define PERF_NOWHERE 0xffff

struct perf_attr {
	uint32_t type;	      /* PERF_TYPE_* */
	uint64_t config;      /* a tracepoint's number */
	uint64_t sample_type; /* PERF_SAMPLE_* */
	uint64_t read_format;
	bool sample_id_all;
	bool backward;	 /* its buffers are written from their ends on */
	int32_t clockid; /* -1: perf's own clock */
	uint32_t nr_ids;
	/* Offsets in a sample's data; PERF_NOWHERE */
	uint16_t id, tid, time, cpu;
	uint16_t fixed; /* bytes before the parts whose size varies */
	/* In the other records: bytes from the end */
	uint16_t id_back, time_back, cpu_back;
	uint16_t trailer; /* bytes of all that */
};

/*
 * perf opens each event on each CPU, in one order of CPUs, and each of these has a number: the
 * first number of all events is the first CPU's, and so on.  So a sample says twice where it was
 * made.
 */
struct perf_id {
	uint32_t attr;	 /* index */
	uint32_t column; /* as which of the event's numbers */
};

struct perf_column {
	uint32_t cpu;  /* of all samples but a few */
	uint32_t same; /* samples that say so */
	uint32_t others;
};

/* So many samples of a column, and so few of them of another CPU, are no accident. */
#define COLUMN_LEAST 8
#define COLUMN_SHARE 8

static inline bool perf_column_is_sure(const struct perf_column *c)
{
	return c->same >= COLUMN_LEAST && c->others <= c->same / COLUMN_SHARE;
}

/* All events that were recorded. */
struct perf_attrs {
	struct perf_attr *list; /* owned */
	uint32_t nr, room;
	bool incomplete;     /* the description of one is damaged */
	struct perf_id *ids; /* owned */
	uint32_t nr_ids, ids_room;
	struct map by_id;	     /* to index of ids */
	struct perf_column *columns; /* owned; see perf_columns_learn() */
	uint32_t nr_columns;
};

/* Takes the @len_bytes of a perf_event_attr; false when they are too few.  Its ids come later. */
bool perf_attr_read(const uint8_t *data, uint64_t len_bytes, struct perf_attr *out);

/* True when it can always be told which event a record is of. */
bool perf_attrs_sound(const struct perf_attrs *a);

/* The event that a sample is of; NULL when the file does not describe it. */
const struct perf_attr *perf_sample_attr(const struct perf_attrs *a, const struct perf_record *r);

/* The kernel's record in a tracepoint's sample; false when there is none. */
bool perf_sample_raw(const struct perf_attr *a, const struct perf_record *r, const uint8_t **raw,
		     uint32_t *len_bytes);

/* When and where a record was made. */
struct perf_place {
	uint64_t time;
	uint32_t cpu;
};

enum perf_sample_state {
	PERF_SAMPLE_SOUND,
	PERF_SAMPLE_UNPLACED, /* its event has no time, or no CPU */
	PERF_SAMPLE_DAMAGED,  /* an event that is not described, or of another CPU; bytes that
				 cannot be its own */
};
enum perf_sample_state perf_sample_place(const struct perf_attrs *a, const struct perf_record *r,
					 struct perf_place *out);

/* A sample's number, and its CPU; NULL when it has no such number. */
const struct perf_id *perf_sample_id(const struct perf_attrs *a, const struct perf_record *r,
				     uint32_t *cpu);

/* All of a record but its type is a tracepoint's sample: the type is damaged. */
bool perf_record_was_sample(const struct perf_attrs *a, const struct perf_record *r);

/* The same of the kernel's other records; false when it does not say.  @trailer: bytes at its end
 * that are not its own. */
bool perf_record_place(const struct perf_attrs *a, const struct perf_record *r,
		       struct perf_place *out, uint32_t *trailer);

#endif
