/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_READ_READER_H
#define HISTORY_READ_READER_H

#include "base/mapfile.h"
#include "history/parts/format.h"
#include "history/parts/names.h"
#include "history/parts/node.h"
#include "history/parts/totals.h"

#include <stdatomic.h>

/*
 * An open file as the queries see it: streams of parts in order of time.  A part's checksum is
 * verified when it is first touched.
 */
#include "history/parts/summary.h"

/*
 * Packed parts are unpacked when they are first touched.  Their plain form is kept while there is
 * room: a part's bytes may go away when UNPACKED_KEPT others have been touched since.  The struct
 * node stays where it is; who wants to use something that points into its bytes (a struct segment)
 * after touching that many parts asks stream_node() again and looks at node.loaded, or holds the
 * part with stream_hold().
 */
#define UNPACKED_KEPT 20 /* more than a group has slices */
#define UNPACKED_BYTES (128ull << 20)

struct unpacked {
	struct stream *stream;
	uint32_t i;
	struct bytes plain;
	uint64_t used; /* when it was touched, by the clock that history.touches is */
	unsigned holds;
};

/* The time list of a node, decoded. */
struct plain_times {
	ns_t *list;	/* owned, plain_times_nr(); NULL: it is not */
	uint64_t asked; /* how many times of it were asked for until then */
};

#define PLAIN_TIMES_MAX (4u << 20) /* in all lists of a history, 8 bytes each */
/* behind each list the last one again, for numbers that are not quite sure to be in it */
#define PLAIN_TIMES_PAD 1024

static inline uint64_t plain_times_nr(const struct node *n)
{
	return (uint64_t)n->nr_times + PLAIN_TIMES_PAD;
}

struct part {
	const uint8_t *payload;
	uint64_t len_bytes;
	ns_t begin, end;
};

struct stream {
	enum part_kind kind;
	unsigned level;
	uint32_t nr;
	const uint8_t *entries; /* as in the index part */
	struct node *nodes;	/* owned; of kinds that are nodes; attrs NULL: not touched yet */
	bool *checked;		/* owned; of other kinds */
	struct unpacked **unpacked; /* owned; NULL: none is */
	struct plain_times *times;  /* owned; NULL: none was asked for */
};

/* What all readers of a file have in common.  Nothing of it changes once the file is open. */
struct opened {
	atomic_uint readers;
	struct mapfile file;
	struct names names;
	char *path;	/* owned, for messages */
	uint8_t *found; /* owned: index made by walking an incomplete file */
	size_t found_bytes;
};

struct history {
	struct opened *of; /* owned by all its readers */
	ns_t begin, end;
	bool complete;
	uint64_t len_bytes; /* of the file, what may be behind a history's end left out */
	uint32_t flags;
	int64_t wall_offset_ns;
	struct stream slices, groups;
	struct unpack *unpack;	    /* owned; NULL: nothing was packed so far */
	struct unpacked **unpacked; /* owned: all there are */
	uint32_t nr_unpacked, unpacked_room;
	uint64_t unpacked_bytes, touches;
	uint64_t unpacked_max; /* bytes; UNPACKED_BYTES */
	uint64_t nr_plain_times;
	struct stream totals[TOTALS_LEVELS];
	struct stream summaries[SUMMARY_LEVELS];
};

/* Looks at the part at @at: 0, or -EIO when header or (if asked for) payload are damaged. */
int part_open(const struct mapfile *file, uint64_t at, bool verify, unsigned *kind, struct part *p);
/* Where the part behind @p, which is at @at, begins. */
static inline uint64_t part_behind(uint64_t at, const struct part *p)
{
	return at + PART_HEADER_BYTES + ((p->len_bytes + 7) & ~7ull);
}

static inline ns_t stream_begin(const struct stream *s, uint32_t i)
{
	return (ns_t)get_u64(s->entries + (uint64_t)i * INDEX_ENTRY_BYTES);
}

static inline uint64_t stream_place(const struct stream *s, uint32_t i)
{
	return get_u64(s->entries + (uint64_t)i * INDEX_ENTRY_BYTES + 8);
}

#define STREAM_NONE UINT32_MAX
/* The last part that begins at or before @t, STREAM_NONE when there is none. */
uint32_t stream_find(const struct stream *s, ns_t t);

/* The node of a part; 0 or -EIO, -ENOMEM. */
int stream_node(struct history *h, struct stream *s, uint32_t i, const struct node **out);
/* The node if it is at hand, else NULL. */
static inline const struct node *stream_ready(const struct stream *s, uint32_t i)
{
	return i < s->nr && s->nodes && s->nodes[i].attrs ? &s->nodes[i] : NULL;
}
int stream_part(struct history *h, struct stream *s, uint32_t i, struct part *out);

/*
 * All times of node @i of the stream, @n, for who wants @nr of them.  They are decoded when so many
 * have been asked for one by one that it would have been cheaper; NULL until then.  Good until the
 * next call.
 */
const ns_t *stream_times(struct history *h, struct stream *s, uint32_t i, const struct node *n,
			 uint32_t nr);
void stream_times_release(struct stream *s);

/* Sets @p to the plain form of packed part @i, which @p is.  0, -EIO, -ENOMEM. */
int unpacked_open(struct history *h, struct stream *s, uint32_t i, struct part *p);
/* The plain form that is there already, NULL: none is. */
static inline const struct unpacked *unpacked_touch(struct history *h, const struct stream *s,
						    uint32_t i)
{
	struct unpacked *u = s->unpacked ? s->unpacked[i] : NULL;

	if (u)
		u->used = ++h->touches;
	return u;
}
void unpacked_release(struct history *h);

/* An open part stays open from stream_hold(..., 1) to stream_hold(..., -1). */
static inline void stream_hold(struct stream *s, uint32_t i, int by)
{
	if (s->unpacked && s->unpacked[i])
		s->unpacked[i]->holds += (unsigned)by;
}

/* The last 64 bytes say where the index is, and of this file. */
bool history_trailer_is_right(const struct history *h);
/* The index of a file of which only these are damaged, or not the last (recover.c). */
bool history_find_index(struct history *h, struct part *out);
/* Index of a file whose writer did not finish (recover.c).  Sets streams, begin and end. */
int history_recover(struct history *h, struct error *err);
/* The stream of a kind, NULL for kinds that have none. */
struct stream *history_stream(struct history *h, unsigned kind, unsigned level);

#endif
