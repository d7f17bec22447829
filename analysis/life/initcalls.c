/* SPDX-License-Identifier: Apache-2.0 */
/* Initcalls of kernels that started, slowest first. */
#include "analysis/life/levels.h"
#include "query/cells.h"
#include "analysis/rows.h"
#include "base/figure.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* What was seen of one. */
struct call {
	int64_t row;
	bool begun, ended; /* that was seen */
	ns_t begin, end;   /* in the run; @end for both where its begin was not seen */
	const char *level; /* "" a module's */
	bool may_be_later; /* the level may be a later one */
	bool is_own;	   /* the kernel's own, for certain */
};

/* A kernel's own initcalls, which it calls one after the other before it runs the first program;
 * modules' are none of them. */
struct own_calls {
	struct sonde_rows *out;
	const struct sonde_history *history;
	struct levels levels;
	const uint32_t *rows;
	uint32_t nr;
	ns_t took;	   /* all that are known from begin to end, together */
	ns_t took_maybe;   /* those that may be a module's as well */
	ns_t unseen;	   /* all others, at most */
	bool is_known;	   /* that this is so */
	ns_t since, until; /* the trace has the boot; NS_MIN, NS_MAX: from its begin, to its end */
};

static void get_call(struct call *c, const struct own_calls *own, int64_t row)
{
	const struct sonde_history *h = own->history;
	const struct level *level, *end = own->levels.list + own->levels.nr;
	ns_t begin = query_number(h, QUERY_INITCALL, row, 4);

	*c = (struct call){.row = row,
			   .begun = begin != -1,
			   .end = query_number(h, QUERY_INITCALL, row, 5),
			   .level = query_string(h, QUERY_INITCALL, row, 3)};
	c->ended = c->end >= 0;
	c->begin = c->begun ? begin : c->end;
	ns_clip(&c->begin, &c->end, sonde_history_begin(h), sonde_history_end(h));
	level = levels_at(&own->levels, c->begin);
	c->is_own = *c->level != '\0';
	if (!strcmp(c->level, "unknown")) {
		c->is_own = (!level || level + 1 < end) && own->levels.nr &&
			    query_number(h, QUERY_INITCALL, row, 1) >= 0;
	} else if (c->is_own && level && !strcmp(level->name, c->level)) {
		c->may_be_later = levels_may_be_later(&own->levels, level, c->begin);
		c->is_own = !c->may_be_later || level + 1 < end;
	}
}

/* What may have been called between two that are known: nothing where no event is missing. */
static ns_t unseen_in(const struct losses *losses, ns_t begin, ns_t end)
{
	return begin < end && losses_touch(losses, begin, end) ? ns_since(end, begin) : 0;
}

/* When the first program was run. */
static ns_t last_of(const struct own_calls *own)
{
	for (size_t i = 0; i < own->levels.nr; i++) {
		if (!*own->levels.list[i].name)
			return own->levels.list[i].at;
	}
	return sonde_history_end(own->history);
}

/* A trace that has the whole boot has the first level of it, and the first program. */
static void find_part(struct own_calls *own)
{
	const struct level *first = own->levels.list, *last = first + own->levels.nr - 1;
	bool has_begin = own->levels.nr && level_is_first(first->name);
	bool has_end = own->levels.nr && !*last->name;
	struct call c;

	own->since = has_begin ? NS_MIN : own->levels.nr ? first->at : NS_MAX;
	own->until = has_end ? NS_MAX : own->levels.nr ? last->at : NS_MIN;
	for (uint32_t i = 0; i < own->nr; i++) {
		get_call(&c, own, own->rows[i]);
		if (*c.level && !has_begin && c.begin < own->since)
			own->since = c.begin;
		if (*c.level && !has_end && c.end > own->until)
			own->until = c.end;
	}
}

/* Any that was not seen from begin to end lies between two that were, and where events are missing,
 * or it would have been seen: not before the first of these places. */
static void sum_up(struct own_calls *own)
{
	const struct losses *losses = &own->levels.losses;
	struct sonde_loss first;
	ns_t until = sonde_history_end(own->history), before = NS_MIN;

	own->is_known = !own->levels.is_cut;
	find_part(own);
	if (losses->nr && !sonde_loss_get(own->history, losses->list[0].at, &first))
		until = first.begin;
	for (uint32_t i = 0; i < own->nr; i++) {
		struct call c;

		get_call(&c, own, own->rows[i]);
		if (!*c.level || !c.begun || !c.ended)
			continue;
		*(c.is_own ? &own->took : &own->took_maybe) += ns_since(c.end, c.begin);
		own->unseen = ns_plus(own->unseen, unseen_in(losses, until, c.begin));
		own->is_known &= c.begin >= before;
		before = c.begin;
		until = c.end > until ? c.end : until;
	}
	own->unseen = ns_plus(own->unseen, unseen_in(losses, until, last_of(own)));
}

static const char *text_of(struct own_calls *own, const char *format, const char *text)
{
	char line[160], *kept;

	snprintf(line, sizeof(line), format, text);
	kept = arena_strdup(&own->out->arena, line);
	own->out->no_memory |= !kept;
	return kept ? kept : "";
}

static const char *level_text(struct own_calls *own, const struct call *c)
{
	if (c->may_be_later)
		return text_of(own, "%.100s or later", c->level);
	return *c->level ? c->level : "module";
}

/* ... of the share, or why there is no length that it could be of. */
static const char *note_of(struct own_calls *own, const struct call *c, bool has_share)
{
	bool is_ns = sonde_history_ticks_are_ns(own->history);
	char at[UNIT_TEXT];

	if (!c->begun)
		return "its call was not seen";
	if (has_share && own->since != NS_MIN)
		return text_of(own, "at most: the trace has the boot from %s on",
			       unit_time(at, own->since, is_ns));
	if (has_share && own->until != NS_MAX)
		return text_of(own, "at most: the trace has the boot until %s",
			       unit_time(at, own->until, is_ns));
	return has_share && (own->unseen || own->took_maybe) ? "at least" : "";
}

static void add(struct own_calls *own, const struct call *c)
{
	bool is_part = own->since != NS_MIN || own->until != NS_MAX;
	ns_t length = c->begun && c->ended ? ns_since(c->end, c->begin) : -1;
	bool has_share = length >= 0 && c->is_own && own->is_known;
	ns_t more = is_part ? 0 : ns_plus(own->took_maybe, own->unseen);
	const enum query_table t = QUERY_INITCALL;
	const struct sonde_history *h = own->history;

	rows_add(own->out,
		 (union sonde_cell[]){
			 cell_int(c->begun ? c->begin : -1),
			 cell_int(length),
			 cell_int(query_number(h, t, c->row, 0)),
			 cell_str(query_string(h, t, c->row, 2)),
			 cell_str(level_text(own, c)),
			 cell_int(has_share ? share_ppm(length, ns_plus(own->took, more)) : -1),
			 cell_str(note_of(own, c, has_share)),
			 cell_int(c->ended ? query_number(h, t, c->row, 6) : SONDE_SIGNED_UNKNOWN),
			 cell_int(query_number(h, t, c->row, 1)),
			 cell_int(c->ended ? c->end : -1),
		 });
}

static int of_machine(struct own_calls *own, int64_t machine, const struct by_machine *milestones,
		      ns_t begin, ns_t end)
{
	int ret = levels_init(&own->levels, own->history, machine, milestones);

	if (!ret)
		sum_up(own);
	for (uint32_t i = 0; i < own->nr && !ret; i++) {
		struct call c;

		get_call(&c, own, own->rows[i]);
		if (c.begin < end && (!c.ended || c.end >= begin))
			add(own, &c);
	}
	levels_release(&own->levels);
	return ret;
}

static int find_initcalls(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	struct by_machine calls = {0}, milestones = {0};
	int ret = by_machine_init(&calls, history, QUERY_INITCALL);

	if (!ret)
		ret = by_machine_init(&milestones, history, QUERY_MILESTONE);
	for (int64_t i = 0; i < sonde_nr_machines(history) && !ret; i++) {
		struct own_calls own = {.out = out, .history = history};

		own.rows = by_machine_rows(&calls, i, &own.nr);
		if (own.nr)
			ret = of_machine(&own, i, &milestones, begin, end);
	}
	by_machine_release(&calls);
	by_machine_release(&milestones);
	if (ret)
		return fail(err, ret, "out of memory");
	rows_sort(out, "length");
	return 0;
}

static const struct sonde_column columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when it was called; -1: that was not seen"},
	{"length", "TOOK", SONDE_COL_NS,
	 "until it returned; -1: its call or its return was not seen"},
	{"vm", "MACHINE", SONDE_COL_MACHINE, "whose kernel"},
	{"name", "INITCALL", SONDE_COL_STRING,
	 "the function; its address where its name is not known, as of modules in ftrace"},
	{"level", "LEVEL", SONDE_COL_STRING,
	 "early, core, ... late; or a module's. In or after a gap it may be a later one, or a module's: "
	 "\"core or later\"; unknown: its begin was not seen"},
	{"share", "SHARE", SONDE_COL_PPM,
	 "of the time of all initcalls of that kernel, modules' left out; -1: a module's, or not "
	 "known, for nobody knows how much of its boot is missing"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "\"at least\": events are missing that may be of initcalls, so the share may be more; "
	 "\"at most\": the trace has only a part of the boot, so the share may be less"},
	{"result", "RESULT", SONDE_COL_SIGNED, "what it returned; null: it was not seen to"},
	{"thread", "BY", SONDE_COL_THREAD, "thread that called it"},
	{"until", "UNTIL", SONDE_COL_TIME, "when it returned; -1: it was not seen to"},
};

const struct table_def initcall_table = {
	.public = {"initcall", "Initcalls, slowest first",
		   "functions that kernels called while they started, by those kernels' own traces",
		   columns, ARRAY_SIZE(columns)},
	.find = find_initcalls,
};
