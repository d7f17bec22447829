/* SPDX-License-Identifier: Apache-2.0 */
/* Which history a command is about, and which part of it. */
#include "cmd/common/command.h"
#include "base/units.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What is left of a file that was cut off before its first names. */
static enum exit_code complain_empty(const struct invocation *inv, const char *path, bool complete)
{
	char size[UNIT_TEXT];
	struct stat st;

	if (complete || stat(path, &st))
		return complain(inv, EXIT_FAILED, "%s holds no machine", path);
	return complain(inv, EXIT_FAILED,
			"%s holds no machine: it was cut off at %s bytes; analyse the traces again",
			path, unit_count(size, (int64_t)st.st_size));
}

/* A trace where a history is expected: trace-cmd's and perf's begin so. */
static bool is_trace(const char *path)
{
	static const char magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	static const char perf_magic[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
	char head[sizeof(magic)];
	FILE *file = fopen(path, "re");
	bool is = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
		  (!memcmp(head, magic, sizeof(magic)) ||
		   !memcmp(head, perf_magic, sizeof(perf_magic)));

	if (file)
		fclose(file);
	return is;
}

/* Why it is no history; "help" may have been meant as a word. */
static enum exit_code complain_unopened(const struct invocation *inv, const char *path,
					const struct stat *st, const struct sonde_error *err)
{
	const char *name = inv->command->name;

	if (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode) || S_ISCHR(st->st_mode))
		return complain(inv, EXIT_FAILED,
				"%s is a %s; sonde %s reads a history, which is a file", path,
				S_ISFIFO(st->st_mode)	? "pipe"
				: S_ISSOCK(st->st_mode) ? "socket"
							: "device",
				name);
	if (S_ISREG(st->st_mode) && !st->st_size)
		return complain(inv, EXIT_FAILED,
				"%s is empty; sonde %s reads a history, which sonde analyze makes",
				path, name);
	if (!st->st_mode && !strcmp(path, "help"))
		return complain(inv, EXIT_FAILED,
				"there is no file \"help\"; sonde help %s explains", name);
	return complain(inv, EXIT_FAILED, "%s", err->text);
}

static enum exit_code open_run(const struct invocation *inv, const char *path,
			       struct sonde_history **out)
{
	struct sonde_error err = {0};
	struct stat st = {0};

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return complain(inv, EXIT_FAILED,
				"%s is a directory; sonde %s reads a history: make one with "
				"sonde analyze %s -o run.sonde",
				path, inv->command->name, path);
	if (S_ISREG(st.st_mode) && is_trace(path))
		return complain(inv, EXIT_FAILED,
				"%s is a trace; sonde %s reads a history: make one with "
				"sonde analyze %s -o run.sonde",
				path, inv->command->name, path);
	if (sonde_history_open(out, path, &err))
		return complain_unopened(inv, path, &st, &err);
	if (!sonde_nr_machines(*out)) {
		enum exit_code code = complain_empty(inv, path, sonde_history_complete(*out));

		sonde_history_close(*out);
		*out = NULL;
		return code;
	}
	if (!sonde_history_complete(*out) && !inv->common.quiet)
		complain(inv, EXIT_FAILED,
			 "%s is not complete (its writer was stopped, or the file cut off); it is "
			 "read as far as it goes",
			 path);
	return EXIT_DONE;
}

#define NAMES_SHOWN 8

static enum exit_code complain_several(const struct invocation *inv, const glob_t *found)
{
	char names[600] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < found->gl_pathc && i < NAMES_SHOWN && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 found->gl_pathv[i]);
	return complain(inv, EXIT_FAILED, "there are several .sonde files here; name one: %s%s",
			names, i < found->gl_pathc ? " ..." : "");
}

enum exit_code open_input(const struct invocation *inv, struct sonde_history **out)
{
	const char *path = inv->common.input;
	enum exit_code code;
	glob_t found = {0};

	if (inv->nr_operands > (path ? 0 : 1))
		return complain(inv, EXIT_USAGE, "one history is expected, not also \"%s\"",
				inv->operands[inv->nr_operands - 1]);
	if (!path && inv->nr_operands)
		path = inv->operands[0];
	if (path)
		return open_run(inv, path, out);
	glob("*.sonde", 0, NULL, &found);
	if (found.gl_pathc == 1)
		code = open_run(inv, found.gl_pathv[0], out);
	else if (found.gl_pathc)
		code = complain_several(inv, &found);
	else
		code = complain(inv, EXIT_FAILED,
				"there is no .sonde file here; name one, or make one with sonde "
				"analyze");
	globfree(&found);
	return code;
}

enum exit_code with_input(const struct invocation *inv,
			  enum exit_code (*show)(const struct invocation *inv,
						 struct sonde_history *history))
{
	struct sonde_history *history;
	enum exit_code code = open_input(inv, &history);

	if (code)
		return code;
	code = show(inv, history);
	sonde_history_close(history);
	return code;
}

/* One side of a window lies outside the history. */
static bool sticks_out(struct sonde_history *history, const char *text, size_t len)
{
	struct sonde_error err = {0};
	char side[64];
	int64_t t;

	if (!len || len >= sizeof(side))
		return false;
	memcpy(side, text, len);
	side[len] = '\0';
	return !sonde_history_time(history, side, &t, &err) &&
	       (t < sonde_history_begin(history) || t > sonde_history_end(history));
}

/* Numbers are of what there is: who asked for more is told. */
static void tell_clipped(const struct invocation *inv, struct sonde_history *history,
			 const char *option, const char *text)
{
	const char *comma = text ? strchr(text, ',') : NULL;
	bool is_ns = sonde_history_ticks_are_ns(history);
	char from[UNIT_TEXT], to[UNIT_TEXT];

	if (!comma || inv->common.quiet ||
	    (!sticks_out(history, text, (size_t)(comma - text)) &&
	     !sticks_out(history, comma + 1, strlen(comma + 1))))
		return;
	complain(inv, EXIT_DONE,
		 "--%s: the history lasts from %s to %s only; the rest of \"%s\" is left out",
		 option, unit_time(from, sonde_history_begin(history), is_ns),
		 unit_time(to, sonde_history_end(history), is_ns), text);
}

bool get_window_of(const struct invocation *inv, struct sonde_history *history, const char *option,
		   const char *text, int64_t *begin, int64_t *end)
{
	struct sonde_error err = {0};

	if (!sonde_history_window(history, text, begin, end, &err)) {
		tell_clipped(inv, history, option, text);
		return true;
	}
	complain(inv, EXIT_USAGE, "--%s: %s", option, err.text);
	return false;
}

bool get_window(const struct invocation *inv, struct sonde_history *history, int64_t *begin,
		int64_t *end)
{
	return get_window_of(inv, history, "time", inv->common.time, begin, end);
}
