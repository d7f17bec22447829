/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_FORMAT_H
#define HISTORY_PARTS_FORMAT_H

#include "history/parts/bytes.h"
#include "history/history.h"

/*
 * The file: a header, parts, and (only when complete) a trailer.  docs/formats/history.md tells
 * all of it; this header has the numbers.
 *
 * Everything is little-endian.  Parts begin at multiples of 8.
 */
#define FILE_MAGIC "SONDEHIS"
#define TRAILER_MAGIC "SONDEEND"
#define FORMAT_VERSION 2u

#define FORMAT_TIME_MAX HISTORY_TIME_MAX

/*
 * File header
 *   0  8 bytes  FILE_MAGIC
 *   8  u32      version
 *  12  u32      flags: 1 ticks are ns, 2 wall clock offset known
 *  16  i64      wall clock offset, ns
 *  24  24 bytes 0
 *  48  u64      0
 *  56  u64      XXH3-64 of the 56 bytes before
 */
#define FILE_HEADER_BYTES 64
#define FILE_TICKS_ARE_NS 1u
#define FILE_WALL_KNOWN 2u

/*
 * Part header, payload follows
 *   0  u32  PART_MAGIC
 *   4  u16  kind, | PART_PACKED
 *   6  u16  level
 *   8  u64  length of the payload in bytes
 *  16  i64  begin, ns: no change in it is earlier
 *  24  i64  end, ns: all changes in it are earlier
 *  32  u64  XXH3-64 of the payload
 *  40  u64  XXH3-64 of the 40 bytes before
 */
#define PART_MAGIC 0x54524150u /* "PART" */
#define PART_HEADER_BYTES 48
#define PART_PACKED 0x8000u /* the payload is the packed form, see pack.h */

enum part_kind {
	PART_SLICE = 1, /* node: changes of the attributes that change often */
	PART_GROUP,	/* node: changes of all others while its slices went by; snapshot */
	PART_NAMES,	/* strings, attributes, tables and rows that are new since the last one */
	PART_SUMMARY,	/* node: dominant values of buckets of one width */
	PART_TOTALS,	/* time per value of summed attributes */
	PART_INDEX,	/* where all the others are */
	PART_KIND_MAX
};

/*
 * Trailer: the last 64 bytes of a complete file
 *   0  8 bytes  TRAILER_MAGIC
 *   8  i64      begin of the history
 *  16  i64      end of the history
 *  24  u64      where the index part is
 *  32  u64      length of the file with this trailer
 *  40  16 bytes 0
 *  56  u64      XXH3-64 of the 56 bytes before
 */
#define TRAILER_BYTES 64

/* How the writer cuts.  Readers need only SLICES_PER_GROUP_MAX, the width of a mask. */
#define SLICE_CHANGES (64 * 1024)
#define SLICES_PER_GROUP_MAX 16
#define SLICE_ROW_MIN 64	       /* an attribute with fewer changes in a slice waits */
#define GROUP_WAITING_MAX (256 * 1024) /* a group ends when about as many changes wait */
#define GROUP_GROWTH 2		       /* ... or has this part of all slices before, */
#define GROUP_ATTR_CHANGES 8	       /* with so many changes for each attribute there is */
#define GROUP_PACKED_SLICES 4	       /* ... or so many packed slices: a state needs all of them */

/*
 * Index payload: u32 number of streams; for each u16 kind, u16 level, u32 number of parts; then
 * for each stream in the same order, its parts in order of time: i64 begin, u64 place in the file.
 */
#define INDEX_STREAM_BYTES 8
#define INDEX_ENTRY_BYTES 16

#endif
