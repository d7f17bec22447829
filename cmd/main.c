/* SPDX-License-Identifier: Apache-2.0 */
/* sonde COMMAND [OPTION...] [OPERAND...]: finds the command in a table, reads its options, and
 * gives it a screen to write on. */
#include "cmd/common/command.h"
#include "cmd/common/damage.h"
#include "cmd/common/heap.h"
#include "cmd/common/held.h"
#include "cmd/common/pager.h"
#include "cmd/common/signals.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct command *const commands[] = {
	&record_command, &analyze_command, &why_command,   &critpath_command, &compare_command,
	&vms_command,	 &report_command,  &state_command, &timeline_command, &top_command,
	&serve_command,	 &export_command,  &sql_command,   &tree_command,     &info_command,
	&events_command, &check_command,   &agent_command, &mark_command,     &share_command,
	&stolen_command,
};
const unsigned nr_commands = ARRAY_SIZE(commands);

const struct command *command_find(const char *name)
{
	for (unsigned i = 0; i < nr_commands; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

static bool wants_color(const struct common *common, int fd)
{
	const char *when = common->color ? common->color : "auto";
	const char *term = getenv("TERM");

	if (strcmp(when, "auto"))
		return !strcmp(when, "always");
	return isatty(fd) && !getenv("NO_COLOR") && term && strcmp(term, "dumb");
}

static unsigned terminal_width(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (columns && atoi(columns) > 0)
		return (unsigned)atoi(columns);
	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Runs the command on a screen: a file (-o), the pager or stdout. */
static enum exit_code run_on_screen(struct invocation *inv)
{
	bool text = !inv->common.format || !strcmp(inv->common.format, "text");
	struct pager pager = {0};
	struct ticker ticker;
	enum exit_code code;
	FILE *held = held_begin(inv);

	inv->screen.out = held ? held : stdout;
	inv->screen.color = wants_color(&inv->common, STDOUT_FILENO);
	inv->screen.width = terminal_width(STDOUT_FILENO);
	if (inv->command->pages && text && !inv->common.no_pager && !inv->common.output)
		pager_start(&pager);
	ticker_init(&ticker, isatty(STDERR_FILENO) && !inv->common.quiet);
	ticker.paged = pager.pid > 0;
	inv->ticker = &ticker;
	code = held_end(inv, held, inv->command->run(inv));
	ticker_release(&ticker);
	if (code == EXIT_FAILED)
		damage_tell(inv);
	if (fflush(stdout) || ferror(stdout))
		code = complain(inv, EXIT_FAILED, "cannot write the answer: %s", strerror(errno));
	pager_wait(&pager);
	return code;
}

static enum exit_code run_command(const struct command *command, int argc, char **argv,
				  const char *command_line)
{
	struct invocation inv = {.command = command, .command_line = command_line};
	void *values = calloc(1, command->values_bytes + 1);
	struct option_set sets[] = {
		{command->options, command->nr_options, 0, values},
		{common_rows, nr_common_rows, command->common, &inv.common},
	};
	enum exit_code code = EXIT_DONE;
	char problem[OPTION_PROBLEM];
	int first;

	if (!values)
		return complain(&inv, EXIT_FAILED, "out of memory");
	first = options_parse(sets, ARRAY_SIZE(sets), argc, argv, problem);
	if (first < 0) {
		code = complain(&inv, EXIT_USAGE, "%s; see sonde %s --help", problem,
				command->name);
	} else if (inv.common.help) {
		print_help(stdout, command);
	} else if (inv.common.version) {
		print_version();
	} else {
		inv.values = values;
		inv.operands = argv + first;
		inv.nr_operands = argc - first;
		code = run_on_screen(&inv);
	}
	options_release(&sets[0]);
	free(values);
	return code;
}

/* All of argv as one line, for the history's provenance. */
static char *join_words(int argc, char **argv)
{
	size_t len = 1;
	char *line;

	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	line = calloc(1, len);
	for (int i = 0; i < argc && line; i++) {
		strcat(line, i ? " " : "");
		strcat(line, argv[i]);
	}
	return line;
}

static enum exit_code no_command(const char *word)
{
	fprintf(stderr, "sonde: there is no command \"%s\"; see sonde --help\n", word);
	return EXIT_USAGE;
}

static enum exit_code run_main_option(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(word, "-V") || !strcmp(word, "--version")) {
		print_version();
		return EXIT_DONE;
	}
	if (!strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "help")) {
		const struct command *command = argc > 2 ? command_find(argv[2]) : NULL;

		if (command)
			print_help(stdout, command);
		else if (argc > 2 && !strcmp(word, "help"))
			return no_command(argv[2]);
		else
			print_overview(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(word, "--completion") && argc > 2 && !strcmp(argv[2], "bash")) {
		print_completion(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(word, "--completion")) {
		fputs("sonde: --completion: there is one for bash\n", stderr);
		return EXIT_USAGE;
	}
	if (*word != '-')
		return no_command(word);
	fprintf(stderr, "sonde: unknown option %s before a command; see sonde --help\n", word);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
	char *command_line;
	enum exit_code code;

	heap_settle();
	setlocale(LC_CTYPE, ""); /* trees are drawn with lines where the terminal has them */
	signals_install();
	if (!command)
		return (int)run_main_option(argc, argv);
	command_line = join_words(argc, argv);
	code = run_command(command, argc - 1, argv + 1, command_line);
	free(command_line);
	return (int)code;
}
