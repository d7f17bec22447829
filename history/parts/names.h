/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_NAMES_H
#define HISTORY_PARTS_NAMES_H

#include "base/strings.h"
#include "history/parts/bytes.h"
#include "history/history.h"

/*
 * All of a history that is not a state over time: strings, the attribute tree, tables.  The writer
 * fills one and appends what is new of it to the file now and then; the reader fills its own by
 * applying these pieces in order.  Zero-initialise, names_init(), names_release().
 */
struct name_attr {
	attr_t parent, first_child, last_child, next_sibling;
	uint32_t name; /* string id */
	uint8_t type, flags;
};

struct table_patch {
	int64_t row;
	unsigned column;
};

struct name_table {
	uint32_t name;
	unsigned nr_columns;
	struct column *columns; /* owned; the names are of the string table */
	uint32_t *column_names; /* owned, string ids */
	int64_t *cells;		/* owned, row by row */
	int64_t nr_rows, room;
	int64_t nr_put;		     /* rows that are in the file already */
	struct table_patch *patches; /* owned: cells of those rows that changed since */
	size_t nr_patches, patch_room;
	bool ended;
};

/* What the names that are put or applied next are guessed from: threads have the same children. */
#define NAMES_GUESSES 64
struct names_guess {
	uint32_t next_name;
	uint32_t parents[NAMES_GUESSES];
};

struct names {
	struct strings strings;
	struct name_attr *attrs; /* owned */
	uint32_t nr_attrs, attr_room;
	struct map children;	   /* parent << 32 | name -> attribute */
	struct name_table *tables; /* owned */
	unsigned nr_tables;
	uint32_t nr_put_strings, nr_put_attrs;
	unsigned nr_put_tables;
	struct names_guess guess;
};

#define NAMES_COLUMNS_MAX 256
#define NAMES_TABLES_MAX 4096

int names_init(struct names *n);
void names_release(struct names *n);

/* Id of a string that is there already, else UINT32_MAX. */
uint32_t names_find(const struct names *n, const char *text, size_t len_bytes);
attr_t names_child(const struct names *n, attr_t parent, uint32_t name);
/* The child with that name, made if new; ATTR_NONE when memory is out. */
attr_t names_attr(struct names *n, attr_t parent, uint32_t name, unsigned type, unsigned flags);
/* Number of the new table, or -ENOMEM. */
int names_table(struct names *n, uint32_t name, const uint32_t *column_names,
		const enum column_type *types, unsigned nr_columns);
/* Makes room for rows; 0 or -ENOMEM. */
int names_row_room(struct name_table *t, int64_t more);
int names_row(struct name_table *t, const int64_t *cells);
int names_cell(struct name_table *t, int64_t row, unsigned column, int64_t cell);
int names_change_row(struct name_table *t, int64_t row, const int64_t *cells);
/* Drops the rows from @nr_rows on; no new ones may come.  0, -EINVAL, -ENOMEM. */
int names_end_table(struct name_table *t, int64_t nr_rows);

/* Appends a payload of what is new since the last call. */
void names_put(struct names *n, struct bytes *out);
/* Compresses what names_put() made into the payload of a part. */
void names_pack(const struct bytes *plain, struct bytes *out);
/* Adds a part's payload.  0, -EINVAL when it makes no sense, -ENOMEM. */
int names_apply(struct names *n, const uint8_t *payload, uint64_t len_bytes);

#endif
