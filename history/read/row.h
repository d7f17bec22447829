/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_READ_ROW_H
#define HISTORY_READ_ROW_H

#include "history/read/reader.h"

/*
 * One attribute's changes, put together from where they lie: in the slices in which it changes
 * often, and in the node of the group for the slices in which it does not.
 */
struct found {
	ns_t t;
	uint32_t value;
};

/* Last change of an open segment at one of the first @places places (node_places_upto()); false
 * when there is none. */
static inline bool segment_last(const struct node *n, const struct segment *s, uint64_t places,
				struct found *out)
{
	uint64_t place;
	uint32_t nr = places ? sorted_upto(&s->places, places - 1, &place) : 0;

	if (!nr)
		return false;
	out->t = node_time(n, place);
	out->value = segment_value(s, nr - 1);
	return true;
}

/* Last change of the node's @attr at or before @t.  1, 0 when there is none, -EIO. */
int node_last(const struct node *n, uint32_t attr, ns_t t, struct found *out);

/* Last change at or before @t / first change after @t, of the whole history.  1, 0, -errno. */
int row_last(struct history *h, attr_t attr, ns_t t, struct found *out);
int row_next(struct history *h, attr_t attr, ns_t t, struct found *out);

/* How many changes there are in the parts that touch the window, from their directories alone. */
#define ROW_COUNT_UNKNOWN UINT64_MAX /* some are packed, or damaged */
uint64_t row_count(struct history *h, attr_t attr, ns_t begin, ns_t end);

/*
 * Reads changes after @after and before @before, in order, some at a time.  Nothing to release.
 */
#define ROW_BATCH 512 /* for who has no use for more at once */

struct row_range {
	struct stream *stream;
	uint32_t i, row; /* of the stream, of the node */
	const struct node *node;
	struct segment segment;
	uint64_t loaded; /* node.loaded when the segment was opened */
	uint32_t at, end;
	uint64_t hint;
};

struct row_reader {
	struct history *h;
	attr_t attr;
	ns_t after, before;
	ns_t last;		   /* of the changes read so far; .after when there is none */
	uint32_t group, end_group; /* next one to open */
	uint32_t next_row;	   /* the attribute's row in it, when it is not the first */
	uint32_t first_slice;	   /* of the open group */
	uint32_t mask;		   /* slices of the open group still to read */
	struct row_range own, slice;
	uint32_t own_stop; /* entries of own that lie before the slice */
};

void row_reader_init(struct row_reader *r, struct history *h, attr_t attr, ns_t after, ns_t before);
/* How many changes were read to @times and @values, which have room for @room, 1 to INT_MAX; 0: no
 * more, -errno. */
int row_reader_next(struct row_reader *r, ns_t *times, uint32_t *values, uint32_t room);

#endif
