/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a VM whose host's trace is gone: those that are "at least" so great are no greater. */
#include "sheet.h"

#include <stdio.h>
#include <string.h>

static const struct bounded {
	const char *table;
	const char *keys[4];
	const char *figures[4];
} bounded[] = {
	{"hypervisor", {"vm"}, {"guest", "hypervisor"}},
	{"exit_reason", {"vm", "by", "reason"}, {"total", "longest"}},
	{"vcpu_time", {"vcpu"}, {"steal", "inherited_steal", "total_steal"}},
};

static bool key_fits(const struct pair *p, enum sonde_column_type type, int64_t cut, int64_t whole)
{
	if (type == SONDE_COL_MACHINE)
		return machine_fits(p, cut, whole);
	return type == SONDE_COL_CPU ? cpu_fits(p, cut, whole) : cut == whole;
}

static bool row_fits(const struct pair *p, const struct bounded *b, const struct grid *cut,
		     size_t row, const struct grid *whole, size_t other)
{
	for (unsigned i = 0; b->keys[i]; i++) {
		int c = grid_column(cut, b->keys[i]);

		if (!key_fits(p, cut->of->columns[c].type, cell(cut, row, c).i,
			      cell(whole, other, c).i))
			return false;
	}
	return true;
}

static bool is_at_least(const struct pair *p, const struct grid *g, size_t row)
{
	const char *note = cell(g, row, grid_column(g, "note")).s;

	return !strncmp(note, "at least:", 9) || (p->lie == LIE_BOUNDS && *note);
}

static void check_figure(struct pair *p, const struct bounded *b, const char *figure,
			 const struct grid *cut, size_t row, const struct grid *whole,
			 int64_t slack)
{
	int c = grid_column(cut, figure);
	int64_t value = cell(cut, row, c).i, most = 0;
	bool is_there = false;
	char which[80];

	for (size_t i = 0; i < whole->nr; i++) {
		if (!row_fits(p, b, cut, row, whole, i))
			continue;
		is_there = true;
		most += cell(whole, i, c).i;
	}
	p->moments++;
	if (!is_there || value <= most + most / 20 + slack)
		return;
	snprintf(which, sizeof(which), "row %zu", row);
	say_wrong(p, b->table, which, 0, 0, figure, "at least %lld, not %lld", (long long)value,
		  (long long)most);
}

static void compare_bounded(struct pair *p, const struct bounded *b, int64_t from, int64_t to)
{
	struct grid cut = {0}, whole = {0};
	struct sonde_error err = {0};
	int64_t slack = 20 * slack_of(p, 0, p->root, from);

	if (grid_get(&cut, &p->cut, b->table, from, to, &err) ||
	    grid_get(&whole, &p->whole, b->table, time_in_whole(p, from), time_in_whole(p, to),
		     &err))
		say_wrong(p, b->table, "table", 0, 0, "failed", "%s", err.text);
	for (size_t row = 0; row < cut.nr && whole.of; row++) {
		for (unsigned i = 0; is_at_least(p, &cut, row) && b->figures[i]; i++)
			check_figure(p, b, b->figures[i], &cut, row, &whole, slack);
	}
	grid_release(&cut);
	grid_release(&whole);
}

void compare_bounds(struct pair *p)
{
	int64_t from = time_in_cut(p, sonde_history_begin(p->whole.history));
	int64_t to = time_in_cut(p, sonde_history_end(p->whole.history));

	if (from < sonde_history_begin(p->cut.history))
		from = sonde_history_begin(p->cut.history);
	if (to > sonde_history_end(p->cut.history))
		to = sonde_history_end(p->cut.history);
	for (size_t i = 0; i < sizeof(bounded) / sizeof(*bounded) && from < to; i++)
		compare_bounded(p, &bounded[i], from, to);
}
