/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_PERF_PARTS_H
#define SOURCE_PERF_PARTS_H

#include "base/map.h"
#include "source/perf/order.h"

/*
 * The compressed records of a file, its parts: does each stand where it did when it was made?
 *
 * - No two parts with samples have the same bytes, for samples have times.  What a second one
 *   repeats is not what it was made from.
 * - A CPU's samples do not go back behind all that it had in the last part with any.  Single ones
 *   may be damaged, so that counts only when there are several in a row.
 * - Nor do they break the order of its ring buffer (order.h), where a sample's level is known.  One
 *   is enough: what is compressed is not damaged sample by sample.  But perf may copy a part of a
 *   buffer twice, and then it is there twice, byte by byte.
 * - Where a part is missing or stands elsewhere, the next ones are made of other bytes than they
 *   were.  That shows in the first such part, mostly, else some parts behind it: of 680 files made
 *   so, at most five.  So some parts in front are not believed either: one, and more of the same
 *   zstd frame, for a frame repeats nothing that is not in it.
 *
 *	perf_parts_begin(&parts);		for each file
 *	if (!perf_parts_enter(&parts, data, len))
 *		it is a copy
 *	if (!perf_parts_sample(&parts, &sample))	for each sample in it
 *		it stands elsewhere
 *	perf_parts_add(&parts, where)
 */
#define PERF_PARTS_BACK 6

/* Where a part begins. */
struct perf_part_place {
	uint64_t at;	  /* in the file */
	uint64_t written; /* in what was unpacked */
};

struct perf_part_times {
	uint64_t nr;	/* of the last part with samples of this CPU */
	uint64_t first; /* the earliest time in that */
	uint64_t limit; /* ... in the one before that; 0: none */
	uint32_t behind;
	struct perf_order order;
};

/* A sample in a part. */
struct perf_part_sample {
	const uint8_t *data; /* all of it */
	uint64_t len;
	const struct perf_place *place; /* NULL: it is not known, or its buffer has no order */
	const enum perf_level *level;	/* NULL: it is not known */
};

struct perf_parts {
	struct map bytes;	      /* owned: hashes of those with samples */
	struct map samples[2];	      /* owned: hashes of the last ones that are in order */
	bool newer;		      /* which of the two takes them */
	struct perf_part_times *cpus; /* owned */
	uint64_t nr;		      /* of the one that is read, from 1 on; through all files */
	uint64_t first;		      /* of this file */
	uint64_t frame;		      /* the last one that begins a frame */
	bool sampled;		      /* the one that is read has samples */
	uint64_t hash;		      /* ... and this one of its bytes */
	struct perf_part_place last[PERF_PARTS_BACK];
};

/* -ENOMEM. */
int perf_parts_init(struct perf_parts *p);
void perf_parts_release(struct perf_parts *p);

void perf_parts_begin(struct perf_parts *p);

/* Reads the next part; false: it is there twice. */
bool perf_parts_enter(struct perf_parts *p, const uint8_t *data, uint64_t len);

/* Of the part that is read.  1; 0: it stands elsewhere; -ENOMEM. */
int perf_parts_sample(struct perf_parts *p, const struct perf_part_sample *s);

/* The part that was read is believed, so far.  -ENOMEM. */
int perf_parts_add(struct perf_parts *p, struct perf_part_place where);

/* From where on nothing is believed when the part that is read is damaged; NULL: from there. */
const struct perf_part_place *perf_parts_back(const struct perf_parts *p);

#endif
