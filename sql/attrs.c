/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/attrs.h"
#include "query/exits.h"
#include "query/query.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what an attribute is of --------------------------------------------------------------- */

/* Kinds of what CPUs have, in the order of enum cpu_attr. */
static const char *const cpu_kinds[CPU_NR_ATTRS] = {
	[CPU_RUNS] = "runs",	   [CPU_STATE] = "vcpu_state", [CPU_ON] = "on",
	[CPU_TASK] = "task",	   [CPU_EXIT] = "exit",	       [CPU_WOKEN] = "woken",
	[CPU_WHY_OFF] = "why_off",
};

static const struct {
	const char *name, *kind;
} thread_kinds[] = {
	{"state", "thread_state"},
	{"cpu", "thread_cpu"},
	{"comm", "thread_comm"},
};

static int64_t row_of(const struct map *map, attr_t dir)
{
	const uint32_t *row = map_get(map, dir);

	return row ? (int64_t)*row : -1;
}

static void describe_cpu(const struct sql_history *r, const char *name, struct attr_info *a)
{
	struct sonde_cpu cpu;

	sonde_cpu_get(r->history, a->cpu, &cpu);
	a->machine = cpu.machine;
	if (!strcmp(name, "state"))
		a->kind = cpu_kinds[CPU_STATE];
}

static void describe_thread(const struct sql_history *r, attr_t dir, const char *name,
			    struct attr_info *a)
{
	const struct history *h = r->history->file;
	attr_t threads = history_parent(h, dir);

	if (strcmp(history_attr_name(h, threads), "threads"))
		return;
	a->machine = row_of(&r->machine_dirs, history_parent(h, threads));
	a->thread = a->machine < 0 ? -1 : strtoll(history_attr_name(h, dir), NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(thread_kinds) && a->thread >= 0; i++) {
		if (!strcmp(thread_kinds[i].name, name))
			a->kind = thread_kinds[i].kind;
	}
}

bool attr_describe(const struct sql_history *r, attr_t attr, struct attr_info *out)
{
	const struct history *h = r->history->file;
	const char *name;
	attr_t dir;

	if (attr == ATTR_ROOT || attr >= history_nr_attrs(h) ||
	    history_attr_type(h, attr) == ATTR_DIR)
		return false;
	name = history_attr_name(h, attr);
	dir = history_parent(h, attr);
	*out = (struct attr_info){attr, name, row_of(&r->machine_dirs, dir),
				  row_of(&r->cpu_dirs, dir), -1};
	if (out->cpu >= 0)
		describe_cpu(r, name, out);
	else if (out->machine < 0 && dir != ATTR_ROOT && history_parent(h, dir) != ATTR_ROOT)
		describe_thread(r, dir, name, out);
	return true;
}

static void put_path(struct text *t, const struct history *h, attr_t attr, unsigned depth)
{
	attr_t parent = history_parent(h, attr);

	if (parent != ATTR_ROOT && depth) {
		put_path(t, h, parent, depth - 1);
		text_char(t, '/');
	}
	text_str(t, history_attr_name(h, attr));
}

void attr_path(const struct sql_history *r, attr_t attr, char buf[static ATTR_PATH_MAX])
{
	struct text t = text_in(buf, ATTR_PATH_MAX);

	put_path(&t, r->history->file, attr, 16);
	text_end(&t, ATTR_PATH_MAX);
}

/* ---- walking ------------------------------------------------------------------------------- */

static bool wants_one(const struct sql_want *w)
{
	return w->low == w->high;
}

static bool is_cpu_kind(const char *kind)
{
	for (unsigned i = 0; kind && i < CPU_NR_ATTRS; i++) {
		if (!strcmp(cpu_kinds[i], kind))
			return true;
	}
	return false;
}

static attr_t thread_dir(const struct sql_history *r, int64_t thread)
{
	struct sonde_machine m;
	struct sonde_thread t;
	char path[200];

	if (sonde_thread_get(r->history, thread, &t) ||
	    sonde_machine_get(r->history, t.machine, &m))
		return ATTR_NONE;
	snprintf(path, sizeof(path), "%s/threads/%lld", m.name, (long long)thread);
	return sonde_attr_find(r->history, path);
}

static void walk_cpus(struct attr_walk *w, const struct sql_history *r)
{
	int64_t first = w->cpu_row->low > 0 ? w->cpu_row->low : 0;
	int64_t end = sonde_nr_cpus(r->history);

	if (w->cpu_row->high < end)
		end = w->cpu_row->high + 1;
	w->way = WALK_CPUS;
	w->next = first < end ? first * CPU_NR_ATTRS : 0;
	w->end = first < end ? end * CPU_NR_ATTRS : 0;
}

void attr_walk_start(struct attr_walk *w, const struct sql_cursor *c)
{
	const struct history *h = c->history->history->file;

	*w = (struct attr_walk){
		.path = sql_wanted(c, "path"),
		.attr = sql_wanted(c, "attr"),
		.machine = sql_wanted(c, "machine"),
		.kind = sql_wanted(c, "kind"),
		.cpu = sql_wanted(c, "cpu"),
		.machine_row = sql_wanted(c, "machine_row"),
		.cpu_row = sql_wanted(c, "cpu_row"),
		.thread_row = sql_wanted(c, "thread_row"),
		.way = WALK_ALL,
		.end = history_nr_attrs(h),
	};
	if (w->path->text || wants_one(w->attr)) {
		w->way = WALK_ONE;
		w->at = w->path->text ? sonde_attr_find(c->history->history, w->path->text)
				      : (attr_t)w->attr->low;
		if (!w->path->text && (w->attr->low < 0 || w->attr->low >= w->end))
			w->at = ATTR_NONE;
	} else if (wants_one(w->thread_row)) {
		attr_t dir = thread_dir(c->history, w->thread_row->low);

		w->way = WALK_THREAD;
		w->at = dir == ATTR_NONE ? ATTR_NONE : history_first_child(h, dir);
	} else if (w->cpu->text || wants_one(w->cpu_row) || is_cpu_kind(w->kind->text)) {
		walk_cpus(w, c->history);
	}
}

static attr_t walk_step(struct attr_walk *w, const struct sql_history *r)
{
	attr_t at = w->at;

	switch (w->way) {
	case WALK_ONE:
		w->at = ATTR_NONE;
		return at;
	case WALK_THREAD:
		if (at != ATTR_NONE)
			w->at = history_next_sibling(r->history->file, at);
		return at;
	case WALK_CPUS:
		while (w->next < w->end) {
			int64_t cpu = w->next / CPU_NR_ATTRS;
			unsigned kind = (unsigned)(w->next++ % CPU_NR_ATTRS);

			at = r->history->cpu_attrs[cpu][kind];
			if (at != ATTR_NONE)
				return at;
		}
		return ATTR_NONE;
	case WALK_ALL:
		if (w->next < w->end)
			return (attr_t)w->next++;
		return ATTR_NONE;
	}
	return ATTR_NONE;
}

static bool has_name(const struct sql_history *r, enum sonde_column_type type, int64_t row,
		     const struct sql_want *want)
{
	struct sonde_machine m;
	char label[300];

	if (!want->text)
		return true;
	if (row < 0)
		return false;
	if (type == SONDE_COL_MACHINE)
		return !sonde_machine_get(r->history, row, &m) && !strcmp(m.name, want->text);
	sonde_cpu_label(r->history, row, label, sizeof(label));
	return !strcmp(label, want->text);
}

static bool in_range(int64_t row, const struct sql_want *want)
{
	return row >= want->low && row <= want->high;
}

static bool is_wanted(const struct attr_walk *w, const struct sql_history *r,
		      const struct attr_info *a)
{
	char path[ATTR_PATH_MAX];

	if (!in_range(a->attr, w->attr) || !in_range(a->machine, w->machine_row) ||
	    !in_range(a->cpu, w->cpu_row) || !in_range(a->thread, w->thread_row) ||
	    !has_name(r, SONDE_COL_MACHINE, a->machine, w->machine) ||
	    !has_name(r, SONDE_COL_CPU, a->cpu, w->cpu) ||
	    (w->kind->text && strcmp(a->kind, w->kind->text)))
		return false;
	if (!w->path->glob)
		return true;
	attr_path(r, a->attr, path);
	return !sqlite3_strglob(w->path->glob, path);
}

bool attr_walk_next(struct attr_walk *w, const struct sql_history *r, struct attr_info *out)
{
	attr_t attr;

	do {
		attr = walk_step(w, r);
		if (attr == ATTR_NONE)
			return false;
	} while (!attr_describe(r, attr, out) || !is_wanted(w, r, out));
	return true;
}

/* ---- values -------------------------------------------------------------------------------- */

static bool is_kind(const struct attr_info *a, const char *kind)
{
	return !strcmp(a->kind, kind);
}

/* The number of a CPU is kept plus 1, as rows are. */
static bool counts_from_one(const struct sql_history *r, const struct attr_info *a)
{
	return history_attr_type(r->history->file, a->attr) == ATTR_ROW || is_kind(a, "on") ||
	       is_kind(a, "thread_cpu");
}

static bool is_known(const struct attr_info *a, uint32_t value)
{
	return is_kind(a, "clock_bound") ? value != UINT32_MAX : value != 0;
}

void attr_value(const struct sql_history *r, const struct attr_info *a, uint32_t value,
		sqlite3_context *out)
{
	if (is_known(a, value) && history_attr_type(r->history->file, a->attr) != ATTR_STRING)
		sqlite3_result_int64(out, (int64_t)value - counts_from_one(r, a));
}

static void exit_text(const struct sql_history *r, int64_t row, sqlite3_context *out)
{
	const struct exit_kind *kind = query_exit_kind(r->history, row);
	const char *name = kind ? exit_name(r->history, kind->isa, kind->reason) : "unknown";

	if (*name)
		sqlite3_result_text(out, name, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_int64(out, kind->reason);
}

/* The CPU with that number of the machine on whose CPUs it runs. */
static void cpu_text(const struct sql_history *r, const struct attr_info *a, uint32_t value,
		     char *text, size_t room)
{
	int64_t machine = a->machine;
	struct sonde_machine m;

	if (is_kind(a, "on"))
		machine = sonde_machine_get(r->history, a->machine, &m) ? -1 : m.parent;
	if (machine >= 0)
		sonde_cpu_label(r->history,
				sonde_find_cpu(r->history, (unsigned)machine, (int)value - 1), text,
				room);
}

void attr_text(struct sql_history *r, const struct attr_info *a, uint32_t value,
	       sqlite3_context *out)
{
	int64_t row = (int64_t)value - 1;
	struct sonde_wake wake;
	char text[400] = "";

	if (!is_known(a, value))
		return;
	if (is_kind(a, "runs") || is_kind(a, "waker"))
		sonde_context_label(r->history, row, text, sizeof(text));
	else if (is_kind(a, "vcpu_state"))
		snprintf(text, sizeof(text), "%s", query_vcpu_state_name(value));
	else if (is_kind(a, "thread_state"))
		snprintf(text, sizeof(text), "%s", query_thread_state_name(value));
	else if (is_kind(a, "why_off"))
		snprintf(text, sizeof(text), "%s", sonde_off_name((enum sonde_off)value));
	else if (is_kind(a, "task"))
		sonde_thread_label(r->history, row, text, sizeof(text));
	else if (is_kind(a, "woken") && !sonde_wake_get(r->history, row, &wake))
		snprintf(text, sizeof(text), "%s", sonde_cause_name(wake.cause));
	else if (is_kind(a, "on") || is_kind(a, "thread_cpu"))
		cpu_text(r, a, value, text, sizeof(text));
	else if (history_attr_type(r->history->file, a->attr) == ATTR_STRING)
		snprintf(text, sizeof(text), "%s", history_string(r->history->file, value));
	if (is_kind(a, "exit"))
		exit_text(r, row, out);
	else if (*text)
		sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

void attr_cell(struct sql_history *r, const struct attr_info *a, const struct sql_column *column,
	       sqlite3_context *out)
{
	char path[ATTR_PATH_MAX];

	switch ((enum attr_column)column->from) {
	case ATTR_PATH:
		attr_path(r, a->attr, path);
		sqlite3_result_text(out, path, -1, SQLITE_TRANSIENT);
		break;
	case ATTR_MACHINE:
		sql_answer(out, r, column, a->machine, NULL);
		break;
	case ATTR_CPU:
		sql_answer(out, r, column, a->cpu, NULL);
		break;
	case ATTR_THREAD:
		sql_answer(out, r, column, a->thread, NULL);
		break;
	case ATTR_KIND:
		sql_answer(out, r, column, 0, a->kind);
		break;
	default:
		sql_answer(out, r, column, a->attr, NULL);
		break;
	}
}
