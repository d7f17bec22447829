/* SPDX-License-Identifier: Apache-2.0 */
/* Every table that `sonde report`, SQL and the page show: see sheet.h. */
#include "sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the longest only so many are listed: shorter ones follow where some of them are missing. */
#define LISTED_MAX 1000

int grid_column(const struct grid *g, const char *name)
{
	return sonde_rows_column(g->rows, name);
}

int grid_get(struct grid *g, const struct side *side, const char *name, int64_t from, int64_t to,
	     struct sonde_error *err)
{
	int ret = sonde_rows_get(&g->rows, side->history, name, from, to, err);
	size_t columns, nr;

	if (ret)
		return ret;
	g->of = sonde_rows_table(g->rows);
	columns = g->of->nr_columns;
	nr = sonde_rows_nr(g->rows);
	g->cells = calloc(nr * columns + 1, sizeof(*g->cells));
	if (!g->cells)
		abort();
	for (size_t i = 0; i < nr * columns; i++)
		g->cells[i] = sonde_rows_cell(g->rows, i / columns, (unsigned)(i % columns));
	g->nr = nr;
	return 0;
}

void grid_release(struct grid *g)
{
	sonde_rows_free(g->rows);
	free(g->cells);
}

static int grid_get_all(struct grid *g, const struct side *side, const char *name,
			struct sonde_error *err)
{
	return grid_get(g, side, name, sonde_history_begin(side->history),
			sonde_history_end(side->history), err);
}

/* The greatest that clocks may have moved at all. */
static int64_t greatest_slack(const struct pair *p)
{
	int64_t most = 0;

	for (int64_t m = 0; m < p->cut.nr_machines; m++)
		most = p->slacks[m] > most ? p->slacks[m] : most;
	return most;
}

static void word_cell(const struct side *s, const struct sonde_column *c, union sonde_cell cell,
		      char *buf, size_t room)
{
	switch (c->type) {
	case SONDE_COL_STRING:
		snprintf(buf, room, "%s", cell.s);
		break;
	case SONDE_COL_MACHINE:
		snprintf(buf, room, "%s", cell.i < 0 ? "-" : s->machines[cell.i].name);
		break;
	case SONDE_COL_CPU:
		if (cell.i < 0 || sonde_cpu_label(s->history, cell.i, buf, room) < 0)
			snprintf(buf, room, "-");
		break;
	case SONDE_COL_THREAD:
		if (cell.i < 0 || sonde_thread_label(s->history, cell.i, buf, room) < 0)
			snprintf(buf, room, "-");
		break;
	default:
		snprintf(buf, room, "%lld", (long long)cell.i);
		break;
	}
}

void word_row(const struct pair *p, const struct sheet *s, size_t row, char *buf, size_t room)
{
	size_t len = 0;

	*buf = '\0';
	for (int c = 0; c < (int)s->of->nr_columns && len + 40 < room; c++) {
		char text[64];

		if (s->rules[c] != RULE_KEY && c != s->at && c != s->length)
			continue;
		word_cell(&p->cut, &s->of->columns[c], cell(&s->cut, row, c), text, sizeof(text));
		len += (size_t)snprintf(buf + len, room - len, "%s=%.30s ", s->of->columns[c].name,
					text);
	}
}

int64_t length_of(const struct sheet *s, const struct grid *g, size_t row)
{
	if (s->length < 0)
		return 0;
	if (s->doubt >= 0 && g == &s->cut)
		return cell(g, row, s->length).i - cell(g, row, s->doubt).i;
	if (s->of->columns[s->length].type == SONDE_COL_TIME)
		return cell(g, row, s->length).i - cell(g, row, s->at).i;
	return cell(g, row, s->length).i;
}

int64_t more_if(const struct pair *p, int64_t value)
{
	return p->lie == LIE_GREATER ? value + value / 4 : value;
}

/* A thread that is not known to be a vCPU's is told of as any other; else its vCPU is. */
static bool hides_vcpu(const struct pair *p, int64_t thread)
{
	if (thread < 0 || p->cut.threads[thread].vcpu >= 0)
		return false;
	for (int64_t i = 0; i < p->whole.nr_threads; i++) {
		if (p->whole.threads[i].vcpu >= 0 && thread_fits(p, thread, i))
			return true;
	}
	return false;
}

static bool is_told_of_vcpu(const struct pair *p, const struct sheet *s, size_t row)
{
	static const char *const of_threads[] = {"why", "delay", "thread_delay"};
	bool is_one = false;

	for (size_t i = 0; i < sizeof(of_threads) / sizeof(*of_threads); i++)
		is_one |= !strcmp(s->of->name, of_threads[i]);
	return is_one && s->thread >= 0 && hides_vcpu(p, cell(&s->cut, row, s->thread).i);
}

/* Where a VM's own trace is missing, a wake-up ends when the VM goes on: that is another measure,
 * and the end of a wait. */
static bool ends_a_wait(const struct sheet *s, size_t row)
{
	return !strncmp(s->of->name, "wakeup", 6) && s->thread >= 0 &&
	       cell(&s->cut, row, s->thread).i < 0;
}

static int64_t shortest_listed(const struct sheet *s)
{
	size_t nr = s->whole.nr;
	int64_t least = INT64_MAX;

	if (strcmp(s->of->name, "delay") || nr < LISTED_MAX)
		return -1;
	for (size_t i = 0; i < nr; i++)
		least = length_of(s, &s->whole, i) < least ? length_of(s, &s->whole, i) : least;
	return least;
}

/* Tables count alike, however long. */
static void count_rows(struct pair *p, size_t cut, size_t whole)
{
	if (!whole)
		return;
	p->rows += 1000;
	p->rows_kept += (int64_t)(1000 * (cut < whole ? cut : whole) / whole);
}

static int sheet_open(struct sheet *s, const struct pair *p, const struct sonde_table *a,
		      struct sonde_error *err)
{
	int ret;

	sheet_rules(s, a);
	ret = grid_get_all(&s->cut, &p->cut, a->name, err);
	if (!ret)
		ret = grid_get_all(&s->whole, &p->whole, a->name, err);
	if (!ret && !strncmp(a->name, "wakeup", 6)) {
		ret = grid_get_all(&s->waits, &p->whole, "wait_list", err);
		if (!ret)
			ret = grid_get_all(&s->wakeups, &p->whole, "wakeup_list", err);
	}
	if (!ret && !strcmp(a->name, "steal"))
		ret = grid_get_all(&s->preemptions, &p->whole, "preemption_list", err);
	if (!ret && !strcmp(a->name, "exit_cause"))
		ret = grid_get_all(&s->exits, &p->whole, "exits", err);
	if (ret)
		return ret;
	keys_init(s);
	if (s->at >= 0)
		lists_init(s);
	return 0;
}

static void sheet_close(struct sheet *s)
{
	keys_release(s);
	free(s->order);
	grid_release(&s->cut);
	grid_release(&s->whole);
	grid_release(&s->waits);
	grid_release(&s->wakeups);
	grid_release(&s->preemptions);
	grid_release(&s->exits);
	grid_release(&s->beside[0]);
	grid_release(&s->beside[1]);
}

static void compare_sheet(struct pair *p, struct sheet *s)
{
	int64_t shortest = shortest_listed(s);

	count_rows(p, s->cut.nr, s->whole.nr);
	check_total(p, s);
	for (size_t row = 0; row < s->cut.nr; row++) {
		if (is_told_of_vcpu(p, s, row) || length_of(s, &s->cut, row) <= shortest)
			continue;
		if (ends_a_wait(s, row))
			check_wait(p, s, row);
		else if (s->at >= 0)
			check_listed(p, s, row);
		else
			check_summed(p, s, row);
	}
}

void compare_tables(struct pair *p)
{
	int64_t slack = greatest_slack(p);
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	for (unsigned i = 0; i < nr; i++) {
		struct sonde_error err;
		struct sheet s;

		if (sheet_is_skipped(list[i]))
			continue;
		if (sheet_open(&s, p, list[i], &err)) {
			say_wrong(p, list[i]->name, "table", 0, 0, "failed", "%s", err.text);
		} else {
			s.slack = slack;
			compare_sheet(p, &s);
		}
		sheet_close(&s);
	}
}
