/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_CACHE_H
#define SERVE_API_CACHE_H

#include "sonde/tables.h"

/*
 * Rows over a whole history that took long to find, kept from one start of `sonde serve` to the
 * next.
 *
 *	cache_directory(dir);
 *	if (!cache_load(&kept, dir, run, analysis))
 *		... find them ...
 *		cache_save(dir, run, rows);
 *
 * One file per run and analysis, in the user's own cache directory.  It says which file of a
 * history (sonde_history_file_id()) and which build of the program it is of: when either is another
 * one, it is as if it were not there, and likewise when it is not this user's, too large, damaged,
 * or names anything that the history does not have.  Whatever goes wrong while it is written: then
 * it is not kept.  Of a history that is not complete nothing is.
 */
#define CACHE_PATH_MAX 4096
#define CACHE_ROWS_MAX 2000	 /* of the rows' first ones */
#define CACHE_FILES_MAX 256	 /* when there are more, the oldest goes */
#define CACHE_FILE_MAX (8 << 20) /* bytes */

/* Rows of rows as they were kept. */
struct cached {
	void *root;		 /* owned, jansson's: the strings */
	union sonde_cell *cells; /* owned, row by row */
	size_t nr_rows;
	size_t total; /* rows that there were */
};

/* $XDG_CACHE_HOME/sonde, else $HOME/.cache/sonde, made when it is not there.  -ENOENT: neither is
 * set, or other -errno. */
int cache_directory(char dir[static CACHE_PATH_MAX]);

/* True when they are there, to be released with cached_release(). */
bool cache_load(struct cached *out, const char *dir, const struct sonde_history *history,
		const struct sonde_table *table);
void cached_release(struct cached *c);

void cache_save(const char *dir, const struct sonde_history *history,
		const struct sonde_rows *rows);

#endif
