/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PACK_MODEL_H
#define HISTORY_PACK_MODEL_H

#include "history/bits.h"

/*
 * What packing and unpacking have in common: the columns, and the model that foresees.  Both
 * sides teach it the same things in the same order.  Its tables are indexed by hashes that nobody
 * checks: where two values share an entry, the forecast is worse, and still the same on both sides.
 */
enum pack_column {
	/* of a node's rows */
	COLUMN_ATTR, /* distance from the row before, less 1 */
	COLUMN_MASK,
	COLUMN_NR,
	COLUMN_MODE, /* enum row_mode */
	/* of their entries */
	COLUMN_FIRST,	     /* first place, from the first one of the row before */
	COLUMN_FIRST_STEP,   /* the same of rows with foreign moments, in moments */
	COLUMN_RANK,	     /* enum rank */
	COLUMN_RANK_FOREIGN, /* of rows with foreign moments */
	COLUMN_VALUE,	     /* distance of a value that was not foreseen */
	COLUMN_OFFSET,	     /* of a place from the last moment before it */
	COLUMN_SHARE,
	/* of totals: attributes and how many there are as above */
	COLUMN_TIME,
	/* of a snapshot */
	COLUMN_SNAPSHOT_ATTR,
	COLUMN_SNAPSHOT_VALUE,
	COLUMN_SNAPSHOT_SINCE,
	/* distances of places, a column for each pace */
	COLUMN_GAP,
	COLUMN_STEP = COLUMN_GAP + 64, /* in moments; * 2 + 1 when the moment is the place */
	NR_COLUMNS = COLUMN_STEP + 64
};

/* Where a row's places come from. */
enum row_mode {
	MODE_OWN,     /* they are told */
	MODE_FOREIGN, /* most of them are places of rows that tell theirs */
};

/* Which forecast was right. */
enum rank {
	RANK_PAIR,   /* what followed the last two values */
	RANK_NEXT,   /* what followed the last value */
	RANK_OTHER,  /* ... before it was followed by something else */
	RANK_UP,     /* the last value + 1 */
	RANK_NEWEST, /* none: distance from the last one that was not foreseen */
	RANK_LAST,   /* none: distance from the last value */
	NR_RANKS
};

#define MODEL_VALUES (1u << 15)
#define MODEL_PAIRS (1u << 16)

/* What is known of a value. */
struct model_value {
	uint32_t next, other;
	uint16_t gap_pace, step_pace; /* bits of its distances, times 16; 0: none yet */
};

struct model {
	struct model_value values[MODEL_VALUES];
	uint32_t pairs[MODEL_PAIRS];
};

/* A walk along one row. */
struct model_walk {
	struct model_value *known; /* about @last */
	uint32_t *pair;
	uint32_t last, before, newest;
};

static inline uint64_t fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unfold(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline void model_look(struct model *m, struct model_walk *w)
{
	w->known = &m->values[w->last & (MODEL_VALUES - 1)];
	w->pair = &m->pairs[(w->before * 0x9e3779b1u + w->last * 0x85ebca6bu) >> 16];
}

static inline void model_start(struct model *m, struct model_walk *w)
{
	w->last = w->before = w->newest = 0;
	model_look(m, w);
}

/* The walk goes on to @value, which was what @rank says. */
static inline void model_step(struct model *m, struct model_walk *w, uint32_t value, unsigned rank)
{
	*w->pair = value;
	if (w->known->next != value) {
		w->known->other = w->known->next;
		w->known->next = value;
	}
	if (rank >= RANK_UP)
		w->newest = value;
	w->before = w->last;
	w->last = value;
	model_look(m, w);
}

/* The column for the next distance, by the pace so far. */
static inline unsigned model_pace_column(unsigned pace)
{
	unsigned column = (pace + 8) >> 4;

	return column < 63 ? column : 63;
}

static inline void model_pace(uint16_t *pace, unsigned bits)
{
	int now = (int)bits * 16;

	*pace = (uint16_t)(*pace ? *pace + ((now - *pace) * 3 >> 3) : now);
}

/* Makes one rising list without doubles out of @nr rows of rising places, which lie one behind the
 * other in @places; row i ends at ends[i].  @spare has as much room.  Returns the list, in one of
 * both, and its length. */
uint64_t *model_merge(uint64_t *places, uint64_t *spare, uint32_t *ends, uint32_t nr,
		      uint32_t *nr_out);

#endif
