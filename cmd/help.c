/* SPDX-License-Identifier: Apache-2.0 */
/* --help, made from the tables of commands and options. */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>

static void print_option(FILE *out, const struct option_row *row)
{
	char left[64];
	char letter[6] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->arg ? " " : "",
		 row->arg ? row->arg : "");
	fprintf(out, "  %-26s  %s\n", left, row->help);
}

static void print_options(FILE *out, const char *title, const struct option_set *set)
{
	if (!set->nr)
		return;
	fprintf(out, "\n%s\n", title);
	for (unsigned i = 0; i < set->nr; i++) {
		if (option_taken(set, &set->rows[i]))
			print_option(out, &set->rows[i]);
	}
}

void print_help(FILE *out, const struct command *c)
{
	struct option_set own = {c->options, c->nr_options, 0, NULL};
	struct option_set common = {common_rows, nr_common_rows, c->common, NULL};

	fprintf(out, "sonde %s [OPTION...]%s%s\n", c->name, *c->operands ? " " : "", c->operands);
	fprintf(out, "%s\n\n%s", c->summary, c->about);
	print_options(out, "Options", &own);
	print_options(out, "Common options", &common);
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
		     "  sonde report run.sonde               who used and who lost the CPU\n"
		     "  sonde timeline run.sonde --svg run.svg\n");
}
