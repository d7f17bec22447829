/* SPDX-License-Identifier: Apache-2.0 */
/* Which history a command is about, and which part of it. */
#include "cmd/command.h"

#include <glob.h>
#include <string.h>

static struct sonde_run *open_run(const struct invocation *inv, const char *path)
{
	struct sonde_error err = {0};
	struct sonde_run *run;

	if (sonde_run_open(&run, path, &err)) {
		complain(inv, EXIT_FAILED, "%s", err.text);
		return NULL;
	}
	if (!sonde_run_complete(run) && !inv->common.quiet)
		complain(inv, EXIT_FAILED,
			 "%s is not complete: its writer was stopped; it is read as far as it goes",
			 path);
	return run;
}

struct sonde_run *open_input(const struct invocation *inv)
{
	const char *path = inv->common.input;
	struct sonde_run *run = NULL;
	glob_t found = {0};

	if (inv->nr_operands > (path ? 0 : 1)) {
		complain(inv, EXIT_USAGE, "one history is expected, not also \"%s\"",
			 inv->operands[inv->nr_operands - 1]);
		return NULL;
	}
	if (!path && inv->nr_operands)
		path = inv->operands[0];
	if (path)
		return open_run(inv, path);
	glob("*.sonde", 0, NULL, &found);
	if (found.gl_pathc == 1)
		run = open_run(inv, found.gl_pathv[0]);
	else
		complain(inv, EXIT_FAILED,
			 found.gl_pathc ? "there are several .sonde files here; name one of them"
					: "there is no .sonde file here; name one, or make one "
					  "with sonde analyze");
	globfree(&found);
	return run;
}

bool get_window(const struct invocation *inv, struct sonde_run *run, int64_t *begin, int64_t *end)
{
	struct sonde_error err = {0};

	if (!sonde_run_window(run, inv->common.time, begin, end, &err))
		return true;
	complain(inv, EXIT_USAGE, "--time: %s", err.text);
	return false;
}
