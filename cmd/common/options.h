/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_OPTIONS_H
#define CMD_COMMON_OPTIONS_H

#include "base/types.h"

/*
 * Options are tables.  One row makes the option be parsed, described by --help and completed by
 * the shell, so that the three cannot disagree.  What a value looks like is its kind: a malformed
 * one is refused here, before anything is done.
 */
enum option_kind {
	OPTION_FLAG,	/* bool: true */
	OPTION_COUNT,	/* unsigned: how often it was given */
	OPTION_TEXT,	/* const char * */
	OPTION_NUMBER,	/* uint64_t, 1 or more */
	OPTION_THREADS, /* the same, and at most OPTION_THREADS_MAX */
	OPTION_TIME,	/* const char *: a length of time, as cmd/common/duration.h has it */
	OPTION_CHOICE,	/* const char *: one of @choices */
	/* These may be given again and again: a struct text_list. */
	OPTION_LIST,
	OPTION_PAIRS,	/* each NAME=SOMETHING, none of them empty */
	OPTION_OFFSETS, /* each NAME=NUMBER, as base/number.h has it */
	OPTION_CPUS,	/* each a CPU's number */
};

struct option_row {
	char letter; /* 0 = only a long name */
	const char *name;
	enum option_kind kind;
	size_t offset;	     /* of the value in the struct it is written into */
	const char *arg;     /* what its value is called in the help; NULL for flags */
	const char *choices; /* "text|json": all there are (OPTION_CHOICE), or what is offered */
	const char *help;
	unsigned mask; /* common options: COMMON_* bit of the commands that take it, 0 = all */
};

struct text_list {
	const char **items; /* owned */
	unsigned nr;
};

/* As many CPUs as a kernel can have. */
#define OPTION_THREADS_MAX 8192

/* Options that several commands share. */
#define COMMON_INPUT 1u
#define COMMON_OUTPUT 2u
#define COMMON_FORMAT 4u
#define COMMON_TIME 8u
#define COMMON_FORMAT_CSV 16u /* with csv, too */

struct common {
	const char *input;
	const char *output;
	const char *format;
	const char *time;
	const char *color;
	bool no_pager;
	bool quiet;
	unsigned verbose;
	bool help;
	bool version;
};

extern const struct option_row common_rows[];
extern const unsigned nr_common_rows;

/* A table, and the struct it fills. */
struct option_set {
	const struct option_row *rows;
	unsigned nr;
	unsigned mask; /* rows with another mask are left out */
	void *values;
};

static inline bool option_is_list(const struct option_row *row)
{
	return row->kind >= OPTION_LIST;
}

static inline bool option_taken(const struct option_set *set, const struct option_row *row)
{
	return !row->mask || row->mask & set->mask;
}

#define OPTION_PROBLEM 200

/*
 * Parses @argv after its first element.  Operands are moved to the end; returns the index of the
 * first, or -EINVAL with a sentence in @problem.  "-- text" is an operand, too: a comment of SQL.
 */
int options_parse(const struct option_set *sets, unsigned nr_sets, int argc, char **argv,
		  char problem[static OPTION_PROBLEM]);

/* Releases what lists have allocated. */
void options_release(const struct option_set *set);

#endif
