/* SPDX-License-Identifier: Apache-2.0 */
/* sonde sql: any question about a history, asked in SQL. */
#include "cmd/common/command.h"
#include "cmd/common/signals.h"
#include "cmd/answers/sql_output.h"
#include "sql/ready.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUERY_MAX_BYTES (1 << 20)

struct sql_options {
	bool ready;
	bool schema;
};

#define FIELD(field) offsetof(struct sql_options, field)

static const struct option_row option_rows[] = {
	{'r', "ready", OPTION_FLAG, FIELD(ready), NULL, NULL,
	 "the query is the NAME of a ready one; without any, lists them", 0},
	{0, "schema", OPTION_FLAG, FIELD(schema), NULL, NULL,
	 "lists tables; of those that are named, the columns", 0},
};

/* ---- what there is to ask ------------------------------------------------------------------ */

static enum exit_code list_ready(const struct invocation *inv)
{
	struct table *t = table_new(&inv->screen);
	struct json j = {.out = inv->screen.out};

	table_column(t, "NAME", 0);
	table_column(t, "ANSWERS", TABLE_WRAP);
	if (is_json(inv))
		json_begin_array(&j, NULL);
	for (unsigned i = 0; i < nr_ready_queries; i++) {
		const struct ready_query *q = &ready_queries[i];
		int line = table_line(t, TABLE_NO_PARENT);

		table_cell(t, line, 0, q->name);
		table_cell(t, line, 1, q->question);
		if (is_json(inv)) {
			json_begin_object(&j, NULL);
			json_str(&j, "name", q->name);
			json_str(&j, "question", q->question);
			json_str(&j, "sql", q->text);
			json_end(&j);
		}
	}
	if (is_json(inv)) {
		json_end(&j);
		return EXIT_DONE;
	}
	return table_print(t) ? complain(inv, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

static bool is_named(const struct invocation *inv, const char *name)
{
	for (int i = 0; i < inv->nr_operands; i++) {
		if (!strcmp(inv->operands[i], name))
			return true;
	}
	return false;
}

static void schema_json(const struct invocation *inv, const struct sql_catalog *c)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	for (unsigned i = 0; i < c->nr_tables; i++) {
		const struct sql_table *t = &c->tables[i];

		if (inv->nr_operands && !is_named(inv, t->name))
			continue;
		json_begin_object(&j, t->name);
		json_str(&j, "help", t->help);
		json_begin_object(&j, "columns");
		for (unsigned n = 0; n < t->nr_columns; n++) {
			json_begin_object(&j, t->columns[n].name);
			json_str(&j, "type", sql_type_name(&t->columns[n]));
			json_bool(&j, "hidden", t->columns[n].flags & SQL_HIDDEN);
			json_str(&j, "help", t->columns[n].help);
			json_end(&j);
		}
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
}

static int print_columns(const struct invocation *inv, const struct sql_table *table)
{
	struct table *t = table_new(&inv->screen);

	table_column(t, "COLUMN", 0);
	table_column(t, "TYPE", 0);
	table_column(t, "MEANING", TABLE_WRAP);
	for (unsigned n = 0; n < table->nr_columns; n++) {
		const struct sql_column *c = &table->columns[n];
		int line = table_line(t, TABLE_NO_PARENT);
		char type[24];

		snprintf(type, sizeof(type), "%s%s", sql_type_name(c),
			 c->flags & SQL_HIDDEN ? ", hidden" : "");
		table_cell(t, line, 0, c->name);
		table_cell(t, line, 1, type);
		table_cell(t, line, 2, c->help);
	}
	screen_title(&inv->screen, table->name);
	fprintf(inv->screen.out, "%s\n", table->help);
	return table_print(t);
}

static int print_tables(const struct invocation *inv, const struct sql_catalog *c)
{
	struct table *t = table_new(&inv->screen);

	table_column(t, "TABLE", 0);
	table_column(t, "MEANING", TABLE_WRAP);
	for (unsigned i = 0; i < c->nr_tables; i++) {
		int line = table_line(t, TABLE_NO_PARENT);

		table_cell(t, line, 0, c->tables[i].name);
		table_cell(t, line, 1, c->tables[i].help);
	}
	return table_print(t);
}

static enum exit_code show_schema(const struct invocation *inv)
{
	struct sql_catalog *c;
	struct error err = {0};
	bool is_of_all = !inv->nr_operands;
	int ret = 0;

	if (sql_catalog_new(&c, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	for (int i = 0; i < inv->nr_operands && !ret; i++) {
		const struct sql_table *t = sql_catalog_table(c, inv->operands[i]);

		if (!t && !i && !access(inv->operands[i], F_OK)) {
			is_of_all = inv->nr_operands == 1;
			continue; /* the history: all have the same tables */
		}
		if (!t) {
			complain(inv, EXIT_USAGE,
				 "there is no table \"%s\"; sonde sql --schema "
				 "lists them",
				 inv->operands[i]);
			sql_catalog_put(c);
			return EXIT_USAGE;
		}
		if (!is_json(inv))
			ret = print_columns(inv, t);
	}
	if (is_json(inv))
		schema_json(inv, c);
	else if (is_of_all)
		ret = print_tables(inv, c);
	sql_catalog_put(c);
	return ret ? complain(inv, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

/* ---- asking -------------------------------------------------------------------------------- */

/* The query from stdin; owned by the caller, NULL: the user has been told why. */
static char *read_query(const struct invocation *inv)
{
	char *text = malloc(QUERY_MAX_BYTES + 1);
	size_t len = text ? fread(text, 1, QUERY_MAX_BYTES + 1, stdin) : 0;

	if (text && len <= QUERY_MAX_BYTES && !ferror(stdin)) {
		text[len] = '\0';
		return text;
	}
	free(text);
	complain(inv, EXIT_FAILED, "%s",
		 len > QUERY_MAX_BYTES ? "the query is longer than 1 MB" : "cannot read the query");
	return NULL;
}

/* The line of the query that the byte is in, and below it where. */
static void point_at(const char *text, int at)
{
	const char *line = text + at;
	int len, column;

	while (line > text && line[-1] != '\n')
		line--;
	len = (int)strcspn(line, "\n");
	column = (int)(text + at - line);
	if (len > 200 || column > len)
		return;
	fprintf(stderr, "  %.*s\n  %*s^\n", len, line, column, "");
}

static void tell_cost(const struct invocation *inv, const struct sql_history *history)
{
	complain(inv, EXIT_DONE,
		 "read %" PRIu64 " intervals of %" PRIu64 " attributes and %" PRIu64
		 " events; %" PRIu64 " analyses over %" PRIu64 " ns",
		 history->cost[COST_INTERVALS], history->cost[COST_ATTRIBUTES],
		 history->cost[COST_EVENTS], history->cost[COST_TABLES],
		 history->cost[COST_ANALYSED]);
}

static enum exit_code ask(const struct invocation *inv, struct sql_session *s, const char *text)
{
	struct sql_output output;
	struct sql_sink sink = sql_output_sink(&output, inv);
	struct error err = {0};
	int at;
	int ret = sql_session_query(s, text, &sink, &at, &err);
	int ended = sql_output_end(&output, !ret);

	if (inv->common.verbose)
		tell_cost(inv, sql_session_history(s));
	if (!ret && !output.nr_rows && sql_session_asked_of_schema(s))
		complain(inv, EXIT_DONE,
			 "SQLite's own list of tables is empty here; sonde sql --schema lists the "
			 "tables");
	if (ret == -EINTR)
		return complain(inv, EXIT_INTERRUPTED, "interrupted");
	if (ret == -EIO && ferror(inv->screen.out))
		return EXIT_FAILED; /* main tells why */
	if (!ret && !ended)
		return EXIT_DONE;
	complain(inv, EXIT_FAILED, "%s", err.code ? err.text : "out of memory");
	if (at >= 0)
		point_at(text, at);
	return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static bool go_on(void *data)
{
	(void)data;
	return !signals_interrupted();
}

static enum exit_code ask_run(const struct invocation *inv, struct sonde_history *history,
			      const char *text)
{
	struct sql_session *s;
	struct error err = {0};
	enum exit_code code;
	int64_t begin, end;

	if (!get_window(inv, history, &begin, &end)) {
		sonde_history_close(history);
		return EXIT_USAGE;
	}
	if (!inv->common.time)
		begin = end = 0;
	if (sql_session_open(&s, history, begin, end, go_on, NULL, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	signals_catch_interrupt();
	code = ask(inv, s, text);
	sql_session_close(s);
	return code;
}

/* The query is the last operand, the history the one before, if that is not left out. */
static enum exit_code run_sql(const struct invocation *inv)
{
	const struct sql_options *opt = inv->values;
	struct invocation file = *inv;
	const struct ready_query *ready;
	struct sonde_history *history;
	enum exit_code code;
	const char *query;
	char *read = NULL;

	if (opt->schema)
		return show_schema(inv);
	if (!inv->nr_operands && opt->ready)
		return list_ready(inv);
	if (!inv->nr_operands)
		return complain(inv, EXIT_USAGE,
				"a query is expected: sonde sql FILE \"select ...\"; "
				"--ready lists some, --schema what there is");
	query = inv->operands[--file.nr_operands];
	if (!opt->ready && !file.nr_operands && !access(query, F_OK))
		return complain(inv, EXIT_USAGE,
				"%s is a file: what is asked of it? sonde sql %s \"select ...\"; "
				"--ready lists some, --schema what there is",
				query, query);
	if (opt->ready) {
		ready = ready_find(query);
		if (!ready && inv->nr_operands == 2) { /* the other way round */
			ready = ready_find(inv->operands[0]);
			file.operands += ready != NULL;
		}
		if (!ready && !access(query, F_OK))
			return complain(inv, EXIT_USAGE,
					"%s is a file: what is asked of it? sonde sql %s --ready "
					"NAME; sonde sql --ready lists them",
					query, query);
		if (!ready)
			return complain(inv, EXIT_USAGE,
					"there is no ready query \"%s\"; sonde sql --ready lists "
					"them",
					query);
		query = ready->text;
	}
	code = open_input(&file, &history);
	if (code)
		return code;
	if (!strcmp(query, "-")) {
		query = read = read_query(inv);
		if (!read) {
			sonde_history_close(history);
			return EXIT_FAILED;
		}
	}
	code = ask_run(inv, history, query);
	free(read);
	return code;
}

const struct command sql_command = {
	.name = "sql",
	.summary = "any question about a history, asked in SQL",
	.operands = "[FILE] QUERY",
	.about =
		"Tables are those of sonde report, states, events, machines, threads, clocks, gaps\n"
		"and more.  The query is one SELECT; - reads it from stdin.  Nothing is written.\n",
	.common = COMMON_INPUT | COMMON_FORMAT_CSV | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct sql_options),
	.pages = true,
	.whole = true,
	.run = run_sql,
};
