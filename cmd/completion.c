/* SPDX-License-Identifier: Apache-2.0 */
/* Bash completion, made from the tables of commands and options. */
#include "cmd/common/command.h"
#include "cmd/answers/report_topics.h"
#include "sql/ready.h"

#include <stdio.h>

static void print_words(FILE *out, const struct option_set *set)
{
	for (unsigned i = 0; i < set->nr; i++) {
		if (!option_taken(set, &set->rows[i]))
			continue;
		fprintf(out, " --%s", set->rows[i].name);
		if (set->rows[i].letter)
			fprintf(out, " -%c", set->rows[i].letter);
	}
}

/* "report:--color) choices ;;" for each option with a fixed choice of values: commands differ in
 * theirs. */
static void print_choices(FILE *out, const struct command *c, const struct option_set *set)
{
	for (unsigned i = 0; i < set->nr; i++) {
		const struct option_row *row = &set->rows[i];

		if (!row->choices || !option_taken(set, row))
			continue;
		fprintf(out, "\t%s:--%s) words=\"", c->name, row->name);
		for (const char *c = row->choices; *c; c++)
			putc(*c == '|' ? ' ' : *c, out);
		fputs("\" ;;\n", out);
	}
}

/* The tables are known to the analyses alone. */
static void print_sections(FILE *out)
{
	const struct sonde_table *const *list;
	unsigned nr;

	list = sonde_tables(&nr);
	fputs("\treport:--table|report:-t|export:--table) words=\"help", out);
	for (unsigned i = 0; i < nr; i++)
		fprintf(out, " %s", list[i]->name);
	fputs("\" ;;\n", out);
}

static void print_ready(FILE *out)
{
	fputs("\tsql:--ready|sql:-r) words=\"", out);
	for (unsigned i = 0; i < nr_ready_queries; i++)
		fprintf(out, "%s%s", i ? " " : "", ready_queries[i].name);
	fputs("\" ;;\n", out);
}

/* What may stand where a file may. */
static void print_topics(FILE *out)
{
	fputs("reports=\"", out);
	for (unsigned i = 0; i < nr_topics; i++)
		fprintf(out, "%s%s", i ? " " : "", topics[i].name);
	fputs("\" ", out);
}

static void print_command(FILE *out, const struct command *c)
{
	struct option_set own = {c->options, c->nr_options, 0, NULL};
	struct option_set common = {common_rows, nr_common_rows, c->common, NULL};

	fprintf(out, "\t%s) %s", c->name, c->common & COMMON_INPUT ? "only='!*.sonde' " : "");
	if (c == &report_command)
		print_topics(out);
	fputs("words=\"", out);
	print_words(out, &own);
	print_words(out, &common);
	fputs("\" ;;\n", out);
}

void print_completion(FILE *out)
{
	fputs("# bash completion for sonde; made by: sonde --completion bash\n"
	      "_sonde() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= "
	      "only= reports=\n"
	      "\tlocal command=${COMP_WORDS[1]}\n"
	      "\t[[ ${COMP_WORDS[0]##*/} != sonde-agent ]] || command=agent\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase $command:$prev in\n",
	      out);
	for (unsigned i = 0; i < nr_commands; i++) {
		const struct command *c = commands[i];
		struct option_set own = {c->options, c->nr_options, 0, NULL};
		struct option_set common = {common_rows, nr_common_rows, c->common, NULL};

		print_choices(out, c, &own);
		print_choices(out, c, &common);
	}
	print_sections(out);
	print_ready(out);
	fputs("\tesac\n"
	      "\tif [[ -n $words ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tif ((COMP_CWORD == 1)) && [[ ${COMP_WORDS[0]##*/} != sonde-agent ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"",
	      out);
	for (unsigned i = 0; i < nr_commands; i++)
		fprintf(out, "%s ", commands[i]->name);
	fputs("--help --version --completion\" -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $command in\n",
	      out);
	for (unsigned i = 0; i < nr_commands; i++)
		print_command(out, commands[i]);
	fputs("\tesac\n"
	      "\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\telif [[ -n $only && $prev != -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$reports\" -- \"$cur\"; "
	      "compgen -f -X \"$only\" -- \"$cur\"; compgen -d -- \"$cur\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _sonde sonde sonde-agent\n",
	      out);
}
