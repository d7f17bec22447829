/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_OUTFILE_H
#define HISTORY_PARTS_OUTFILE_H

#include "base/error.h"
#include "history/parts/pack.h"

/*
 * The file being written: parts are appended, and remembered for the index.  The first error
 * sticks; everything after it is dropped.  Used by one thread at a time.
 *
 * Whether parts are packed (pack.h) goes by the slices, which are nearly all of a file: when that
 * makes a slice smaller by a third, it is packed, and so is what follows it, up to the next slice
 * for which it does not.  Then slices stay plain for a while before it is tried again.
 */
struct outfile_part {
	uint16_t kind, level;
	int64_t begin;
	uint64_t at;
};

struct outfile {
	int fd;
	uint64_t len_bytes;
	struct outfile_part *parts; /* owned */
	size_t nr_parts, room;
	struct pack *pack; /* owned; NULL: not tried yet */
	struct bytes packed;
	bool packs;
	unsigned wait, left; /* slices from one try to the next, and until then */
	struct error error;
	char *path; /* owned, for messages */
};

int outfile_open(struct outfile *f, const char *path, uint32_t flags, int64_t wall_offset_ns,
		 struct error *err);

/* Appends a part; @payload may have turned failed. */
void outfile_part(struct outfile *f, enum part_kind kind, unsigned level, ns_t begin, ns_t end,
		  const struct bytes *payload);

/* Writes index and trailer. */
void outfile_finish(struct outfile *f, ns_t begin, ns_t end);

/* Closes; 0 or the first error of all. */
int outfile_close(struct outfile *f, struct error *err);

#endif
