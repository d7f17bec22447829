/* SPDX-License-Identifier: Apache-2.0 */
#include "less_specific.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/query.h"

static void *list_of(int64_t nr, size_t each_bytes)
{
	void *list = calloc((size_t)nr + 1, each_bytes);

	if (!list)
		abort();
	return list;
}

#define READ_ALL(side, rows, name)                                                                 \
	do {                                                                                       \
		(side)->nr_##rows = sonde_nr_##rows((side)->history);                              \
		(side)->rows = list_of((side)->nr_##rows, sizeof(*(side)->rows));                  \
		for (int64_t i = 0; i < (side)->nr_##rows; i++)                                    \
			sonde_##name##_get((side)->history, i, &(side)->rows[i]);                  \
	} while (0)

/* Those of @machine.  Table "tick" is not part of libsonde's interface. */
static void read_lines(struct side *s, int64_t machine)
{
	const struct history *h = s->history->file;
	int table = history_table(h, "tick");

	s->lines = list_of(table < 0 ? 0 : history_nr_rows(h, table), sizeof(*s->lines));
	for (int64_t i = 0; table >= 0 && i < history_nr_rows(h, table); i++) {
		if (history_cell(h, table, i, 0) != machine)
			continue;
		s->lines[s->nr_lines++] = (struct line){(uint64_t)history_cell(h, table, i, 1),
							history_cell(h, table, i, 2),
							(uint64_t)history_cell(h, table, i, 3)};
	}
}

static int64_t time_in(const struct side *to, const struct side *of, int64_t t)
{
	const struct line *c = of->lines, *w = to->lines;
	__int128 ticks;

	if (!of->nr_lines || !to->nr_lines)
		return t;
	for (int64_t i = 1; i < of->nr_lines && of->lines[i].at <= t; i++)
		c = &of->lines[i];
	if (!c->mult)
		return t;
	ticks = ((__int128)(t - c->at) << 32) / (__int128)c->mult + c->from;
	for (int64_t i = 1; i < to->nr_lines && to->lines[i].from <= ticks; i++)
		w = &to->lines[i];
	return w->at + (int64_t)(((ticks - w->from) * (__int128)w->mult) >> 32);
}

int64_t time_in_whole(const struct pair *p, int64_t t)
{
	return time_in(&p->whole, &p->cut, t);
}

int64_t time_in_cut(const struct pair *p, int64_t t)
{
	return time_in(&p->cut, &p->whole, t);
}

static int side_open(struct side *s, const char *file, const char *root)
{
	struct sonde_error err;
	char path[256];

	s->root = root;
	if (sonde_history_open(&s->history, file, &err)) {
		fprintf(stderr, "less_specific: %s: %s\n", file, err.text);
		return -1;
	}
	READ_ALL(s, machines, machine);
	READ_ALL(s, cpus, cpu);
	READ_ALL(s, threads, thread);
	READ_ALL(s, contexts, context);
	s->bounds = list_of(s->nr_machines, sizeof(*s->bounds));
	for (int64_t i = 0; i < s->nr_machines; i++) {
		snprintf(path, sizeof(path), "%s/clock_bound", s->machines[i].name);
		s->bounds[i] = sonde_attr_find(s->history, path);
	}
	return 0;
}

static void side_close(struct side *s)
{
	sonde_history_close(s->history);
	free(s->machines);
	free(s->cpus);
	free(s->threads);
	free(s->contexts);
	free(s->bounds);
	free(s->lines);
}

/* ---- which machine is which ---------------------------------------------------------------- */

static const char *behind(const char *path, const char *root)
{
	const char *at = strstr(path, root);

	return at ? at + strlen(root) : path;
}

static int64_t by_trace(const struct pair *p, const struct sonde_machine *m)
{
	const char *path = behind(m->trace_path, p->cut.root);

	for (int64_t i = 0; m->traced && i < p->whole.nr_machines; i++) {
		const struct sonde_machine *w = &p->whole.machines[i];

		if (w->traced && !strcmp(behind(w->trace_path, p->whole.root), path))
			return i;
	}
	return -1;
}

/* The CPU of the whole history that the same thread of the same machine runs, or the same control
 * block. */
static int64_t cpu_by_host(const struct pair *p, const struct sonde_cpu *cpu)
{
	int64_t parent = p->cut.machines[cpu->machine].parent;

	if (parent < 0 || p->machines[parent].row < 0 || p->machines[parent].within)
		return -1;
	for (int64_t i = 0; i < p->whole.nr_cpus; i++) {
		const struct sonde_cpu *w = &p->whole.cpus[i];

		if (p->whole.machines[w->machine].parent != p->machines[parent].row)
			continue;
		if ((cpu->host_tid > 0 && cpu->host_tid == w->host_tid) ||
		    (cpu->nested_id && cpu->nested_id == w->nested_id))
			return i;
	}
	return -1;
}

/* A machine without a trace is the one that its vCPUs' threads run; else some guest of its parent.
 */
static struct twin by_cpus(const struct pair *p, int64_t machine)
{
	int64_t parent = p->cut.machines[machine].parent;

	for (int64_t i = 0; i < p->cut.nr_cpus; i++) {
		int64_t cpu =
			p->cut.cpus[i].machine == machine ? cpu_by_host(p, &p->cut.cpus[i]) : -1;

		if (cpu >= 0)
			return (struct twin){p->whole.cpus[cpu].machine, false};
	}
	if (parent < 0)
		return (struct twin){-1, false};
	return (struct twin){p->machines[parent].row, true};
}

static int64_t find_cpu(const struct pair *p, int64_t row)
{
	const struct sonde_cpu *cpu = &p->cut.cpus[row];
	struct twin machine = p->machines[cpu->machine];
	int64_t host = cpu_by_host(p, cpu);

	if (host >= 0)
		return host;
	if (machine.row < 0 || machine.within || cpu->number < 0)
		return -1;
	return sonde_find_cpu(p->whole.history, (unsigned)machine.row, cpu->number);
}

/* Parents stand before their guests only by level. */
static void find_twins(struct pair *p)
{
	p->machines = list_of(p->cut.nr_machines, sizeof(*p->machines));
	p->cpus = list_of(p->cut.nr_cpus, sizeof(*p->cpus));
	for (int64_t i = 0; i < p->cut.nr_machines; i++)
		p->machines[i] = (struct twin){by_trace(p, &p->cut.machines[i]), false};
	for (unsigned level = 0; level < 16; level++) {
		for (int64_t i = 0; i < p->cut.nr_machines; i++) {
			if (p->cut.machines[i].level == level && p->machines[i].row < 0)
				p->machines[i] = by_cpus(p, i);
		}
	}
	for (int64_t i = 0; i < p->cut.nr_cpus; i++)
		p->cpus[i] = find_cpu(p, i);
}

static int64_t greatest_slack(const struct pair *p, int64_t machine)
{
	int64_t begin = sonde_history_begin(p->cut.history),
		end = sonde_history_end(p->cut.history);
	int64_t most = 0, whole = p->machines[machine].row;

	for (int i = 0; i < 32 && whole >= 0; i++) {
		int64_t slack = slack_of(p, machine, whole,
					 time_in_whole(p, begin + (end - begin) / 32 * i));

		most = slack > most ? slack : most;
	}
	/* Where a clock is not known, any moment of the history; more can only overflow. */
	return most < end - begin ? most : end - begin;
}

static bool note_serving(const struct sonde_interval *i, void *data)
{
	struct pair *p = data;
	const struct sonde_context *c =
		i->value && i->value <= p->cut.nr_contexts ? &p->cut.contexts[i->value - 1] : NULL;
	int64_t *since;

	if (!c || c->mode != SONDE_MODE_HYPERVISOR || c->thread < 0)
		return true;
	since = &p->serve_since[c->thread];
	if (*since > time_in_whole(p, i->begin))
		*since = time_in_whole(p, i->begin);
	return true;
}

/* A thread whose first VM exit is not seen yet is any thread. */
static void find_serving(struct pair *p)
{
	p->serve_since = list_of(p->cut.nr_threads, sizeof(*p->serve_since));
	for (int64_t i = 0; i < p->cut.nr_threads; i++)
		p->serve_since[i] = INT64_MAX;
	for (int64_t i = 0; i < p->cut.nr_cpus; i++) {
		uint32_t attr = sonde_attr_of_cpu(p->cut.history, i, "runs");

		if (attr != SONDE_NO_ATTR)
			sonde_interval_walk(p->cut.history, attr,
					    sonde_history_begin(p->cut.history),
					    sonde_history_end(p->cut.history), note_serving, p);
	}
}

/* The second history says that it leaves out the outermost machine of the first. */
static bool leaves_outermost_out(const struct pair *p)
{
	const char *name = behind(p->whole.machines[0].trace_path, p->whole.root);
	struct sonde_left_out l;

	for (int64_t i = 0; !sonde_left_out_get(p->cut.history, i, &l); i++) {
		if (!strcmp(behind(l.path, p->cut.root), name))
			return true;
	}
	return false;
}

/* It is there, and nothing is said of leaving it out. */
static bool has_outermost(const struct pair *p)
{
	const char *own = p->cut.machines[0].trace_path;
	const char *name = behind(p->whole.machines[0].trace_path, p->whole.root);
	char path[4096];

	if (leaves_outermost_out(p))
		return false;
	snprintf(path, sizeof(path), "%.*s%s", (int)(behind(own, p->cut.root) - own), own, name);
	return !access(path, F_OK);
}

static void find_root(struct pair *p)
{
	const struct twin *twin = p->machines;

	p->root = p->cut.nr_machines && !twin->within ? twin->row : -1;
	if (p->root < 0 && p->cut.nr_machines && leaves_outermost_out(p))
		return; /* another history's traces were given, too, and are what is analysed */
	if (p->root < 0)
		say_wrong(p, "outermost", "machine", 0, 0, "another", "none of the whole's");
	else if (p->root && has_outermost(p))
		say_wrong(p, "outermost", "machine", 0, 0, p->cut.machines[0].name, "%s",
			  p->whole.machines[0].name);
}

/* What is left of traces may not tell the counter's rate: with that of the whole history they are to
 * be analysed, then. */
static void compare_units(struct pair *p)
{
	uint64_t mult = p->whole.nr_lines ? p->whole.lines[0].mult : 0;

	if (sonde_history_ticks_are_ns(p->cut.history) !=
	    sonde_history_ticks_are_ns(p->whole.history))
		say_wrong(p, "unit", "time", 0, 0, "another", "%llu kHz",
			  mult ? (unsigned long long)((UINT64_C(1000000) << 32) / mult) : 0);
}

int pair_open(struct pair *p, char **files, char **roots)
{
	*p = (struct pair){0};
	if (side_open(&p->whole, files[0], roots[0]) || side_open(&p->cut, files[1], roots[1]))
		return -1;
	find_twins(p);
	find_root(p);
	read_lines(&p->cut, 0);
	read_lines(&p->whole, p->root);
	compare_units(p);
	p->slacks = list_of(p->cut.nr_machines, sizeof(*p->slacks));
	for (int64_t i = 0; i < p->cut.nr_machines; i++)
		p->slacks[i] = greatest_slack(p, i);
	find_serving(p);
	return 0;
}

void pair_close(struct pair *p)
{
	side_close(&p->whole);
	side_close(&p->cut);
	free(p->machines);
	free(p->cpus);
	free(p->slacks);
	free(p->serve_since);
}

void say_wrong(struct pair *p, const char *kind, const char *which, int64_t from, int64_t to,
	       const char *said, const char *fmt, ...)
{
	va_list args;

	p->wrong++;
	printf("wrong\t%s\t%s\t%lld\t%lld\t%s\t", kind, which, (long long)from, (long long)to,
	       said);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}
