/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a row of the second history is about is what a row of the first one is about. */
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_MAX (UINT64_C(1) << 24) /* pairs of values of a column whose answers are kept */

static bool modes_fit(int64_t cut, int64_t whole)
{
	switch (cut) {
	case SONDE_MODE_UNKNOWN:
	case SONDE_MODE_GUEST:
		return true;
	case SONDE_MODE_TASK:
		return whole == SONDE_MODE_TASK || whole == SONDE_MODE_USER ||
		       whole == SONDE_MODE_SYSCALL || whole == SONDE_MODE_KERNEL ||
		       whole == SONDE_MODE_HYPERVISOR;
	case SONDE_MODE_KERNEL:
		return whole == SONDE_MODE_KERNEL || whole == SONDE_MODE_SYSCALL;
	default:
		return cut == whole;
	}
}

/* Without a guest's trace its kernel's phases are one, until its first process was seen to run,
 * which is after it was executed. */
static bool phases_fit(const char *cut, const char *whole)
{
	const char *followed = strstr(cut, ", and what followed");

	if (followed && !strncmp(cut, whole, (size_t)(followed - cut)))
		return true;
	return !strncmp(cut, "kernel", 6) && !strchr(cut, ':') &&
	       (!strncmp(whole, "kernel", 6) || !strncmp(whole, "user space", 10));
}

/* A gap may hide the begin of a level, and the first program: then modules' initcalls may follow. */
static bool levels_fit(const char *cut, const char *whole)
{
	static const char *const levels[] = {"console",	 "early", "pure",   "core",
					     "postcore", "arch",  "subsys", "fs",
					     "device",	 "late",  "module"};
	const char *later = strstr(cut, " or later");
	bool has_begun = false;

	for (size_t i = 0; later && i < sizeof(levels) / sizeof(*levels); i++) {
		has_begun |= !strncmp(cut, levels[i], (size_t)(later - cut));
		if (has_begun && !strncmp(whole, levels[i], strlen(levels[i])))
			return true;
	}
	return false;
}

/* Of a disk or a card: not known which. */
bool causes_fit(const char *cut, const char *whole)
{
	size_t len = strlen(cut), of_whole = strlen(whole);

	/* A device's number without the name of its interrupt; or only that it is a disk's. */
	if (of_whole > len && whole[of_whole - len - 1] == ' ' &&
	    !strcmp(whole + of_whole - len, cut))
		return true;
	if (len >= 4 && !strcmp(cut + len - 4, "disk") && !strncmp(cut, whole, len - 4) &&
	    strncmp(whole, "network", 7) && strchr(whole, ':'))
		return true;
	return text_fits(cut, whole) || phases_fit(cut, whole) || levels_fit(cut, whole) ||
	       (!strcmp(cut, "device") && (!strcmp(whole, "disk") || !strcmp(whole, "network")));
}

/* A thread whose process is not known is one of that process. */
static bool is_thread_of(const struct pair *p, const struct sheet *s, size_t cut, size_t whole)
{
	int64_t row = cell(&s->cut, cut, s->thread).i;

	for (int64_t i = 0; row >= 0 && i < p->whole.nr_threads; i++) {
		if (thread_fits(p, row, i) &&
		    p->whole.threads[i].pid == cell(&s->whole, whole, s->pid).i)
			return true;
	}
	return false;
}

/* Nothing says when something of it was: any of its threads may have run. */
static bool has_no_clock(const struct pair *p, int64_t machine)
{
	return machine >= 0 && p->slacks[machine] >= sonde_history_end(p->cut.history) -
							     sonde_history_begin(p->cut.history);
}

static bool threads_fit(const struct pair *p, int64_t cut, int64_t whole)
{
	const struct sonde_thread *c = cut < 0 ? NULL : &p->cut.threads[cut];

	if (thread_fits(p, cut, whole) || c->tid < 0)
		return true;
	return whole >= 0 && machine_fits(p, c->machine, p->whole.threads[whole].machine) &&
	       has_no_clock(p, c->machine);
}

static int64_t machine_named(const struct side *s, const char *name)
{
	for (int64_t i = 0; i < s->nr_machines; i++) {
		if (!strcmp(s->machines[i].name, name))
			return i;
	}
	return -1;
}

static bool cells_fit(const struct pair *p, const struct sonde_column *c, union sonde_cell cut,
		      union sonde_cell whole)
{
	if (c->type == SONDE_COL_STRING && !strcmp(c->name, "vm"))
		return machine_fits(p, machine_named(&p->cut, cut.s),
				    machine_named(&p->whole, whole.s));
	switch (c->type) {
	case SONDE_COL_MACHINE:
		return machine_fits(p, cut.i, whole.i) ||
		       (cut.i >= 0 && p->machines[cut.i].row < 0);
	case SONDE_COL_CPU:
		return cpu_fits(p, cut.i, whole.i);
	case SONDE_COL_THREAD:
		/* Who woke it is not told of a wait whose end says more. */
		if (!strcmp(c->name, "waker") && whole.i < 0)
			return true;
		return threads_fit(p, cut.i, whole.i);
	case SONDE_COL_PID_NS:
		return namespace_fits(p, cut.i, whole.i);
	case SONDE_COL_MODE:
		return modes_fit(cut.i, whole.i);
	case SONDE_COL_STRING:
		return causes_fit(cut.s, whole.s);
	default:
		return cut.i < 0 || cut.i == whole.i;
	}
}

/* A machine of which it is not known what runs in it stands for all in it; and what it does is not
 * known where its clock is not. */
static bool is_wide(const struct pair *p, const struct sheet *s, size_t cut, size_t whole,
		    int column)
{
	int64_t mode, culprit;

	if (s->culprit_machine < 0 || (column != s->mode && column != s->culprit_machine))
		return false;
	culprit = cell(&s->cut, cut, s->culprit_machine).i;
	if (column == s->mode)
		return has_no_clock(p, culprit);
	mode = s->mode < 0 ? -1 : cell(&s->cut, cut, s->mode).i;
	return (mode == SONDE_MODE_UNKNOWN || mode == SONDE_MODE_GUEST) &&
	       machine_holds(p, culprit, cell(&s->whole, whole, column).i);
}

/* The whole history does not know that one. */
static bool is_not_known(const struct sonde_column *c, union sonde_cell whole)
{
	return (c->type == SONDE_COL_MACHINE || c->type == SONDE_COL_CPU ||
		c->type == SONDE_COL_THREAD) &&
	       whole.i < 0;
}

/* Not known of the interrupt that ended a wait: which one it was.  What its VM's own trace says of
 * the wait is told instead of it; where only the VM's host is left, the interrupt is. */
static bool is_of_interrupt(const struct sonde_column *c, union sonde_cell whole)
{
	return (!strcmp(c->name, "vector") && whole.i < 0) ||
	       (!strcmp(c->name, "irq") && !*whole.s);
}

static bool key_fits(const struct pair *p, struct sheet *s, size_t cut, size_t whole, int column)
{
	const struct sonde_column *c = &s->of->columns[column];
	struct fits *f = &s->fits[column];
	signed char *known = NULL;
	bool fits;

	if (f->cut) {
		known = &f->known[f->cut[cut] * f->nr_whole + f->whole[whole]];
		if (*known >= 0)
			return *known;
	}
	fits = cells_fit(p, c, cell(&s->cut, cut, column), cell(&s->whole, whole, column));
	if (known)
		*known = fits;
	return fits;
}

unsigned keys_fit(const struct pair *p, struct sheet *s, size_t cut, size_t whole, unsigned asked)
{
	for (int c = 0; c < (int)s->of->nr_columns && asked; c++) {
		const struct sonde_column *column = &s->of->columns[c];
		unsigned spared = 0;

		if (s->rules[c] != RULE_KEY || key_fits(p, s, cut, whole, c) ||
		    is_wide(p, s, cut, whole, c))
			continue;
		if (column->type == SONDE_COL_THREAD) {
			if (s->is_process_time && is_thread_of(p, s, cut, whole))
				continue;
			spared |= FIT_THREADS;
		}
		if (is_not_known(column, cell(&s->whole, whole, c)) ||
		    (is_of_interrupt(column, cell(&s->whole, whole, c)) &&
		     is_seen_from_outside(p, s, cut)))
			spared |= FIT_MORE;
		asked &= spared;
	}
	return asked;
}

/* ---- each pair of values once ---------------------------------------------------------------- */

struct valued {
	const struct sonde_column *column;
	union sonde_cell cell;
	uint32_t *number;
};

static int by_value(const void *a, const void *b)
{
	const struct valued *x = a, *y = b;

	if (x->column->type == SONDE_COL_STRING)
		return strcmp(x->cell.s, y->cell.s);
	return (x->cell.i > y->cell.i) - (x->cell.i < y->cell.i);
}

/* Numbers the values of a column, equal ones alike; how many there are. */
static size_t number_values(const struct grid *g, int column, uint32_t *numbers)
{
	struct valued *all = calloc(g->nr + 1, sizeof(*all));
	size_t nr = 0;

	if (!all)
		abort();
	for (size_t i = 0; i < g->nr; i++)
		all[i] = (struct valued){&g->of->columns[column], cell(g, i, column), &numbers[i]};
	qsort(all, g->nr, sizeof(*all), by_value);
	for (size_t i = 0; i < g->nr; i++) {
		nr += i && by_value(&all[i - 1], &all[i]);
		*all[i].number = (uint32_t)nr;
	}
	free(all);
	return nr + 1;
}

void keys_init(struct sheet *s)
{
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		struct fits *f = &s->fits[c];
		size_t nr;

		if (s->rules[c] != RULE_KEY)
			continue;
		f->cut = calloc(s->cut.nr + 1, sizeof(*f->cut));
		f->whole = calloc(s->whole.nr + 1, sizeof(*f->whole));
		if (!f->cut || !f->whole)
			abort();
		nr = number_values(&s->cut, c, f->cut);
		f->nr_whole = number_values(&s->whole, c, f->whole);
		if (nr * f->nr_whole <= VALUES_MAX && (f->known = malloc(nr * f->nr_whole))) {
			memset(f->known, -1, nr * f->nr_whole);
			continue;
		}
		free(f->cut);
		free(f->whole);
		*f = (struct fits){0};
	}
}

void keys_release(struct sheet *s)
{
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		free(s->fits[c].cut);
		free(s->fits[c].whole);
		free(s->fits[c].known);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row that says less than others may stand for several of these, one after the other. */
bool is_less_specific(const struct sheet *s, size_t row)
{
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		union sonde_cell value = cell(&s->cut, row, c);

		if (s->rules[c] != RULE_KEY)
			continue;
		switch (s->of->columns[c].type) {
		case SONDE_COL_STRING:
			if (text_fits(value.s, "any") || !strcmp(value.s, "device") ||
			    (!strcmp(s->of->columns[c].name, "stage") && !strchr(value.s, ':')))
				return true;
			break;
		case SONDE_COL_MODE:
			if (value.i == SONDE_MODE_UNKNOWN || value.i == SONDE_MODE_GUEST ||
			    value.i == SONDE_MODE_TASK || value.i == SONDE_MODE_KERNEL)
				return true;
			break;
		default:
			if (value.i < 0)
				return true;
			break;
		}
	}
	return false;
}

bool same_keys_as(const struct sheet *s, const struct grid *g, size_t a, size_t b)
{
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		union sonde_cell one = cell(g, a, c);
		union sonde_cell other = cell(&s->cut, b, c);

		if (s->rules[c] == RULE_KEY &&
		    (s->of->columns[c].type == SONDE_COL_STRING ? strcmp(one.s, other.s) != 0
								: one.i != other.i))
			return false;
	}
	return true;
}

bool same_keys(const struct sheet *s, size_t a, size_t b)
{
	return same_keys_as(s, &s->cut, a, b);
}

int64_t machine_of_key(const struct pair *p, const struct sheet *s, size_t row, int column)
{
	int64_t value = cell(&s->cut, row, column).i;

	if (s->rules[column] != RULE_KEY || value < 0)
		return -1;
	switch (s->of->columns[column].type) {
	case SONDE_COL_MACHINE:
		return value;
	case SONDE_COL_CPU:
		return p->cut.cpus[value].machine;
	case SONDE_COL_THREAD:
		return p->cut.threads[value].machine;
	default:
		return -1;
	}
}
