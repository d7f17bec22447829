/* SPDX-License-Identifier: Apache-2.0 */
/* The table "events": read from the traces that the history was made of. */
#include "sonde/events.h"
#include "sql/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 4096

enum event_column {
	EVENT_TIME,
	EVENT_MACHINE,
	EVENT_CPU,
	EVENT_TID,
	EVENT_NAME,
	EVENT_KIND,
	EVENT_FIELDS,
	EVENT_TICKS,
};

struct events_cursor {
	struct sonde_events *events;
	struct sonde_event event;
	bool nothing; /* can be wanted */
};

/* ---- filters ------------------------------------------------------------------------------- */

/* A name is looked for with a shell pattern, in which these characters mean something; those of
 * them that GLOB knows, too, mean the same there, but for brackets. */
static bool is_plain(const char *text, const char *special)
{
	return !text || !strpbrk(text, special);
}

/* 0, or -ENOENT when no event can have such a name. */
static int only_names(struct events_cursor *own, const struct sql_cursor *c)
{
	const struct sql_want *name = sql_wanted(c, "name"), *kind = sql_wanted(c, "kind");
	const struct sql_want *w = name->text || name->glob ? name : kind;

	if (w->text && is_plain(w->text, "*?[\\"))
		return sonde_events_only_name(own->events, w->text);
	if (!w->text && w->glob && is_plain(w->glob, "[\\"))
		return sonde_events_only_name(own->events, w->glob);
	return 0;
}

static void choose(struct events_cursor *own, const struct sql_cursor *c)
{
	const struct sql_want *time = sql_wanted(c, "time"), *cpu = sql_wanted(c, "cpu");
	const struct sql_want *machine = sql_wanted(c, "machine");
	/* The whole history is all there is, its very last event, too. */
	int64_t begin = c->begin == sonde_history_begin(c->history->history) ? INT64_MIN : c->begin;
	int64_t end = c->end == sonde_history_end(c->history->history) ? INT64_MAX : c->end;

	if (time->low > begin)
		begin = time->low;
	if (time->high < end)
		end = time->high + 1;
	own->nothing = begin >= end || only_names(own, c) == -ENOENT ||
		       (machine->text && sonde_events_only_machine(own->events, machine->text));
	if (!own->nothing && cpu->low == cpu->high && cpu->low >= 0 && cpu->low <= INT32_MAX)
		own->nothing = sonde_events_only_cpu(own->events, (int)cpu->low) == -ENOENT;
	sonde_events_only_time(own->events, begin, end);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int events_start(struct sql_cursor *c, struct error *err)
{
	struct events_cursor *own = c->own;
	struct sonde_error why = {0};
	int ret = sonde_history_events(&own->events, c->history->history, &why);

	if (ret)
		return fail(err, ret, "%s", why.text);
	choose(own, c);
	return 0;
}

static void events_stop(struct sql_cursor *c)
{
	struct events_cursor *own = c->own;

	sonde_events_close(own->events);
}

static int events_next(struct sql_cursor *c, struct error *err)
{
	struct events_cursor *own = c->own;
	int ret = own->nothing ? 0 : sonde_events_next(own->events, &own->event);

	if (ret < 0)
		return fail(err, ret, "cannot read the traces: %s", error_reason(ret));
	c->history->cost[COST_EVENTS] += (uint64_t)ret;
	return ret;
}

/* ---- telling ------------------------------------------------------------------------------- */

static void tell_fields(const struct events_cursor *own, sqlite3_context *out)
{
	char text[FIELDS_MAX];
	size_t len = sonde_event_print(own->events, text, sizeof(text));
	char *longer;

	if (len < sizeof(text)) {
		sqlite3_result_text(out, text, (int)len, SQLITE_TRANSIENT);
		return;
	}
	longer = sqlite3_malloc64(len + 1);
	if (!longer) {
		sqlite3_result_error_nomem(out);
		return;
	}
	sonde_event_print(own->events, longer, len + 1);
	sqlite3_result_text64(out, longer, len, sqlite3_free, SQLITE_UTF8);
}

static void events_cell(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out)
{
	const struct events_cursor *own = c->own;
	const struct sonde_event *e = &own->event;

	switch ((enum event_column)column->from) {
	case EVENT_TIME:
		sqlite3_result_int64(out, e->t_ns);
		break;
	case EVENT_MACHINE:
		sqlite3_result_text(out, e->machine_name, -1, SQLITE_TRANSIENT);
		break;
	case EVENT_CPU:
		sql_answer(out, c->history, column, e->cpu, NULL);
		break;
	case EVENT_TID:
		sql_answer(out, c->history, column, e->tid, NULL);
		break;
	case EVENT_NAME:
		sqlite3_result_text(out, e->name, -1, SQLITE_TRANSIENT);
		break;
	case EVENT_KIND:
		sqlite3_result_text(out, e->kind, -1, SQLITE_TRANSIENT);
		break;
	case EVENT_FIELDS:
		tell_fields(own, out);
		break;
	case EVENT_TICKS:
		sqlite3_result_int64(out, (int64_t)e->ticks);
		break;
	}
}

static const struct sql_column events_columns[] = {
	{.name = "time",
	 .type = SONDE_COL_TIME,
	 .flags = SQL_EQ | SQL_RANGE,
	 .from = EVENT_TIME,
	 .help = "when, on L0's clock"},
	{.name = "machine",
	 .type = SONDE_COL_MACHINE,
	 .flags = SQL_EQ,
	 .from = EVENT_MACHINE,
	 .help = "whose event"},
	{.name = "cpu",
	 .type = SONDE_COL_INT,
	 .flags = SQL_EQ,
	 .from = EVENT_CPU,
	 .help = "number of its CPU"},
	{.name = "tid",
	 .type = SONDE_COL_INT,
	 .from = EVENT_TID,
	 .help = "its thread that ran; NULL: the event does not say"},
	{.name = "name",
	 .type = SONDE_COL_STRING,
	 .flags = SQL_EQ | SQL_GLOB,
	 .from = EVENT_NAME,
	 .help = "the tracer's; \"lost\": here events were lost"},
	{.name = "kind",
	 .type = SONDE_COL_STRING,
	 .flags = SQL_EQ | SQL_GLOB,
	 .from = EVENT_KIND,
	 .help = "what Sonde takes it for"},
	{.name = "fields",
	 .type = SONDE_COL_STRING,
	 .from = EVENT_FIELDS,
	 .help = "name=value name=value ...; see sonde_field()"},
	{.name = "ticks",
	 .type = SONDE_COL_INT,
	 .from = EVENT_TICKS,
	 .help = "as the tracer wrote it"},
	SQL_WINDOW,
};

static const struct sql_table_ops events_ops = {
	.cursor_bytes = sizeof(struct events_cursor),
	.start = events_start,
	.next = events_next,
	.cell = events_cell,
	.stop = events_stop,
};

/* To open the traces costs more than to read some events of them: better once than for each row of
 * another table. */
const struct sql_table events_table = {
	.name = "events",
	.help = "the events of all traces, in order; the traces must still be where they were",
	.columns = events_columns,
	.nr_columns = ARRAY_SIZE(events_columns),
	.ops = &events_ops,
	.rows = 1e7,
	.startup = 1e5,
	.sorted_by = "time",
	.all = true,
	.window = true,
};
