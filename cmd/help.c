/* SPDX-License-Identifier: Apache-2.0 */
/* --help, made from the tables of commands and options. */
#include "cmd/common/command.h"

#include <stdio.h>
#include <string.h>

#define LEFT_WIDTH 26 /* of the options; what is longer has a line of its own */

static void print_option(FILE *out, const struct option_row *row)
{
	char left[64];
	char letter[6] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->arg ? " " : "",
		 row->arg ? row->arg : "");
	if (strlen(left) <= LEFT_WIDTH)
		fprintf(out, "  %-*s  %s\n", LEFT_WIDTH, left, row->help);
	else
		fprintf(out, "  %s\n  %-*s  %s\n", left, LEFT_WIDTH, "", row->help);
}

static void print_options(FILE *out, const struct command *c, const char *title,
			  const struct option_set *set)
{
	if (!set->nr)
		return;
	fprintf(out, "\n%s\n", title);
	for (unsigned i = 0; i < set->nr; i++) {
		struct option_row row = set->rows[i];

		if (c->output_is_dir && row.mask == COMMON_OUTPUT) {
			row.arg = "DIR";
			row.help = "make the recording DIR";
		}
		if (option_taken(set, &row))
			print_option(out, &row);
	}
}

void print_help(FILE *out, const struct command *c)
{
	struct option_set own = {c->options, c->nr_options, 0, NULL};
	struct option_set common = {common_rows, nr_common_rows, c->common, NULL};

	fprintf(out, "sonde %s [OPTION...]%s%s\n", c->name, *c->operands ? " " : "", c->operands);
	fprintf(out, "%s\n\n%s", c->summary, c->about);
	print_options(out, c, "Options", &own);
	print_options(out, c, "Common options", &common);
	fprintf(out, "\nman sonde-%s says more.\n", c->name);
}

void print_overview(FILE *out)
{
	fprintf(out, "sonde COMMAND [OPTION...] [OPERAND...]\n"
		     "What really ran on every CPU, through all VMs and containers.\n\n"
		     "Commands\n");
	for (unsigned i = 0; i < nr_commands; i++)
		fprintf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "\nsonde COMMAND --help describes a command; sonde --version;\n"
		     "sonde --completion bash prints completions for the shell.\n"
		     "\n"
		     "First steps\n"
		     "  sonde analyze TRACES -o run.sonde    traces in, one history out\n"
		     "  sonde report run.sonde               who used the CPU, and steal time\n"
		     "  sonde timeline run.sonde --svg run.svg\n");
}
