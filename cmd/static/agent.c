/* SPDX-License-Identifier: Apache-2.0 */
/* sonde-agent: `sonde agent` alone, as one static file to copy into a guest. */
#include "cmd/common/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command *const commands[] = {&agent_command};
const unsigned nr_commands = ARRAY_SIZE(commands);

static enum exit_code run(const struct invocation *inv)
{
	if (inv->common.help) {
		print_help(stdout, inv->command);
		return EXIT_DONE;
	}
	if (inv->common.version) {
		print_version();
		return EXIT_DONE;
	}
	return inv->command->run(inv);
}

int main(int argc, char **argv)
{
	const struct command *command = &agent_command;
	struct invocation inv = {.command = command, .command_line = ""};
	void *values = calloc(1, command->values_bytes);
	struct option_set sets[] = {
		{command->options, command->nr_options, 0, values},
		{common_rows, nr_common_rows, command->common, &inv.common},
	};
	char problem[OPTION_PROBLEM];
	enum exit_code code;
	int first;

	/* `sonde agent ...` and `sonde-agent ...` are the same. */
	if (argc > 1 && !strcmp(argv[1], command->name)) {
		argc--;
		argv++;
	}
	if (!values)
		return complain(&inv, EXIT_FAILED, "out of memory");
	first = options_parse(sets, ARRAY_SIZE(sets), argc, argv, problem);
	if (first < 0) {
		code = complain(&inv, EXIT_USAGE, "%s; see sonde-agent --help", problem);
	} else {
		inv.values = values;
		inv.operands = argv + first;
		inv.nr_operands = argc - first;
		code = run(&inv);
	}
	options_release(&sets[0]);
	free(values);
	return code;
}
