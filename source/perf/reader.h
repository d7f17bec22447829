/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_PERF_READER_H
#define SOURCE_PERF_READER_H

#include "base/arena.h"
#include "base/map.h"
#include "base/mapfile.h"
#include "source/dat/events.h"
#include "source/perf/order.h"
#include "source/perf/record.h"
#include "source/trace.h"

#include <stdatomic.h>

/*
 * What the parts of the perf.data reader share: struct perf is trace->reader, struct perf_stream is
 * stream->reader.
 *
 *	record.h record.c  one record: where it has what
 *	file.c             the container: attributes, features, event formats
 *	parts.h parts.c    compressed records, does each stand where it should?
 *	join.c             compressed records, and those of several files, made one file's
 *	columns.c          which CPU's a sample's number is
 *	order.h order.c    a CPU's records, are they in order?
 *	index.c            one pass over all records: which CPU's are where
 *	streams.c          streams and their packets, from that
 *	cursor.c           the decoding loop
 *	perf.c             open and release; fields, and events as text
 *
 * A tracepoint's sample has the kernel's own record in it, the same as in a trace.dat, and the file
 * has the same formats: source/dat/events.h decodes it.
 *
 * Order: perf copies each CPU's ring buffer to the file in turn, so a CPU's records stand together
 * in runs, and from run to run they go on.  They are nearly in order of time: an interrupt's event
 * may stand before the event that it interrupted (order.h).  A packet is so many runs of one CPU that no
 * record of it is younger than any behind it, and is sorted when it is decoded.
 */

/* A run of one CPU's records; there may be others in it. */
struct perf_block {
	uint64_t offset_bytes; /* in the file */
	uint32_t len_bytes;
	uint32_t own_bytes; /* of it, the CPU's records */
	uint32_t nr;	    /* records that the stream takes */
	uint64_t min, max;  /* of their times */
	uint64_t before;    /* the latest time of the CPU's blocks before this one; 0 none */
	uint64_t after;	    /* the earliest of those behind it; UINT64_MAX none */
	bool gap;	    /* records may be missing before it */
	bool tasks;	    /* the names of threads that were there before; they get @min */
};

struct perf_packet {
	uint32_t first, nr; /* blocks */
	uint64_t until;	    /* what comes behind it is missing up to here; 0: nothing is */
};

/* What can be wrong with a CPU's records. */
enum perf_issue {
	PERF_BAD_SAMPLE,
	PERF_UNKNOWN_ID,
	PERF_SHORT_RECORD,
	PERF_STEP_BACK,
	PERF_COPY,
	PERF_NR_ISSUES
};

struct perf_stream {
	const struct perf *perf;
	struct perf_block *blocks; /* owned */
	uint32_t nr_blocks;
	struct perf_packet *packets; /* owned; as many as the stream has */
	uint32_t items_max;	     /* records of the largest packet */
	atomic_uchar told[PERF_NR_ISSUES];
};

/* Records that were in one file: none goes on in the next. */
struct perf_part {
	uint64_t end;
	uint64_t at; /* the first one's offset in that file */
	bool cut;    /* more of them followed, which cannot be read */
};

struct perf {
	struct trace *trace;
	struct mapfile map;    /* the records are in it */
	struct mapfile header; /* ... and what else the file has, where that is not the same */
	struct arena arena;
	struct perf_attrs attrs;
	struct dat_events events;
	uint64_t begin, end;	 /* of the records, in the file */
	struct perf_part *parts; /* owned: ... of each file that they are of */
	uint32_t nr_parts, parts_room;
	bool cut;		    /* the file ends within them */
	bool compressed;	    /* records are, as zstd does */
	bool directory;		    /* others are in files beside this one */
	struct bytes formats;	    /* bad when the file has none */
	uint32_t nr_online;	    /* CPUs; 0 not said */
	uint64_t wall_ns, clock_ns; /* read together; 0 not said */
	uint16_t comm_type;	    /* index into trace->types: a thread's name */
	uint16_t sample_type;	    /* samples that are no tracepoint's */
	bool other_namespace;	    /* perf's thread ids are not the kernel's own */
};

bool perf_file_probe(const char *path);

/* Reads all but the records.  @p->trace and its path are set, the rest zero. */
int perf_file_open(struct perf *p, struct error *err);
void perf_file_release(struct perf *p);

/* Makes them records of one file, not compressed: p->map, p->begin, p->end, p->parts. */
int perf_join(struct perf *p, struct error *err);
/* Behind those that are there.  -ENOMEM. */
int perf_part_add(struct perf *p, const struct perf_part *part);

/*
 * What the pass over all records finds, by CPU.  @tasks are blocks of threads' names from before
 * the first sample; they have no time.
 */
struct perf_cpu {
	struct perf_block *blocks; /* owned */
	uint32_t nr, room;
	uint64_t max;
	uint64_t holes; /* that were before the last block; when there are more, records may be
			   missing behind it */
	struct perf_order order;
	uint64_t time; /* of the last record taken */
	/* What was known before that record was. */
	struct perf_before {
		struct perf_block block;
		uint32_t nr;
		uint64_t max;
		struct perf_order order;
	} before;
	uint64_t copied; /* the record that the next one may be a copy of; 0 none */
	uint32_t copies_sought;
	uint32_t far_behind; /* samples in a row, in order, that are far behind what was before the
				last hole */
	uint64_t far_time;   /* of the last one that is behind it */
};

struct perf_index {
	struct perf_cpu **cpus; /* TRACE_CPUS_MAX; NULL: it has no records */
	struct perf_cpu tasks;
	uint64_t last;	  /* the latest time of all; when the pass is over */
	uint32_t nr_cpus; /* that have records, tasks counted */
	uint64_t holes;	  /* places where records are missing, nobody knows of which CPU */
};

/* Fills p->attrs.columns.  -ENOMEM. */
int perf_columns_learn(struct perf *p);

int perf_index_make(struct perf *p, struct perf_index *out, struct error *err);
void perf_index_release(struct perf_index *x);

/* Builds trace->streams; takes the blocks out of @x. */
int perf_streams_init(struct perf *p, struct perf_index *x, struct error *err);
void perf_streams_release(struct trace *t);

int perf_cursor_init(struct cursor *c, struct error *err);
unsigned perf_cursor_next(struct cursor *c, struct event *events, unsigned room);
void perf_cursor_release(struct cursor *c);

#endif
