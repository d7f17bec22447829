/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_PACK_MODEL_H
#define HISTORY_PARTS_PACK_MODEL_H

#include "history/parts/bits.h"

/*
 * What packing and unpacking have in common: the columns, and the model that foresees.  Both
 * sides teach it the same things in the same order.  Its tables are indexed by hashes that nobody
 * checks: where two values share an entry, the forecast is worse, and still the same on both sides.
 */
#define MODEL_PACES 32

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
	COLUMN_NEW,	     /* distance of a value from the largest before */
	COLUMN_VALUE,	     /* distance of another value that was not foreseen */
	COLUMN_OFFSET,	     /* of a place from the last moment before it */
	COLUMN_SHARE,
	/* of totals: attributes and how many there are as above */
	COLUMN_TIME,
	/* of a snapshot */
	COLUMN_SNAPSHOT_ATTR,
	COLUMN_SNAPSHOT_VALUE,
	COLUMN_SNAPSHOT_SINCE,
	/* distances of places, columns for every pace */
	COLUMN_GAP,
	COLUMN_STEP = COLUMN_GAP + MODEL_PACES, /* in moments */
	NR_COLUMNS = COLUMN_STEP + MODEL_PACES
};

/* Where a row's places come from. */
enum row_mode {
	MODE_OWN,     /* they are told */
	MODE_FOREIGN, /* most of them are places of rows that tell theirs */
};

/* Which forecast was right. */
enum rank {
	RANK_PAIR,  /* what followed the last two values */
	RANK_NEXT,  /* what followed the last value */
	RANK_OTHER, /* ... before it was followed by something else */
	RANK_UP,    /* the last value + 1 */
	RANK_NEW,   /* none, it is larger than all before */
	RANK_NEAR,  /* none: distance from the last one with this rank or RANK_LAST */
	RANK_LAST,  /* none: distance from the last value */
	NR_RANKS
};

#define MODEL_VALUES (1u << 15)
#define MODEL_PAIRS (1u << 16)

/* How long distances are: their heads, times 16, smoothed; 0: none yet. */
struct model_pace {
	uint16_t gap, step;
};

/* What is known of a value, and of two that follow each other. */
struct model_value {
	uint32_t next, other;
	struct model_pace pace;
};

struct model_pair {
	uint32_t next;
	struct model_pace pace;
};

struct model {
	struct model_value values[MODEL_VALUES];
	struct model_pair pairs[MODEL_PAIRS];
};

/* A walk along one row. */
struct model_walk {
	struct model_value *known, *known_before; /* about @last, @before */
	struct model_pair *pair;
	uint32_t last, before, near, max;
};

/*
 * A number is a head, which stands in a column, and a rest of plain bits: the head says how many
 * bits the number has, and the two behind the first.  Numbers below 4 are their own heads.
 */
static inline unsigned number_head(uint64_t x)
{
	unsigned width = bits_width(x);

	return width < 3 ? (unsigned)x : (width - 2) << 2 | ((unsigned)(x >> (width - 3)) & 3);
}

static inline unsigned head_rest_bits(unsigned head)
{
	return head < 4 ? 0 : (head >> 2) - 1;
}

/* The number whose rest is 0. */
static inline uint64_t head_number(unsigned head)
{
	return head < 4 ? head : (4ull | (head & 3)) << head_rest_bits(head);
}
#define HEAD_MAX 251 /* of a number of 64 bits */

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
	w->known_before = w->known;
	w->known = &m->values[w->last & (MODEL_VALUES - 1)];
	w->pair = &m->pairs[(w->before * 0x9e3779b1u + w->last * 0x85ebca6bu) >> 16];
}

static inline void model_start(struct model *m, struct model_walk *w)
{
	w->last = w->before = w->near = w->max = 0;
	w->known = &m->values[0];
	model_look(m, w);
}

/* The walk goes on to @value, which was what @rank says. */
static inline void model_step(struct model *m, struct model_walk *w, uint32_t value, unsigned rank)
{
	w->pair->next = value;
	if (w->known->next != value) {
		w->known->other = w->known->next;
		w->known->next = value;
	}
	if (rank >= RANK_NEAR)
		w->near = value;
	if (value > w->max)
		w->max = value;
	w->before = w->last;
	w->last = value;
	model_look(m, w);
}

/* The column for the distance between the last two values, by the pace of these two; else by that
 * of the first. */
static inline unsigned model_pace_column(unsigned pair, unsigned before)
{
	return ((pair ? pair : before) + 32) >> 7 & (MODEL_PACES - 1);
}

static inline void model_learn(uint16_t *pace, unsigned head)
{
	int now = (int)head * 16;

	*pace = (uint16_t)(*pace ? *pace + (now - *pace) / 2 : now);
}

static inline unsigned model_gap_column(const struct model_walk *w)
{
	return COLUMN_GAP + model_pace_column(w->pair->pace.gap, w->known_before->pace.gap);
}

static inline void model_learn_gap(struct model_walk *w, unsigned head)
{
	model_learn(&w->pair->pace.gap, head);
	model_learn(&w->known_before->pace.gap, head);
}

static inline unsigned model_step_column(const struct model_walk *w)
{
	return COLUMN_STEP + model_pace_column(w->pair->pace.step, w->known_before->pace.step);
}

static inline void model_learn_step(struct model_walk *w, unsigned head)
{
	model_learn(&w->pair->pace.step, head);
	model_learn(&w->known_before->pace.step, head);
}

/* Makes one rising list without doubles out of @nr rows of rising places, which lie one behind the
 * other in @places; row i ends at ends[i].  @spare has as much room.  Returns the list, in one of
 * both, and its length. */
uint64_t *model_merge(uint64_t *places, uint64_t *spare, uint32_t *ends, uint32_t nr,
		      uint32_t *nr_out);

#endif
