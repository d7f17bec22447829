/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every table that `sonde report`, SQL and the page show.  Its columns are
 *
 *	keys	  what a row is about: equal, or less specific (order.c)
 *	sums	  times and counts: at most what all rows of the whole run together have that the
 *row's keys fit, and what clocks may have moved.  What is missing is unknown, or lost.  Of a
 *"total" that holds unknown time, or a guest's of which nothing is known, the rest of it: that time
 *may be another row's extremes  the longest of something: at most that of one of these rows moments
 *of lists: the row's time lies in that of one row of the whole run that its keys fit
 *
 * (Where the whole run itself knows less, for its traces contradict each other, the damaged one may
 * know more: that is counted.)
 *
 * and such of which less evidence tells nothing certain: means, shares, the unknown and less
 *specific columns themselves, sentences that give evidence, names (which may be older ones).  A
 *trace may show a gap in another: without it, the cut run says there what the whole one does not.
 *That is counted, up to the gap's length.
 */
#include "less_specific.h"

#include <sonde/facts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rule { RULE_NONE, RULE_KEY, RULE_SUM, RULE_EXTREME, RULE_PART };

/* Tables in which each row is something that happened: when, and how long; and of what it is a
 * part. */
static const struct {
	const char *name, *at, *length, *whole_at, *whole_length;
} lists[] = {
	{"preemption_list", "at", "length", "preemption_begin", "preemption_length"},
	{"wait_list", "at", "until", NULL, NULL},
	{"wakeup_list", "at", "total", NULL, NULL},
	{"wakeup_awake_list", "at", "total", NULL, NULL},
	{"io_list", "at", "total", NULL, NULL},
	{"mark", "at", "length", NULL, NULL},
	{"initcall", "at", "length", NULL, NULL},
	{"delay", "begin", "end", NULL, NULL},
	{"boot", "begin", "length", NULL, NULL},
	{"shutdown", "begin", "length", NULL, NULL},
};

/* Not compared: what tells of the input, of which a cut has more to tell; shares of what is known
 * (vms), whose lengths other tables have; and the steps of the three slowest requests, which are
 * others where these are cut (io_list has all). */
static const char *const skipped[] = {"loss", "problem", "left_out", "io_step", "vms"};

static const char *const no_rule[] = {
	"share",	"mean",	       "median",     "p99",	     "min",	     "unknown",
	"task",		"guest",       "kernel",     "text",	     "evidence",     "note",
	"missing",	"waits_for",   "lost_share", "level",	     "per_thousand", "undivided",
	"wait_unknown", "wait_device", "id",	     "request",	     "doubt",	     "follow",
	"until",	"max_at",      "longest_at", "culprit_time", "result",	     "comm",
	/* why, delay: the greatest of the causes, which is another one where that is not known */
	"culprit_machine of why",
	"culprit_cpu of why",
	"culprit of why",
	"mode of why",
	"cause of why",
	"share of why",
	"begin of why",
	"end of why",
	"count of why",
	"culprit_machine of delay",
	"culprit_cpu of delay",
	"culprit of delay",
	"mode of delay",
	"cause of delay",
	"count of delay",
	/* clock: the fewer constraints, the coarser is what is made of them */
	"bound of clock",
	"method of clock",
	"pieces of clock",
	"violations of clock",
	"worst_violation of clock",
	"rate_ppb of clock",
	/* steal: between other readings of the guest's own count */
	"guest of steal",
	"unit of steal",
	"length of steal",
};

/* Of lists: what is known of the row beside its keys and its length. */
static const char *const parts[] = {"depth", "bytes", "sector", "polled"};

static const char *const int_keys[] = {"reason", "pid", "vector", "cpu"};

static bool is_in(const char *const *list, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(list[i], name))
			return true;
	}
	return false;
}
#define IS_IN(list, name) is_in(list, sizeof(list) / sizeof(*(list)), name)

/* What the columns of one table mean here. */
struct sheet {
	const struct sonde_analysis *of;
	enum rule rules[40];
	int at, length; /* of lists; else -1 */
	int whole_at, whole_length;
	struct sonde_facts *cut, *whole;
	struct sonde_facts *waits, *wakeups; /* of the whole run, where wake-ups are compared */
	int64_t gaps; /* of the whole run, which the cut one does not see */
	struct listed {
		int64_t at;
		size_t row;
	} * order;	 /* owned: of lists, rows of the whole run by time */
	int64_t longest; /* of these */
};

/* Lists of which each row tells how a time is divided. */
static bool has_parts(const struct sonde_analysis *a)
{
	return strstr(a->name, "_list") && strncmp(a->name, "preemption", 10) != 0;
}

/* How things spread.  Of what less is seen takes less time: so many took so long or longer. */
static bool is_spread(const struct sonde_analysis *a)
{
	return !strcmp(a->name, "wakeup_histogram") || !strcmp(a->name, "io_histogram");
}

static enum rule rule_of(const struct sonde_analysis *a, const struct sonde_column *c)
{
	bool histogram = strstr(a->name, "histogram");
	bool means = !strcmp(a->name, "io") || !strncmp(a->name, "wakeup", 6);
	char here[80];

	snprintf(here, sizeof(here), "%s of %s", c->name, a->name);
	if (IS_IN(no_rule, c->name) || IS_IN(no_rule, here) || c->type == SONDE_COL_TIME ||
	    c->type == SONDE_COL_PPM)
		return RULE_NONE;
	if (has_parts(a) && (c->type == SONDE_COL_NS || IS_IN(parts, c->name)))
		return RULE_PART;
	if (!strcmp(c->name, "depth"))
		return RULE_EXTREME;
	/* An unknown stretch makes two pieces of one. */
	if (!strcmp(c->name, "count") &&
	    (!strncmp(a->name, "preemption", 10) || !strcmp(a->name, "thread_delay")))
		return RULE_NONE;
	if (c->type == SONDE_COL_NS || c->type == SONDE_COL_INT || c->type == SONDE_COL_SIGNED) {
		if (is_spread(a) && c->type == SONDE_COL_NS)
			return RULE_NONE;
		if (IS_IN(int_keys, c->name) ||
		    (histogram && (!strcmp(c->name, "from") || !strcmp(c->name, "to"))))
			return RULE_KEY;
		if (means && c->type == SONDE_COL_NS && strcmp(c->name, "longest"))
			return RULE_NONE;
		return strcmp(c->name, "longest") && strcmp(c->name, "max") ? RULE_SUM
									    : RULE_EXTREME;
	}
	return RULE_KEY;
}

static int column_of(const struct sonde_analysis *a, const char *name)
{
	for (unsigned c = 0; name && c < a->nr_columns; c++) {
		if (!strcmp(a->columns[c].name, name))
			return (int)c;
	}
	return -1;
}

static void sheet_init(struct sheet *s, const struct sonde_analysis *a)
{
	*s = (struct sheet){.of = a, .at = -1, .length = -1, .whole_at = -1, .whole_length = -1};
	for (unsigned i = 0; i < a->nr_columns && i < 40; i++)
		s->rules[i] = rule_of(a, &a->columns[i]);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].name, a->name))
			continue;
		s->at = column_of(a, lists[i].at);
		s->length = column_of(a, lists[i].length);
		s->whole_at = column_of(a, lists[i].whole_at);
		s->whole_length = column_of(a, lists[i].whole_length);
	}
}

static bool modes_fit(int64_t cut, int64_t whole)
{
	if (whole == SONDE_MODE_TASK)
		return cut != SONDE_MODE_IDLE && cut != SONDE_MODE_IRQ && cut != SONDE_MODE_SOFTIRQ;
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

/* Without a guest's trace its kernel's phases are one, until its first process was seen to run, which is
 * after it was executed. */
static bool phases_fit(const char *cut, const char *whole)
{
	const char *followed = strstr(cut, ", and what followed");

	if (followed && !strncmp(cut, whole, (size_t)(followed - cut)))
		return true;
	return !strncmp(cut, "kernel", 6) && !strchr(cut, ':') &&
	       (!strncmp(whole, "kernel", 6) || !strncmp(whole, "user space", 10));
}

/* Of a disk or a card: not known which. */
static bool causes_fit(const char *cut, const char *whole)
{
	size_t len = strlen(cut), of_whole = strlen(whole);

	/* A device's number without the name of its interrupt; or only that it is a disk's. */
	if (of_whole > len && whole[of_whole - len - 1] == ' ' &&
	    !strcmp(whole + of_whole - len, cut))
		return true;
	if (len >= 4 && !strcmp(cut + len - 4, "disk") && !strncmp(cut, whole, len - 4) &&
	    strncmp(whole, "network", 7) && strchr(whole, ':'))
		return true;
	return text_fits(cut, whole) || phases_fit(cut, whole) ||
	       (!strcmp(cut, "device") && (!strcmp(whole, "disk") || !strcmp(whole, "network")));
}

/* A thread whose process is not known is one of that process. */
static bool is_thread_of(const struct pair *p, const struct sheet *s, size_t cut, size_t whole)
{
	int thread = sonde_facts_column(s->cut, "thread"),
	    pid = sonde_facts_column(s->whole, "pid");
	int64_t row = sonde_facts_cell(s->cut, cut, (unsigned)thread).i;

	for (int64_t i = 0; row >= 0 && i < p->whole.nr_threads; i++) {
		if (thread_fits(p, row, i) &&
		    p->whole.threads[i].pid == sonde_facts_cell(s->whole, whole, (unsigned)pid).i)
			return true;
	}
	return false;
}

/* Nothing says when something of it was: any of its threads may have run. */
static bool has_no_clock(const struct pair *p, int64_t machine)
{
	return machine >= 0 &&
	       p->slacks[machine] >= sonde_run_end(p->cut.run) - sonde_run_begin(p->cut.run);
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
		return machine_fits(p, machine_named(&p->cut, cut.s), machine_named(&p->whole, whole.s));
	switch (c->type) {
	case SONDE_COL_MACHINE:
		return machine_fits(p, cut.i, whole.i) ||
		       (cut.i >= 0 && p->machines[cut.i].row < 0);
	case SONDE_COL_CPU:
		return cpu_fits(p, cut.i, whole.i);
	case SONDE_COL_THREAD:
		/* Who woke it is not told of a wait whose end says more. */
		if (!strcmp(c->name, "by") && whole.i < 0)
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

static int64_t cut_cell(const struct sheet *s, size_t row, const char *name)
{
	int column = sonde_facts_column(s->cut, name);

	return column < 0 ? -1 : sonde_facts_cell(s->cut, row, (unsigned)column).i;
}

/* A machine of which it is not known what runs in it stands for all in it; and what it does is not
 * known where its clock is not. */
static bool is_wide(const struct pair *p, const struct sheet *s, size_t cut, size_t whole,
		    unsigned column)
{
	const struct sonde_column *c = &s->of->columns[column];
	int64_t mode = cut_cell(s, cut, "mode");

	if (c->type == SONDE_COL_MODE)
		return has_no_clock(p, cut_cell(s, cut, "culprit_machine"));
	return !strcmp(c->name, "culprit_machine") &&
	       (mode == SONDE_MODE_UNKNOWN || mode == SONDE_MODE_GUEST) &&
	       machine_holds(p, sonde_facts_cell(s->cut, cut, column).i,
			     sonde_facts_cell(s->whole, whole, column).i);
}

/* The whole run does not know that one. */
static bool is_not_known(const struct sonde_column *c, union sonde_cell whole)
{
	return (c->type == SONDE_COL_MACHINE || c->type == SONDE_COL_CPU ||
		c->type == SONDE_COL_THREAD) &&
	       whole.i < 0;
}

/* Rows of the whole run that fit; those, too, that say less; those of a machine's other threads. */
enum fit { FIT, FIT_MORE, FIT_THREADS };

static bool keys_fit(const struct pair *p, const struct sheet *s, size_t cut, size_t whole,
		     enum fit fit)
{
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		if (fit == FIT_MORE &&
		    is_not_known(&s->of->columns[c], sonde_facts_cell(s->whole, whole, c)))
			continue;
		if (fit == FIT_THREADS && s->of->columns[c].type == SONDE_COL_THREAD)
			continue;
		if (s->rules[c] == RULE_KEY && is_wide(p, s, cut, whole, c))
			continue;
		if (s->of->columns[c].type == SONDE_COL_THREAD &&
		    !strcmp(s->of->name, "process_time") && is_thread_of(p, s, cut, whole))
			continue;
		if (s->rules[c] == RULE_KEY &&
		    !cells_fit(p, &s->of->columns[c], sonde_facts_cell(s->cut, cut, c),
			       sonde_facts_cell(s->whole, whole, c)))
			return false;
	}
	return true;
}

/* A row that says less than others may stand for several of these, one after the other. */
static bool is_less_specific(const struct sheet *s, size_t row)
{
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		union sonde_cell cell = sonde_facts_cell(s->cut, row, c);

		if (s->rules[c] != RULE_KEY)
			continue;
		switch (s->of->columns[c].type) {
		case SONDE_COL_STRING:
			if (text_fits(cell.s, "any") || !strcmp(cell.s, "device") ||
			    (!strcmp(s->of->columns[c].name, "phase") && !strchr(cell.s, ':')))
				return true;
			break;
		case SONDE_COL_MODE:
			if (cell.i == SONDE_MODE_UNKNOWN || cell.i == SONDE_MODE_GUEST ||
			    cell.i == SONDE_MODE_TASK || cell.i == SONDE_MODE_KERNEL)
				return true;
			break;
		default:
			if (cell.i < 0)
				return true;
			break;
		}
	}
	return false;
}

/* The greatest that clocks may have moved at all. */
static int64_t greatest_slack(const struct pair *p)
{
	int64_t most = 0;

	for (int64_t m = 0; m < p->cut.nr_machines; m++)
		most = p->slacks[m] > most ? p->slacks[m] : most;
	return most;
}

/* A gap of the whole run that only a trace shows which the cut one lacks. */
static bool is_seen_in_cut(const struct pair *p, const struct sonde_loss *gap)
{
	struct sonde_loss l;

	for (int64_t i = 0; !sonde_loss(p->cut.run, i, &l); i++) {
		int64_t begin = time_in_whole(p, l.begin), end = time_in_whole(p, l.end);

		if (machine_fits(p, l.machine, gap->machine) && (l.cpu < 0 || l.cpu == gap->cpu) &&
		    begin < gap->end && end > gap->begin)
			return true;
	}
	return false;
}

/* How much of [from, to) lies in such gaps: there the whole run says less. */
static int64_t unseen_gaps(const struct pair *p, int64_t from, int64_t to)
{
	struct sonde_loss gap;
	int64_t sum = 0;

	for (int64_t i = 0; from < to && !sonde_loss(p->whole.run, i, &gap); i++) {
		int64_t begin = gap.begin > from ? gap.begin : from;
		int64_t end = gap.end < to ? gap.end : to;

		if (begin < end && !is_seen_in_cut(p, &gap))
			sum += end - begin;
	}
	return sum;
}

/* ---- words ----------------------------------------------------------------------------------- */

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
		if (cell.i < 0 || sonde_cpu_label(s->run, cell.i, buf, room) < 0)
			snprintf(buf, room, "-");
		break;
	case SONDE_COL_THREAD:
		if (cell.i < 0 || sonde_thread_label(s->run, cell.i, buf, room) < 0)
			snprintf(buf, room, "-");
		break;
	default:
		snprintf(buf, room, "%lld", (long long)cell.i);
		break;
	}
}

static void word_row(const struct pair *p, const struct sheet *s, size_t row, char *buf,
		     size_t room)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned c = 0; c < s->of->nr_columns && len + 40 < room; c++) {
		char cell[64];

		if (s->rules[c] != RULE_KEY && (int)c != s->at && (int)c != s->length)
			continue;
		word_cell(&p->cut, &s->of->columns[c], sonde_facts_cell(s->cut, row, c), cell,
			  sizeof(cell));
		len += (size_t)snprintf(buf + len, room - len, "%s=%.30s ", s->of->columns[c].name,
					cell);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t cell_of(const struct sonde_facts *f, size_t row, int column)
{
	return sonde_facts_cell(f, row, (unsigned)column).i;
}

/* A quarter more than is said: what is to be found out. */
static int64_t more_if(bool lie, int64_t value)
{
	return lie ? value + value / 4 : value;
}

/* A wait is listed from when its vCPU slept, or, where that was not seen, from when it halted. */
#define WAIT_BEGIN_NS 1000000

/* As far as it is certain: see column doubt of boot and shutdown. */
static int64_t length_of(const struct sheet *s, const struct sonde_facts *f, size_t row)
{
	int doubt = sonde_facts_column(f, "doubt");

	if (s->length < 0)
		return 0;
	if (doubt >= 0 && f == s->cut)
		return cell_of(f, row, s->length) - cell_of(f, row, doubt);
	if (s->of->columns[s->length].type == SONDE_COL_TIME)
		return cell_of(f, row, s->length) - cell_of(f, row, s->at);
	return cell_of(f, row, s->length);
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
	int thread = sonde_facts_column(s->cut, "thread");

	return (!strcmp(s->of->name, "why") || !strcmp(s->of->name, "delay")) && thread >= 0 &&
	       hides_vcpu(p, sonde_facts_cell(s->cut, row, (unsigned)thread).i);
}

/* Where a VM's own trace is missing, a wake-up ends when the VM goes on: that is another measure,
 * and the end of a wait. */
static bool ends_a_wait(const struct sheet *s, size_t row)
{
	int thread = sonde_facts_column(s->cut, "thread");

	return !strncmp(s->of->name, "wakeup", 6) && thread >= 0 &&
	       sonde_facts_cell(s->cut, row, (unsigned)thread).i < 0;
}

static struct sonde_facts *facts_of(const struct side *side, const char *name)
{
	struct sonde_error err;
	struct sonde_facts *f = NULL;

	sonde_facts_get(&f, side->run, name, sonde_run_begin(side->run), sonde_run_end(side->run),
			&err);
	return f;
}

/* Where a VM's own trace is missing, waits of a guest of it are told by what its host saw: they begin
 * and end at other moments, but are the same. */
static bool is_seen_from_outside(const struct pair *p, const struct sheet *s, size_t row)
{
	int vcpu = sonde_facts_column(s->cut, "vcpu");
	const struct sonde_machine *m;
	int64_t cpu, parent;

	if (vcpu < 0 || (strcmp(s->of->name, "wait_list") && strcmp(s->of->name, "wakeup_list")))
		return false;
	cpu = sonde_facts_cell(s->cut, row, (unsigned)vcpu).i;
	m = cpu < 0 ? NULL : &p->cut.machines[p->cut.cpus[cpu].machine];
	parent = m ? m->parent : -1;
	return parent > 0 && !p->cut.machines[parent].traced && p->machines[parent].row > 0 &&
	       p->whole.machines[p->machines[parent].row].traced;
}

static bool same_vcpu(const struct pair *p, const struct sheet *s, size_t cut, size_t whole)
{
	return cpu_fits(p, cell_of(s->cut, cut, sonde_facts_column(s->cut, "vcpu")),
			cell_of(s->whole, whole, sonde_facts_column(s->whole, "vcpu")));
}

/* The vCPU goes on there in the whole run, too, as far as that knows. */
static void check_wait(struct pair *p, const struct sheet *s, size_t row, int64_t slack)
{
	const struct sonde_facts *waits = s->waits;
	int64_t vcpu = cell_of(s->cut, row, sonde_facts_column(s->cut, "vcpu"));
	int64_t at = time_in_whole(p, cell_of(s->cut, row, s->at));
	int64_t end = at + length_of(s, s->cut, row);
	bool outside = is_seen_from_outside(p, s, row), fits = false;
	char words[512];

	for (size_t i = 0; i < sonde_facts_nr_rows(waits) && !fits; i++) {
		int64_t until = cell_of(waits, i, sonde_facts_column(waits, "until"));
		bool open = cell_of(waits, i, sonde_facts_column(waits, "entry")) < 0;

		fits = cpu_fits(p, vcpu, cell_of(waits, i, sonde_facts_column(waits, "vcpu"))) &&
		       (open ? cell_of(waits, i, sonde_facts_column(waits, "at")) <= end + slack
			     : until - slack <= end &&
				       (outside ? at : end) <= until + slack);
	}
	if (fits)
		return;
	word_row(p, s, row, words, sizeof(words));
	say_wrong(p, s->of->name, words, at, end, "listed", "no wait ends there");
}

/* Unknown, or the same; of how many were under way at least so many are known. */
static bool part_fits(const struct sonde_column *c, int64_t cut, int64_t whole, int64_t slack)
{
	if (!strcmp(c->name, "length")) /* so much is known */
		return cut <= whole + slack;
	if (c->type == SONDE_COL_NS)
		return cut < 0 || (cut <= whole + slack && cut >= whole - slack);
	if (!strcmp(c->name, "depth") || !strcmp(c->name, "polled"))
		return cut <= whole;
	return cut <= 0 || cut == whole;
}

/* Of a wait whose end was not seen only the begin is known to be one. */
static bool has_open_end(const struct sheet *s, size_t whole)
{
	int entry = sonde_facts_column(s->whole, "entry");

	return !strcmp(s->of->name, "wait_list") &&
	       sonde_facts_cell(s->whole, whole, (unsigned)entry).i < 0;
}

/* The first column that says something else; NULL when none does. */
static const char *wrong_part(const struct sheet *s, size_t cut, size_t whole, int64_t slack)
{
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		if (s->rules[c] == RULE_PART && (int)c != s->length &&
		    !(has_open_end(s, whole) && !strcmp(s->of->columns[c].name, "length")) &&
		    !part_fits(&s->of->columns[c], sonde_facts_cell(s->cut, cut, c).i,
			       sonde_facts_cell(s->whole, whole, c).i, slack))
			return s->of->columns[c].name;
	}
	return NULL;
}

/* Until when it was, on the whole run's time line, of which nothing is known after its end. */
static int64_t end_in_whole(const struct pair *p, int64_t at, int64_t length)
{
	int64_t end = at + length, last = sonde_run_end(p->whole.run);

	return end > last && at < last ? last : end;
}

/* What it is a part of is part of what that row is a part of. */
static bool parts_fit(const struct pair *p, const struct sheet *s, size_t cut, size_t whole,
		      int64_t slack)
{
	int64_t from, begin;

	if (s->whole_at < 0)
		return true;
	from = time_in_whole(p, cell_of(s->cut, cut, s->whole_at));
	begin = cell_of(s->whole, whole, s->whole_at);
	return from >= begin - slack &&
	       end_in_whole(p, from, cell_of(s->cut, cut, s->whole_length)) <=
		       begin + cell_of(s->whole, whole, s->whole_length) + slack;
}

/* Of the longest only so many are listed: shorter ones follow where some of them are missing. */
#define LISTED_MAX 1000

static int64_t shortest_listed(const struct sheet *s)
{
	size_t nr = sonde_facts_nr_rows(s->whole);
	int64_t least = INT64_MAX;

	if (strcmp(s->of->name, "delay") || nr < LISTED_MAX)
		return -1;
	for (size_t i = 0; i < nr; i++)
		least = length_of(s, s->whole, i) < least ? length_of(s, s->whole, i) : least;
	return least;
}

static int by_time(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void order_rows(struct sheet *s)
{
	size_t nr = sonde_facts_nr_rows(s->whole);

	s->order = calloc(nr + 1, sizeof(*s->order));
	if (!s->order)
		abort();
	for (size_t i = 0; i < nr; i++) {
		int64_t length = length_of(s, s->whole, i);

		s->order[i] = (struct listed){cell_of(s->whole, i, s->at), i};
		s->longest = length > s->longest ? length : s->longest;
	}
	qsort(s->order, nr, sizeof(*s->order), by_time);
}

/* The first row, by time, that may reach @t. */
static size_t first_at(const struct sheet *s, int64_t t)
{
	size_t low = 0, high = sonde_facts_nr_rows(s->whole);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->order[middle].at < t - s->longest)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void check_listed(struct pair *p, const struct sheet *s, size_t row, int64_t slack)
{
	int64_t at = time_in_whole(p, cell_of(s->cut, row, s->at));
	int64_t length = more_if(p->lie, length_of(s, s->cut, row));
	bool until = s->length >= 0 && s->of->columns[s->length].type == SONDE_COL_TIME;
	const char *wrong = NULL, *part;
	int64_t covered = 0, reach = at;
	bool outside = is_seen_from_outside(p, s, row), more = false;
	char words[512];

	length = end_in_whole(p, at, length) - at;
	for (size_t k = first_at(s, at - slack); k < sonde_facts_nr_rows(s->whole); k++) {
		size_t i = s->order[k].row;
		int64_t begin = s->order[k].at;
		int64_t end = begin + length_of(s, s->whole, i);

		if (until)
			begin -= WAIT_BEGIN_NS;
		if (begin > at + length + slack)
			break;
		if (has_open_end(s, i) && end < at + length)
			end = at + length;
		if (end < at - slack || !parts_fit(p, s, row, i, slack))
			continue;
		if (!keys_fit(p, s, row, i, FIT)) {
			/* The VM's trace ends in it: what ended it is not known. */
			more |= outside && has_open_end(s, i) && end >= at && same_vcpu(p, s, row, i);
			more |= at >= begin - slack && at + length <= end + slack &&
				keys_fit(p, s, row, i, FIT_MORE);
			continue;
		}
		if (outside)
			return;
		if (at >= begin - slack && at + length <= end + slack) {
			part = wrong_part(s, row, i, slack);
			if (!part)
				return;
			wrong = part;
		}
		if (begin <= at + slack && end > reach)
			reach = end;
		covered +=
			(end < at + length ? end : at + length) - (begin > at ? begin : at) + slack;
	}
	if (covered >= length && is_less_specific(s, row) && !wrong)
		return;
	if (more || unseen_gaps(p, at, at + length) >= length ||
	    (reach > at && is_gain(p, reach, at + length))) {
		p->more++;
		return;
	}
	word_row(p, s, row, words, sizeof(words));
	say_wrong(p, s->of->name, words, at, at + length, "listed", "%s",
		  wrong ? wrong : "no such row");
}

static bool is_shorter(const struct sheet *s, const struct sonde_facts *f, size_t row, size_t cut)
{
	int from = sonde_facts_column(f, "from");

	return is_spread(s->of) && cell_of(f, row, from) < cell_of(s->cut, cut, from);
}

static bool same_keys(const struct sheet *s, size_t a, size_t b)
{
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		union sonde_cell one = sonde_facts_cell(s->cut, a, c);
		union sonde_cell other = sonde_facts_cell(s->cut, b, c);

		if (s->rules[c] == RULE_KEY &&
		    (s->of->columns[c].type == SONDE_COL_STRING ? strcmp(one.s, other.s) != 0
								: one.i != other.i))
			return false;
	}
	return true;
}

/* With those that took longer, in a table of how they spread. */
static int64_t summed(const struct sheet *s, size_t row, unsigned column)
{
	int64_t sum = sonde_facts_cell(s->cut, row, column).i;

	for (size_t i = 0; is_spread(s->of) && i < sonde_facts_nr_rows(s->cut); i++) {
		if (i != row && same_keys(s, i, row) && !is_shorter(s, s->cut, i, row))
			sum += sonde_facts_cell(s->cut, i, column).i;
	}
	return sum;
}

/* Rows of a list of the whole run, of a VM and cause, in which a thread slept. */
static int64_t count_of(const struct pair *p, const struct sonde_facts *f, int64_t vm,
			const char *cause)
{
	int of = sonde_facts_column(f, "cause"), vcpu = sonde_facts_column(f, "vcpu");
	int polled = sonde_facts_column(f, "polled");
	int64_t nr = 0;

	for (size_t i = 0; i < sonde_facts_nr_rows(f); i++) {
		int64_t cpu = sonde_facts_cell(f, i, (unsigned)vcpu).i;

		nr += machine_fits(p, vm, p->whole.cpus[cpu].machine) &&
		      causes_fit(cause, sonde_facts_cell(f, i, (unsigned)of).s) &&
		      (polled < 0 || !sonde_facts_cell(f, i, (unsigned)polled).i);
	}
	return nr;
}

/*
 * Wake-ups in which a guest lost events are not told; without its trace they are, until the guest
 * goes on.  And of one that was awake still the guest tells what woke it again.  There are never
 * more than waits, of that VM and cause.
 */
static int64_t untold_wakeups(const struct pair *p, const struct sheet *s, size_t row)
{
	int64_t vm = sonde_facts_cell(s->cut, row, 0).i, nr;
	const char *cause;

	if (strcmp(s->of->name, "wakeup") != 0 && strcmp(s->of->name, "wakeup_histogram") != 0)
		return 0;
	cause = sonde_facts_cell(s->cut, row, (unsigned)sonde_facts_column(s->cut, "cause")).s;
	nr = count_of(p, s->waits, vm, cause) - count_of(p, s->wakeups, vm, cause);
	return nr > 0 ? nr : 0;
}

/* Of a row's time, what is known: time of which less is known may have been another row's. */
static int64_t known_of(const struct sheet *s, size_t row, unsigned column)
{
	static const char *const less[] = {"unknown", "guest"};
	int64_t value = sonde_facts_cell(s->cut, row, column).i;

	for (size_t i = 0; i < 2 && !strcmp(s->of->columns[column].name, "total"); i++) {
		int at = sonde_facts_column(s->cut, less[i]);

		if (at >= 0 && s->of->columns[at].type == SONDE_COL_NS)
			value -= sonde_facts_cell(s->cut, row, (unsigned)at).i;
	}
	return value;
}

/* Of several rows of the whole run. */
struct limits {
	int64_t sums[40], most[40];
	int64_t nr;
};

static void sum_rows(const struct pair *p, const struct sheet *s, size_t row, enum fit fit,
		     struct limits *out)
{
	for (size_t i = 0; i < sonde_facts_nr_rows(s->whole); i++) {
		if (!keys_fit(p, s, row, i, fit) || is_shorter(s, s->whole, i, row))
			continue;
		out->nr++;
		for (unsigned c = 0; c < s->of->nr_columns; c++) {
			int64_t value = sonde_facts_cell(s->whole, i, c).i;

			if (s->rules[c] != RULE_SUM && s->rules[c] != RULE_EXTREME)
				continue;
			out->sums[c] += value > 0 ? value : 0;
			out->most[c] = value > out->most[c] ? value : out->most[c];
		}
	}
}

static int64_t limit_of(const struct sheet *s, const struct limits *l, unsigned column)
{
	return s->rules[column] == RULE_SUM ? l->sums[column] : l->most[column];
}

static void check_summed(struct pair *p, const struct sheet *s, size_t row, int64_t slack)
{
	struct limits limits = {0}, more = {0}, threads = {0};
	bool joined = is_less_specific(s, row);
	int64_t untold = untold_wakeups(p, s, row);
	char words[512];

	sum_rows(p, s, row, FIT, &limits);
	sum_rows(p, s, row, FIT_MORE, &more);
	sum_rows(p, s, row, FIT_THREADS, &threads);
	for (unsigned c = 0; c < s->of->nr_columns; c++) {
		int64_t value =
			more_if(p->lie, is_spread(s->of) ? summed(s, row, c) : known_of(s, row, c));
		int64_t limit = limit_of(s, &limits, c), known = limit_of(s, &more, c) - limit;
		bool ns = s->of->columns[c].type == SONDE_COL_NS;

		if (s->rules[c] != RULE_SUM && (s->rules[c] != RULE_EXTREME || joined))
			continue;
		p->moments++;
		/* Each piece of time may have grown by what its ends may have moved. */
		limit += !ns			   ? limit / 50 + 1 + untold
			 : s->rules[c] == RULE_SUM ? limit / 20 + 20 * slack
						   : slack;
		limit += ns ? s->gaps : 0;
		if (value <= limit)
			continue;
		/* At the edge between two threads it is the clocks' bound that tells whose it is.
		 */
		if (s->rules[c] == RULE_EXTREME && slack && value <= threads.most[c] + slack)
			continue;
		/* Where the whole run's clocks are not exact enough it knows less. */
		if (value <= limit + known) {
			p->more++;
			continue;
		}
		word_row(p, s, row, words, sizeof(words));
		say_wrong(p, s->of->name, words, 0, 0, s->of->columns[c].name,
			  "%lld, not %lld of %lld rows", (long long)value, (long long)limit,
			  (long long)limits.nr);
		return;
	}
}

static int64_t sum_of(const struct sonde_facts *f, const char *column)
{
	int at = sonde_facts_column(f, column);
	int64_t sum = 0;

	for (size_t row = 0; at >= 0 && row < sonde_facts_nr_rows(f); row++)
		sum += cell_of(f, row, at);
	return sum;
}

static int64_t physical_cpus(const struct side *s)
{
	int64_t nr = 0;

	for (int64_t i = 0; i < s->nr_cpus; i++)
		nr += !s->cpus[i].machine;
	return nr;
}

/* The sums that `sonde report` prints: all time of all CPUs, each moment once; and of that no more is known. */
static void check_total(struct pair *p, const struct sheet *s, int64_t slack)
{
	int64_t all = sum_of(s->cut, "total"), known = all - sum_of(s->cut, "unknown");
	int64_t whole = sum_of(s->whole, "total") - sum_of(s->whole, "unknown");
	int64_t window = sonde_run_end(p->cut.run) - sonde_run_begin(p->cut.run);

	if (strcmp(s->of->name, "machine_time") && strcmp(s->of->name, "level_time"))
		return;
	p->moments++;
	if (all != window * physical_cpus(&p->cut))
		say_wrong(p, s->of->name, "sum", 0, 0, "total", "%lld, not %lld", (long long)all,
			  (long long)(window * physical_cpus(&p->cut)));
	if (known > whole + whole / 1000 + slack + p->gain_ns)
		say_wrong(p, s->of->name, "sum", 0, 0, "known", "%lld, not %lld", (long long)known,
			  (long long)whole);
}

/* Tables count alike, however long. */
static void count_rows(struct pair *p, size_t cut, size_t whole)
{
	if (!whole)
		return;
	p->rows += 1000;
	p->rows_kept += (int64_t)(1000 * (cut < whole ? cut : whole) / whole);
}

static void compare_table(struct pair *p, const struct sonde_analysis *a, int64_t slack)
{
	struct sonde_error err;
	int64_t shortest;
	struct sheet s;

	sheet_init(&s, a);
	if (sonde_facts_get(&s.cut, p->cut.run, a->name, sonde_run_begin(p->cut.run),
			    sonde_run_end(p->cut.run), &err) ||
	    sonde_facts_get(&s.whole, p->whole.run, a->name, sonde_run_begin(p->whole.run),
			    sonde_run_end(p->whole.run), &err)) {
		say_wrong(p, a->name, "table", 0, 0, "failed", "%s", err.text);
		sonde_facts_free(s.cut);
		return;
	}
	if (!strncmp(a->name, "wakeup", 6)) {
		s.waits = facts_of(&p->whole, "wait_list");
		s.wakeups = facts_of(&p->whole, "wakeup_list");
	}
	s.gaps = unseen_gaps(p, sonde_run_begin(p->whole.run), sonde_run_end(p->whole.run));
	count_rows(p, sonde_facts_nr_rows(s.cut), sonde_facts_nr_rows(s.whole));
	check_total(p, &s, slack);
	shortest = shortest_listed(&s);
	if (s.at >= 0)
		order_rows(&s);
	for (size_t row = 0; row < sonde_facts_nr_rows(s.cut); row++) {
		if (is_told_of_vcpu(p, &s, row) || length_of(&s, s.cut, row) <= shortest)
			continue;
		if (ends_a_wait(&s, row))
			check_wait(p, &s, row, slack);
		else if (s.at >= 0)
			check_listed(p, &s, row, slack);
		else
			check_summed(p, &s, row, slack);
	}
	free(s.order);
	sonde_facts_free(s.cut);
	sonde_facts_free(s.whole);
	sonde_facts_free(s.waits);
	sonde_facts_free(s.wakeups);
}

void compare_tables(struct pair *p)
{
	int64_t slack = greatest_slack(p);
	unsigned nr;
	const struct sonde_analysis *const *list = sonde_analyses(&nr);

	for (unsigned i = 0; i < nr; i++) {
		if (!IS_IN(skipped, list[i]->name))
			compare_table(p, list[i], slack);
	}
}
