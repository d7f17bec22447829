/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a history says, for the tests in this folder, straight from history/, so that an error in
 * report/ or cmd/ cannot hide one in the model (or the other way round).
 *
 *	ask_history FILE state    reads lines "CPU TIME" and prints for each what that CPU of L0 ran:
 *	                          begin end machine cpu tid comm mode
 *	ask_history FILE bounds   reads lines "MACHINE TIME", prints the error bound of its clock, or -1
 *	ask_history FILE sums     prints per CPU of L0: name, time in each mode, end - begin
 *	ask_history FILE tables   prints all tables: "table NAME COLUMN...", then its rows
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/history.h"
#include "model/context.h"

struct columns {
	int table;
	const struct column *list;
	unsigned nr;
};

static void die(const char *what)
{
	fprintf(stderr, "ask_history: %s\n", what);
	exit(1);
}

static struct columns columns_of(const struct history *h, const char *table)
{
	struct columns c = {.table = history_table(h, table)};

	if (c.table < 0)
		die(table);
	c.list = history_table_columns(h, c.table, &c.nr);
	return c;
}

static int64_t cell(const struct history *h, const struct columns *c, int64_t row, const char *name)
{
	for (unsigned i = 0; i < c->nr; i++) {
		if (!strcmp(c->list[i].name, name))
			return history_cell(h, c->table, row, i);
	}
	die(name);
	return -1;
}

static const char *text(const struct history *h, const struct columns *c, int64_t row,
			const char *name)
{
	const char *s = history_string(h, (uint32_t)cell(h, c, row, name));

	return s && *s ? s : "-";
}

static attr_t attr_of(const struct history *h, const char *fmt, const char *machine, int cpu)
{
	char path[256];

	snprintf(path, sizeof(path), fmt, machine, cpu);
	return history_find(h, path);
}

static int64_t bound_at(struct history *h, const char *machine, ns_t t)
{
	attr_t attr = attr_of(h, "%s/clock_bound", machine, 0);
	struct interval i;

	if (attr == ATTR_NONE || history_at(h, attr, t, &i))
		return -1;
	return i.value;
}

static void print_state(struct history *h, const char *l0, int cpu, ns_t t)
{
	struct columns contexts = columns_of(h, "context"), threads = columns_of(h, "thread");
	struct columns machines = columns_of(h, "machine");
	attr_t attr = attr_of(h, "%s/cpu%d/runs", l0, cpu);
	struct interval i;
	int64_t row, machine, thread;
	const char *name;

	if (attr == ATTR_NONE || history_at(h, attr, t, &i) || !i.value) {
		puts("0\t0\t-\t-1\t-1\t-\t0");
		return;
	}
	row = (int64_t)i.value - 1;
	machine = cell(h, &contexts, row, "machine");
	thread = cell(h, &contexts, row, "thread");
	name = machine < 0 ? "-" : text(h, &machines, machine, "name");
	printf("%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64 "\n", i.begin,
	       i.end, name, cell(h, &contexts, row, "cpu"),
	       thread < 0 ? -1 : cell(h, &threads, thread, "tid"),
	       thread < 0 ? "-" : text(h, &threads, thread, "comm"),
	       cell(h, &contexts, row, "mode"));
}

static void print_table(const struct history *h, int table)
{
	unsigned nr;
	const struct column *columns = history_table_columns(h, table, &nr);

	printf("table\t%s", history_table_name(h, table));
	for (unsigned i = 0; i < nr; i++)
		printf("\t%s", columns[i].name);
	putchar('\n');
	for (int64_t row = 0; row < history_nr_rows(h, table); row++) {
		for (unsigned i = 0; i < nr; i++) {
			int64_t value = history_cell(h, table, row, i);

			if (columns[i].type == COL_STRING)
				printf("\t%s", history_string(h, (uint32_t)value));
			else
				printf("\t%" PRId64, value);
		}
		putchar('\n');
	}
}

static void print_sums(struct history *h, const char *l0)
{
	struct columns contexts = columns_of(h, "context");
	attr_t attr;

	for (int cpu = 0; (attr = attr_of(h, "%s/cpu%d/runs", l0, cpu)) != ATTR_NONE; cpu++) {
		int64_t sums[NR_MODES] = {0};
		struct value_time *list;
		unsigned nr;

		if (history_sum(h, attr, history_begin(h), history_end(h), &list, &nr))
			die("history_sum");
		for (unsigned i = 0; i < nr; i++) {
			int64_t mode = list[i].value ? cell(h, &contexts, list[i].value - 1, "mode")
						     : MODE_UNKNOWN;

			sums[mode >= 0 && mode < NR_MODES ? mode : MODE_UNKNOWN] += list[i].time_ns;
		}
		free(list);
		printf("cpu%d", cpu);
		for (int mode = 0; mode < NR_MODES; mode++)
			printf("\t%" PRId64, sums[mode]);
		printf("\t%" PRId64 "\n", history_end(h) - history_begin(h));
	}
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct history *h;
	struct columns machines;
	char machine[128];
	const char *l0;
	int64_t t;
	int cpu;

	if (argc != 3)
		die("usage: ask_history FILE state|bounds|sums|tables");
	if (history_open(&h, argv[1], &err))
		die(err.text);
	machines = columns_of(h, "machine");
	l0 = text(h, &machines, 0, "name");
	if (!strcmp(argv[2], "tables"))
		for (unsigned i = 0; i < history_nr_tables(h); i++)
			print_table(h, (int)i);
	else if (!strcmp(argv[2], "sums"))
		print_sums(h, l0);
	else if (!strcmp(argv[2], "bounds"))
		while (scanf("%127s %" SCNd64, machine, &t) == 2)
			printf("%" PRId64 "\n", bound_at(h, machine, t));
	else
		while (scanf("%d %" SCNd64, &cpu, &t) == 2)
			print_state(h, l0, cpu, t);
	history_close(h);
	return 0;
}
