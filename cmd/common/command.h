/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_COMMAND_H
#define CMD_COMMON_COMMAND_H

#include "cmd/common/options.h"
#include "cmd/common/ticker.h"
#include "report/json.h"
#include "report/table.h"
#include "sonde/sonde.h"

/*
 * A subcommand is a row in the table of cmd/main.c; each is a file of its own, cmd/<name>.c.
 * Commands are thin: they read their options, call libsonde and lay out what it answers.
 * This folder is the only one that prints or ends the program.
 */

/* What `sonde` exits with; sonde(1) documents it. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,      /* could not do it */
	EXIT_USAGE = 2,	      /* wrong command line */
	EXIT_UNSOUND = 3,     /* done; what was checked is not sound, or a trace was left out */
	EXIT_INTERRUPTED = 4, /* stopped by the user; what was done until then is kept */
};

struct invocation {
	const struct command *command;
	struct common common;
	const void *values; /* the command's own options: its struct, filled */
	char **operands;
	int nr_operands;
	struct screen screen;  /* where the answer goes */
	struct ticker *ticker; /* says what takes long */
	const char *command_line;
};

struct command {
	const char *name;
	const char *summary;  /* one line */
	const char *operands; /* "PATH..." */
	const char *about;    /* a few lines for --help */
	unsigned common;      /* which of the common options it takes: COMMON_* */
	bool output_is_dir;   /* -o names a directory */
	const struct option_row *options;
	unsigned nr_options;
	size_t values_bytes; /* size of the struct its options are written into */
	bool pages;	     /* long text: through the pager on a terminal */
	bool whole;	     /* JSON and CSV: all of it, or nothing (held.h) */
	enum exit_code (*run)(const struct invocation *inv);
};

extern const struct command analyze_command;
extern const struct command info_command;
extern const struct command tree_command;
extern const struct command report_command;
extern const struct command why_command;
extern const struct command critpath_command;
extern const struct command compare_command;
extern const struct command vms_command;
extern const struct command state_command;
extern const struct command timeline_command;
extern const struct command top_command;
extern const struct command events_command;
extern const struct command sql_command;
extern const struct command check_command;
extern const struct command serve_command;
extern const struct command export_command;
extern const struct command record_command;
extern const struct command agent_command;
extern const struct command mark_command;
extern const struct command share_command;
extern const struct command stolen_command;

extern const struct command *const commands[];
extern const unsigned nr_commands;

const struct command *command_find(const char *name);

/* "sonde report: text" on stderr; returns @code, so that commands write "return complain(...)". */
enum exit_code complain(const struct invocation *inv, enum exit_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Opens the history a command asks about: -i, else the only operand, else the only .sonde file
 * of the current directory.  Other than EXIT_DONE: the user has been told why. */
enum exit_code open_input(const struct invocation *inv, struct sonde_history **out);

/* Opens it, lets @show tell of it, and closes it. */
enum exit_code with_input(const struct invocation *inv,
			  enum exit_code (*show)(const struct invocation *inv,
						 struct sonde_history *history));

/* The --time window of @history; false: the user has been told what is wrong with it. */
bool get_window(const struct invocation *inv, struct sonde_history *history, int64_t *begin,
		int64_t *end);
/* The same of another option than --time. */
bool get_window_of(const struct invocation *inv, struct sonde_history *history, const char *option,
		   const char *text, int64_t *begin, int64_t *end);

/* --format json */
static inline bool is_json(const struct invocation *inv)
{
	return inv->common.format && inv->common.format[0] == 'j';
}

/* --format csv */
static inline bool is_csv(const struct invocation *inv)
{
	return inv->common.format && inv->common.format[0] == 'c';
}

/* help.c, completion.c */
void print_help(FILE *out, const struct command *command);
/* "sonde 0.1.0 (commit …)", for a bug report. */
void print_version(void);
void print_overview(FILE *out);
void print_completion(FILE *out);

#endif
