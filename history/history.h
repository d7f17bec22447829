/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/error.h"

/*
 * A history: what value every attribute had at every moment of a run, in one .sonde file, written
 * while the stream goes by and answered from without reading it all.  docs/formats/history.md is
 * the format.
 *
 * Attributes form a path tree ("host0/cpu0/runs").  At each moment an attribute has one value, a
 * 32-bit number; 0 means none (before the first change, or explicitly).  What a value means is the
 * attribute's type: a plain number, an entry of a string table, or a row of one of the tables that
 * stand in the same file (contexts, threads ...).
 *
 * Tables hold what is not a state over time: rows with typed columns.
 */

typedef uint32_t attr_t;
#define ATTR_ROOT 0u
#define ATTR_NONE UINT32_MAX

enum attr_type {
	ATTR_DIR, /* only has children */
	ATTR_NUMBER,
	ATTR_STRING, /* values are string ids */
	ATTR_ROW,    /* values are row number + 1 of a table */
	ATTR_ENUM,   /* values index a fixed list known to the schema, docs/formats/schema.md */
};

#define ATTR_SUMMED 1u /* flag: keep totals, so that history_sum() over long windows is cheap */

enum column_type { COL_INT, COL_NS, COL_STRING, COL_BOOL };

struct column {
	const char *name;
	enum column_type type;
};

/* ---- writing ------------------------------------------------------------------------------ */

struct history_writer;

/* Times stay below this in either direction (146 years), so that differences never overflow. */
#define HISTORY_TIME_MAX (INT64_MAX / 2)

struct history_writer_options {
	unsigned threads;  /* 0 = encode in the calling thread, else in one of its own */
	bool ticks_are_ns; /* kept in the header, see struct topology */
	int64_t wall_offset_ns;
	bool wall_known;
};

/* Writes to @path itself; the file is recognised as incomplete until history_writer_close(). */
int history_writer_open(struct history_writer **out, const char *path,
			const struct history_writer_options *opt, struct error *err);

/* The child of @parent with that name, made if new.  ATTR_NONE when memory is out. */
attr_t history_writer_attr(struct history_writer *w, attr_t parent, const char *name,
			   enum attr_type type, unsigned flags);

/*
 * From @t on, @attr has @value.  @t must not be smaller than any @t before (it is then raised to
 * the last one), and lies within 146 years of 0.  Setting the value it already has costs nothing
 * and writes nothing.  Several changes of one attribute at one time: the last one counts.  Errors
 * (disk full) are kept and come out of history_writer_close().
 */
void history_writer_set(struct history_writer *w, attr_t attr, ns_t t, uint32_t value);

uint32_t history_writer_string(struct history_writer *w, const char *text, size_t len_bytes);

/* Makes a table; returns its number. */
int history_writer_table(struct history_writer *w, const char *name, const struct column *columns,
			 unsigned nr_columns);
/* Adds a row; cells in column order, strings as ids of history_writer_string().  Returns the row's
 * number, counted from 0. */
int64_t history_writer_row(struct history_writer *w, int table, const int64_t *cells);
/* Changes a cell of a row written before (rows are kept in memory until the close). */
void history_writer_cell(struct history_writer *w, int table, int64_t row, unsigned column,
			 int64_t cell);
/* The same for the whole row: costs little when nothing in it has changed. */
void history_writer_change_row(struct history_writer *w, int table, int64_t row,
			       const int64_t *cells);
/* Drops the rows from @nr_rows on, for good: the table gets no new ones. */
void history_writer_end_table(struct history_writer *w, int table, int64_t nr_rows);

/*
 * Changes are written in batches, each with what is new in strings, attributes and tables: what a
 * reader of an incomplete file finds.  @sync is called before a batch is closed, from within
 * history_writer_set(), to add the rows that its values stand for; the value being set is not part
 * of the batch.  It must not set values itself.  NULL: nothing is called any more.
 */
void history_writer_before_batch(struct history_writer *w, void (*sync)(void *data), void *data);

/* The number of the table with that name, -ENOENT when there is none. */
int history_writer_table_named(struct history_writer *w, const char *name);

/*
 * Ends the history at @end: no changes come any more.  Rows still may, and stand by themselves in
 * the file's last part of names: there what says when and how a history was made does not move any
 * other byte.
 */
void history_writer_end(struct history_writer *w, ns_t end);

/* Ends the history at @end, unless that was done, and completes the file.  0, or the first error of
 * all that happened.  The writer is gone either way. */
int history_writer_close(struct history_writer *w, ns_t end, struct error *err);

/* ---- reading ------------------------------------------------------------------------------ */

struct history;

struct interval {
	ns_t begin, end; /* [begin, end) */
	uint32_t value;
};

/*
 * Opens a file; O(1) in its length.  -EINVAL: not a history or a version we do not know.
 * An incomplete file (writer killed) opens, up to the last whole part: history_complete() is then
 * false and history_end() says up to when.  Damaged parts are found by checksum when they are
 * read: where no others say the same, queries return -EIO, never a wrong answer.  A struct history
 * is used by one thread at a time; several may have the same file open.
 */
int history_open(struct history **out, const char *path, struct error *err);

/* One more reader of a file that is open, for another thread: it costs little, for the names are
 * shared. The file is the same one, whatever is at its path now.  Each is closed for itself, in any
 * order. 0 or -ENOMEM. */
int history_again(struct history **out, const struct history *of);

/* True when the file begins as a history does, of whatever version and however damaged: something
 * that may be written anew. */
bool history_probe(const char *path);
void history_close(struct history *h);

/* A part of the file whose checksum is wrong. */
struct history_damage {
	uint64_t offset_bytes, len_bytes;
	const char *what; /* is kept there; NULL: that cannot be told, nor where the next part is */
	ns_t begin, end;  /* the time it is about, when @what is known */
	bool needed;	  /* else other parts say the same, and queries read these */
};

/* Reads the whole file and calls @bad for each damaged part, in order; returns how many. */
int history_verify(const struct history *h,
		   void (*bad)(const struct history_damage *damage, void *data), void *data);

/* Which file it is, as text: another file, or this one changed, has another.  Like snprintf(). */
int history_file(const struct history *h, char *buf, size_t room);

ns_t history_begin(const struct history *h);
ns_t history_end(const struct history *h);
bool history_complete(const struct history *h);
/* How many bytes the file of a complete history has behind its end, where nothing reads. */
uint64_t history_bytes_behind(const struct history *h);
bool history_ticks_are_ns(const struct history *h);
bool history_wall_offset(const struct history *h, int64_t *offset_ns);

uint32_t history_nr_attrs(const struct history *h); /* ids are 0 .. nr - 1 */
attr_t history_find(const struct history *h, const char *path);
attr_t history_child(const struct history *h, attr_t parent, const char *name);
attr_t history_first_child(const struct history *h, attr_t parent);
attr_t history_next_sibling(const struct history *h, attr_t attr);
attr_t history_parent(const struct history *h, attr_t attr);
const char *history_attr_name(const struct history *h, attr_t attr);
enum attr_type history_attr_type(const struct history *h, attr_t attr);
const char *history_string(const struct history *h, uint32_t id);

/* Full state: values[attr] for every attribute, and, when @since is not NULL, since when. */
int history_state(struct history *h, ns_t t, uint32_t *values, ns_t *since);

/* The interval of @attr that holds @t.  Before its first change the value is 0, since the begin of
 * the history.  This and history_state(): -ERANGE when @t is not in [begin, end). */
int history_at(struct history *h, attr_t attr, ns_t t, struct interval *out);

/* Walks the intervals of @attr that touch [begin, end), in order, clipped to nothing: first and
 * last may stick out.  None is empty, and each begins where the one before it ends, or it is -EIO.
 * @each returns false to stop. */
int history_walk(struct history *h, attr_t attr, ns_t begin, ns_t end,
		 bool (*each)(const struct interval *i, void *data), void *data);

/* The same intervals as columns: the @nr-th of them has @values[nr] from @begins[nr] to @begins[nr
 * + 1].  @values has room for @room of them, at least one, @begins for one more; at most so many
 * are written, from the first on. */
int history_list(struct history *h, attr_t attr, ns_t begin, ns_t end, ns_t *begins,
		 uint32_t *values, unsigned room, unsigned *nr);
/* How many they are at most; what stands in parts of which the window touches but an end is
 * counted, too.  0: that is not known without reading it all. */
uint64_t history_list_most(struct history *h, attr_t attr, ns_t begin, ns_t end);

/* The first change after @t (NS_MAX: none), the last change at or before @t (NS_MIN: none). */
int history_next_change(struct history *h, attr_t attr, ns_t t, ns_t *out);
int history_prev_change(struct history *h, attr_t attr, ns_t t, ns_t *out);

/* Exact time per value in [begin, end). */
struct value_time {
	uint32_t value;
	ns_t time_ns;
};
/* *out is malloc'ed, sorted by time, longest first; the caller frees it. */
int history_sum(struct history *h, attr_t attr, ns_t begin, ns_t end, struct value_time **out,
		unsigned *nr);

/* Where the piece of the file that holds @t ends.  Who reads many attributes of a long time reads
 * them piece by piece: each piece is then decoded once, and not once for each of them. */
ns_t history_piece_end(const struct history *h, ns_t t);

/*
 * A window as a picture: for each of @nr attributes at most one run per pixel.  Pixel p is
 * [begin + p * (end - begin) / pixels, ...).  A run covers whole pixels in which the same value is
 * dominant.  @exact: it held longest in every pixel of the run.  Otherwise it was chosen from
 * summaries (history/parts/summary.h says how): it was the longest, as far as they know, of some
 * bucket no wider than half a pixel.  Either way it held at least @share of each pixel (in 1/255).
 * Outside of the history the value is 0, and runs with value 0 are not told.
 */
struct pixel_run {
	uint32_t first, nr; /* pixels */
	uint32_t value;
	uint8_t share; /* lower bound of the time the value held in each pixel, 255 = all */
	bool exact;
};
/* @each is called per row in the order of @attrs, with that row's runs (none: value 0 all over). */
int history_pixels(struct history *h, const attr_t *attrs, unsigned nr, ns_t begin, ns_t end,
		   unsigned pixels,
		   void (*each)(unsigned row, const struct pixel_run *runs, unsigned nr,
				void *data),
		   void *data);

int history_table(const struct history *h, const char *name); /* number, or -ENOENT */
unsigned history_nr_tables(const struct history *h);
const char *history_table_name(const struct history *h, int table);
const struct column *history_table_columns(const struct history *h, int table, unsigned *nr);
int64_t history_nr_rows(const struct history *h, int table);
int64_t history_cell(const struct history *h, int table, int64_t row, unsigned column);
/* All cells of a table, row by row, for who reads very many; they are there as long as @h. */
const int64_t *history_cells(const struct history *h, int table);

#endif
