/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of which table has which rule. */
#include "sheet.h"

#include <stdio.h>
#include <string.h>

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
static const char *const skipped[] = {"gap", "problem", "left_out", "io_step", "vms"};

static const char *const no_rule[] = {
	"share",
	"mean",
	"median",
	"p99",
	"min",
	"unknown",
	"task",
	"guest",
	"kernel",
	"text",
	"evidence",
	"note",
	"missing",
	"blocked_on",
	"total_steal_share",
	"level",
	"per_thousand",
	"undivided",
	"wait_unknown",
	"steal_unknown",
	"wait_device",
	"id",
	"request",
	"doubt",
	"follow",
	"until",
	"maybe_more",
	"max_at",
	"longest_at",
	"culprit_time",
	"result",
	"comm",
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
	/* clock: the fewer constraints, the coarser is what is made of them; and of a long trace
	 * only windows are read, which are wider where it holds less (clock/survey.h) */
	"pairs of clock",
	"bound of clock",
	"method of clock",
	"pieces of clock",
	"contained of clock",
	"timers of clock",
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

/* Lists of which each row tells how a time is divided. */
static bool has_parts(const struct sonde_table *a)
{
	return strstr(a->name, "_list") && strncmp(a->name, "preemption", 10) != 0;
}

/* How things spread.  Of what less is seen takes less time: so many took so long or longer. */
static bool is_spread(const struct sonde_table *a)
{
	return !strcmp(a->name, "wakeup_histogram") || !strcmp(a->name, "io_histogram");
}

static enum rule rule_of(const struct sonde_table *a, const struct sonde_column *c)
{
	bool histogram = strstr(a->name, "histogram");
	bool means = !strcmp(a->name, "io") || !strncmp(a->name, "wakeup", 6);
	char here[80];

	snprintf(here, sizeof(here), "%s of %s", c->name, a->name);
	if (!strcmp(here, "level of initcall"))
		return RULE_KEY;
	if (IS_IN(no_rule, c->name) || IS_IN(no_rule, here) || c->type == SONDE_COL_TIME ||
	    c->type == SONDE_COL_PPM)
		return RULE_NONE;
	if (has_parts(a) && (c->type == SONDE_COL_NS || IS_IN(parts, c->name)))
		return RULE_PART;
	if (!strcmp(c->name, "depth"))
		return RULE_EXTREME;
	/* An unknown stretch makes two pieces of one. */
	if (!strcmp(c->name, "count") &&
	    (!strncmp(a->name, "preemption", 10) || !strcmp(a->name, "thread_delay") ||
	     !strcmp(a->name, "wait")))
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

static int column_of(const struct sonde_table *a, const char *name)
{
	for (unsigned c = 0; name && c < a->nr_columns; c++) {
		if (!strcmp(a->columns[c].name, name))
			return (int)c;
	}
	return -1;
}

bool sheet_is_skipped(const struct sonde_table *a)
{
	return IS_IN(skipped, a->name);
}

void sheet_rules(struct sheet *s, const struct sonde_table *a)
{
	*s = (struct sheet){.of = a, .at = -1, .length = -1, .whole_at = -1, .whole_length = -1};
	for (unsigned i = 0; i < a->nr_columns; i++)
		s->rules[i] = rule_of(a, &a->columns[i]);
	s->thread = column_of(a, "thread");
	s->pid = column_of(a, "pid");
	s->mode = column_of(a, "mode");
	s->culprit_machine = column_of(a, "culprit_machine");
	s->entry = column_of(a, "entry");
	s->doubt = column_of(a, "doubt");
	s->from = column_of(a, "from");
	s->until = strcmp(a->name, "initcall") ? -1 : column_of(a, "until");
	s->is_process_time = !strcmp(a->name, "process_time");
	s->is_spread = is_spread(a);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].name, a->name))
			continue;
		s->at = column_of(a, lists[i].at);
		s->length = column_of(a, lists[i].length);
		s->whole_at = column_of(a, lists[i].whole_at);
		s->whole_length = column_of(a, lists[i].whole_length);
	}
}
