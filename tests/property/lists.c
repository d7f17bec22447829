/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with a row for each thing that happened: it is one that the whole history has there, too.
 */
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

/* A wait is listed from when its vCPU slept, or, where that was not seen, from when it halted. */
#define WAIT_BEGIN_NS 1000000
#define PIECES 20 /* of a wait: how often its vCPU's thread was woken in between */

struct stretch {
	int64_t from, to;
};

/* Where a VM's own trace is missing, waits of a guest of it are told by what its host saw: they
 * begin and end at other moments, but are the same. */
bool is_seen_from_outside(const struct pair *p, const struct sheet *s, size_t row)
{
	int vcpu = grid_column(&s->cut, "vcpu");
	int64_t cpu;

	if (vcpu < 0 || (strncmp(s->of->name, "wait", 4) && strcmp(s->of->name, "wakeup_list")))
		return false;
	cpu = cell(&s->cut, row, vcpu).i;
	return cpu >= 0 && lacks_host_trace(p, p->cut.cpus[cpu].machine);
}

/* The machine of such a row's vCPU. */
static int64_t machine_waiting(const struct pair *p, const struct sheet *s, size_t row)
{
	return p->cut.cpus[cell(&s->cut, row, grid_column(&s->cut, "vcpu")).i].machine;
}

static bool same_vcpu(const struct pair *p, const struct sheet *s, size_t cut, size_t whole)
{
	return cpu_fits(p, cell(&s->cut, cut, grid_column(&s->cut, "vcpu")).i,
			cell(&s->whole, whole, grid_column(&s->whole, "vcpu")).i);
}

/* The vCPU of the row waits at that moment. */
static bool waits_at(const struct pair *p, const struct sheet *s, size_t row, int64_t t)
{
	const struct grid *waits = &s->waits;
	int vcpu = grid_column(&s->cut, "vcpu"), of = grid_column(waits, "vcpu");
	int at = grid_column(waits, "at"), until = grid_column(waits, "until");

	for (size_t i = 0; i < waits->nr; i++) {
		if (cell(waits, i, at).i - WAIT_BEGIN_NS - s->slack <= t &&
		    t <= cell(waits, i, until).i + s->slack &&
		    cpu_fits(p, cell(&s->cut, row, vcpu).i, cell(waits, i, of).i))
			return true;
	}
	return false;
}

struct search {
	const struct side *side;
	const struct sonde_cpu *vcpu;
	int64_t from, found;
};

static bool is_run_of(const struct sonde_interval *i, void *data)
{
	struct search *x = data;
	const struct side *s = x->side;
	const struct sonde_context *c =
		i->value && i->value <= s->nr_contexts ? &s->contexts[i->value - 1] : NULL;
	int64_t at = i->begin > x->from ? i->begin : x->from;

	if (!c || c->machine != x->vcpu->machine || c->cpu != x->vcpu->number)
		return true;
	x->found = at < x->found ? at : x->found;
	return false;
}

/* When the vCPU executes next, as the outermost machine has it; @t where it does not any more. */
static int64_t next_run(const struct pair *p, int64_t vcpu, int64_t t)
{
	const struct side *s = &p->whole;
	struct search x = {s, &s->cpus[vcpu], t, INT64_MAX};

	for (int64_t i = 0; i < s->nr_cpus; i++) {
		if (!s->cpus[i].machine)
			sonde_interval_walk(s->history, sonde_attr_of_cpu(s->history, i, "runs"), t,
					    sonde_history_end(s->history), is_run_of, &x);
	}
	return x.found == INT64_MAX ? t : x.found;
}

/*
 * From outside, what @seen is of a guest in a VM is row @i: it ends with the entry that the VM's
 * own entry leads to.  A wait begins no sooner; a wake-up may, with the VM's, but not before the
 * wait that it ends.
 */
static bool is_that_from_outside(const struct pair *p, const struct sheet *s, size_t row,
				 const struct stretch *seen, size_t i, const struct stretch *was)
{
	int64_t vcpu = cell(&s->whole, i, grid_column(&s->whole, "vcpu")).i;

	return seen->to <= next_run(p, vcpu, was->to) + s->slack &&
	       (seen->from >= was->from - s->slack ||
		(s->waits.of && waits_at(p, s, row, seen->from)));
}

/* From outside, the wake-up @seen is the end of that row of the whole history's waits. */
static bool ends_wait(const struct pair *p, const struct sheet *s, const struct stretch *seen,
		      size_t wait)
{
	const struct grid *waits = &s->waits;
	int64_t vcpu = cell(waits, wait, grid_column(waits, "vcpu")).i;
	int64_t until = cell(waits, wait, grid_column(waits, "until")).i;

	if (cell(waits, wait, grid_column(waits, "entry")).i < 0)
		return cell(waits, wait, grid_column(waits, "at")).i <= seen->to + s->slack;
	return seen->from <= until + s->slack && until - s->slack <= seen->to &&
	       seen->to <= next_run(p, vcpu, until) + s->slack;
}

/* ... is that one of its wake-ups, which may begin with the VM's, in the same wait. */
static bool is_wakeup(const struct pair *p, const struct sheet *s, const struct stretch *seen,
		      size_t wakeup)
{
	const struct grid *all = &s->wakeups, *waits = &s->waits;
	int64_t vcpu = cell(all, wakeup, grid_column(all, "vcpu")).i;
	int64_t from = cell(all, wakeup, grid_column(all, "at")).i;
	int64_t to = from + cell(all, wakeup, grid_column(all, "total")).i;

	if (seen->to < to - s->slack || seen->to > next_run(p, vcpu, to) + s->slack)
		return false;
	for (size_t i = 0; i < waits->nr; i++) {
		if (cell(waits, i, grid_column(waits, "vcpu")).i == vcpu &&
		    cell(waits, i, grid_column(waits, "at")).i - WAIT_BEGIN_NS - s->slack <=
			    seen->from &&
		    from <= cell(waits, i, grid_column(waits, "until")).i + s->slack &&
		    seen->from <= cell(waits, i, grid_column(waits, "until")).i + s->slack)
			return true;
	}
	return seen->from >= from - s->slack;
}

/* That row, of waits or of wake-ups, is about a vCPU of that machine, and for that. */
static bool is_of(const struct pair *p, const struct grid *g, size_t row, int64_t machine,
		  const char *cause)
{
	int64_t vcpu = cell(g, row, grid_column(g, "vcpu")).i;

	return vcpu >= 0 && machine_fits(p, machine, p->whole.cpus[vcpu].machine) &&
	       causes_fit(cause, cell(g, row, grid_column(g, "cause")).s);
}

bool is_wakeup_from_outside(const struct pair *p, const struct sheet *s, int64_t machine,
			    const char *cause, int64_t at, int64_t length)
{
	struct stretch seen = {time_in_whole(p, at), time_in_whole(p, at + length)};

	for (size_t i = 0; i < s->waits.nr; i++) {
		if (is_of(p, &s->waits, i, machine, cause) && ends_wait(p, s, &seen, i))
			return true;
	}
	for (size_t i = 0; i < s->wakeups.nr; i++) {
		if (is_of(p, &s->wakeups, i, machine, cause) && is_wakeup(p, s, &seen, i))
			return true;
	}
	return false;
}

void check_wait(struct pair *p, const struct sheet *s, size_t row)
{
	const struct grid *waits = &s->waits;
	int64_t vcpu = cell(&s->cut, row, grid_column(&s->cut, "vcpu")).i;
	int64_t from = cell(&s->cut, row, s->at).i, at = time_in_whole(p, from);
	bool outside = is_seen_from_outside(p, s, row), fits = false;
	int64_t length =
		length_of(s, &s->cut, row) + (outside && p->lie == LIE_WAITS ? LATE_NS : 0);
	int64_t end = time_in_whole(p, from + length);
	char words[512];

	for (size_t i = 0; i < waits->nr && !fits; i++) {
		int64_t until = cell(waits, i, grid_column(waits, "until")).i;
		bool open = cell(waits, i, grid_column(waits, "entry")).i < 0;

		if (!cpu_fits(p, vcpu, cell(waits, i, grid_column(waits, "vcpu")).i))
			continue;
		if (outside)
			fits = ends_wait(p, s, &(struct stretch){at, end}, i);
		else
			fits = open ? cell(waits, i, grid_column(waits, "at")).i <= end + s->slack
				    : llabs(until - end) <= s->slack;
	}
	if (fits)
		return;
	if (outside && is_beside_host_trace(p, p->cut.cpus[vcpu].machine, at, end)) {
		p->more++;
		return;
	}
	word_row(p, s, row, words, sizeof(words));
	say_wrong(p, s->of->name, words, at, end, "listed", "no wait ends there");
}

/* Unknown, or the same; of how many were under way at least so many are known. */
static bool part_fits(const struct sonde_column *c, int64_t cut, int64_t whole, int64_t slack)
{
	/* So much is known: a sum of pieces, each grown by what its ends may have moved. */
	if (!strcmp(c->name, "length"))
		return cut <= whole + PIECES * slack;
	if (c->type == SONDE_COL_NS)
		return cut < 0 || (cut <= whole + slack && cut >= whole - slack);
	if (!strcmp(c->name, "depth") || !strcmp(c->name, "polled"))
		return cut <= whole;
	return cut <= 0 || cut == whole;
}

/* Of a wait whose end was not seen only the begin is known to be one. */
static bool has_open_end(const struct sheet *s, size_t whole)
{
	return !strcmp(s->of->name, "wait_list") && cell(&s->whole, whole, s->entry).i < 0;
}

/* The first column that says something else; NULL when none does. */
static const char *wrong_part(const struct sheet *s, size_t cut, size_t whole, int64_t slack)
{
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		if (s->rules[c] == RULE_PART && c != s->length &&
		    !(has_open_end(s, whole) && !strcmp(s->of->columns[c].name, "length")) &&
		    !part_fits(&s->of->columns[c], cell(&s->cut, cut, c).i,
			       cell(&s->whole, whole, c).i, slack))
			return s->of->columns[c].name;
	}
	return NULL;
}

/* Until when it was, on the whole history's time line, of which nothing is known after its end; @at
 * is on the second history's. */
static int64_t end_in_whole(const struct pair *p, int64_t at, int64_t length)
{
	int64_t end = time_in_whole(p, at + length), last = sonde_history_end(p->whole.history);

	return end > last && time_in_whole(p, at) < last ? last : end;
}

/* What it is a part of is part of what that row is a part of. */
static bool parts_fit(const struct pair *p, const struct sheet *s, size_t cut, size_t whole,
		      int64_t slack)
{
	int64_t from, begin;

	if (s->whole_at < 0)
		return true;
	from = cell(&s->cut, cut, s->whole_at).i;
	begin = cell(&s->whole, whole, s->whole_at).i;
	return time_in_whole(p, from) >= begin - slack &&
	       end_in_whole(p, from, cell(&s->cut, cut, s->whole_length).i) <=
		       begin + cell(&s->whole, whole, s->whole_length).i + slack;
}

/* When it was; of what was only seen to end: when it ended. */
static int64_t at_of(const struct sheet *s, const struct grid *g, size_t row)
{
	int64_t at = cell(g, row, s->at).i;

	return at < 0 && s->until >= 0 ? cell(g, row, s->until).i : at;
}

static int by_time(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void lists_init(struct sheet *s)
{
	size_t nr = s->whole.nr;

	s->order = calloc(nr + 1, sizeof(*s->order));
	if (!s->order)
		abort();
	for (size_t i = 0; i < nr; i++) {
		int64_t length = length_of(s, &s->whole, i);

		s->order[i] = (struct listed){at_of(s, &s->whole, i), i};
		s->longest = length > s->longest ? length : s->longest;
	}
	qsort(s->order, nr, sizeof(*s->order), by_time);
}

/* The first row, by time, that may reach @t. */
static size_t first_at(const struct sheet *s, int64_t t)
{
	size_t low = 0, high = s->whole.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->order[middle].at < t - s->longest)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the row is about is known then in the second history only, and may be. */
static bool is_gain_of_row(const struct pair *p, const struct sheet *s, size_t row, int64_t from,
			   int64_t to)
{
	struct subject of = {-1, -1, -1};
	bool places = false;

	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		of.machine = machine_of_key(p, s, row, c);
		places |= of.machine >= 0;
		if (of.machine >= 0 && is_gain(p, &of, from, to))
			return true;
	}
	return !places && is_gain(p, &of, from, to);
}

void check_listed(struct pair *p, struct sheet *s, size_t row)
{
	int64_t from = at_of(s, &s->cut, row), at = time_in_whole(p, from);
	int64_t length = more_if(p, length_of(s, &s->cut, row));
	/* How long a tick is follows from evidence, too: so do all parts of the row's time. */
	int64_t stretch = llabs(time_in_whole(p, from + length) - at - length);
	bool until = s->length >= 0 && s->of->columns[s->length].type == SONDE_COL_TIME;
	const char *wrong = NULL, *part;
	int64_t covered = 0, reach = at;
	bool outside = is_seen_from_outside(p, s, row), more = false, there;
	struct stretch seen;
	char words[512];

	length = end_in_whole(p, from, length) - at;
	if (outside && p->lie == LIE_WAITS)
		length += LATE_NS;
	seen = (struct stretch){at, at + length};
	for (size_t k = first_at(s, at - s->slack); k < s->whole.nr; k++) {
		size_t i = s->order[k].row;
		int64_t begin = s->order[k].at;
		int64_t end = begin + length_of(s, &s->whole, i);

		if (until)
			begin -= WAIT_BEGIN_NS;
		if (begin > at + length + s->slack)
			break;
		if (has_open_end(s, i) && end < at + length)
			end = at + length;
		if (end < at - s->slack || !parts_fit(p, s, row, i, s->slack))
			continue;
		there = outside ? is_that_from_outside(p, s, row, &seen, i,
						       &(struct stretch){begin, end})
				: at >= begin - s->slack && at + length <= end + s->slack;
		if (!keys_fit(p, s, row, i, FIT)) {
			/* The VM's trace ends in it: what ended it is not known. */
			more |= outside && has_open_end(s, i) && same_vcpu(p, s, row, i);
			more |= there && keys_fit(p, s, row, i, FIT_MORE);
			continue;
		}
		if (there) { /* seen from outside its parts are other ones */
			part = outside ? NULL : wrong_part(s, row, i, s->slack + stretch);
			if (!part)
				return;
			wrong = part;
		}
		if (begin <= at + s->slack && end > reach)
			reach = end;
		covered += (end < at + length ? end : at + length) - (begin > at ? begin : at) +
			   s->slack;
	}
	if (covered >= length && is_less_specific(s, row) && !wrong)
		return;
	if (more ||
	    (outside && is_beside_host_trace(p, machine_waiting(p, s, row), at, at + length)) ||
	    (reach > at && is_gain_of_row(p, s, row, reach, at + length))) {
		p->more++;
		return;
	}
	word_row(p, s, row, words, sizeof(words));
	say_wrong(p, s->of->name, words, at, at + length, "listed", "%s",
		  wrong ? wrong : "no such row");
}
