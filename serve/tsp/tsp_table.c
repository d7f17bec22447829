/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tsp/tsp_table.h"
#include "serve/tsp/pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 5000	    /* in one answer */
#define SEARCHED_MAX 200000 /* lines looked at for one answer */
#define COST_MAX 300000000  /* steps of patterns for one answer: a second or so */
#define BLOCK 4096	    /* of lines, for a search backwards */
#define SEARCHES_MAX 4	    /* columns at once */
#define TAG_HIGHLIGHT 8

void tsp_add_column(struct tsp_rows *rows, int64_t id, const char *name, const char *help,
		    const char *type)
{
	if (rows->nr_columns < TSP_COLUMNS_MAX)
		rows->columns[rows->nr_columns++] = (struct tsp_column){id, name, help, type};
}

void tsp_put_columns(struct tsp_call *c, const struct tsp_rows *rows)
{
	struct json *j = &c->json;

	json_begin_array(j, "model");
	for (unsigned i = 0; i < rows->nr_columns; i++) {
		json_begin_object(j, NULL);
		json_int(j, "id", rows->columns[i].id);
		json_str(j, "name", rows->columns[i].name);
		json_str(j, "description", rows->columns[i].help);
		json_str(j, "type", rows->columns[i].type);
		json_end(j);
	}
	json_end(j);
}

/* ---- what is looked for -------------------------------------------------------------------- */

/* What columns are to have in them: viewers mark it by the same expressions, as browsers have them.
 */
struct search {
	unsigned columns[SEARCHES_MAX];
	struct pattern patterns[SEARCHES_MAX];
	unsigned nr;
	uint64_t cost; /* so far */
};

static int find_column(const struct tsp_rows *rows, int64_t id)
{
	for (unsigned i = 0; i < rows->nr_columns; i++) {
		if (rows->columns[i].id == id)
			return (int)i;
	}
	return -1;
}

static int get_search(const struct tsp_call *c, const struct tsp_rows *rows, struct search *s,
		      struct error *err)
{
	const char *text;
	int64_t id;

	s->nr = 0;
	s->cost = 0;
	for (unsigned i = 0; tsp_query_search(c->query, i, &id, &text); i++) {
		int column = find_column(rows, id), ret;

		if (column < 0 || s->nr == SEARCHES_MAX)
			return fail(err, -EINVAL,
				    "table_search_expressions: no such column, or "
				    "too many");
		s->columns[s->nr] = (unsigned)column;
		ret = pattern_parse(&s->patterns[s->nr++], text, err);
		if (ret)
			return ret;
	}
	return 0;
}

static bool line_matches(const struct tsp_rows *rows, struct search *s)
{
	char text[TSP_CELL_MAX];

	for (unsigned i = 0; i < s->nr; i++) {
		rows->text(rows->data, s->columns[i], text);
		if (!pattern_found(&s->patterns[i], text, &s->cost))
			return false;
	}
	return s->nr > 0;
}

/* That nothing was found so far must not be taken for that there is nothing. */
static void say_given_up(struct tsp_call *c, int64_t looked_at)
{
	snprintf(c->message, sizeof(c->message),
		 "not found in %" PRId64
		 " lines, the rest was not searched: go on from further away",
		 looked_at);
}

static bool is_enough(const struct search *s, int64_t looked_at)
{
	return looked_at >= SEARCHED_MAX || s->cost >= COST_MAX;
}

static int64_t search_forward(struct tsp_call *c, const struct tsp_rows *rows, struct search *s,
			      int64_t from)
{
	for (int64_t i = from; i < rows->size; i++) {
		int ret = rows->go(rows->data, i);

		if (ret)
			return ret;
		if (line_matches(rows, s))
			return i;
		if (is_enough(s, i - from + 1)) {
			say_given_up(c, i - from + 1);
			break;
		}
	}
	return rows->size;
}

/* Block by block, since lines come cheap in order only. */
static int64_t search_back(struct tsp_call *c, const struct tsp_rows *rows, struct search *s,
			   int64_t from)
{
	int64_t end = from < rows->size ? from + 1 : rows->size;
	int64_t looked_at = 0, found = rows->size;

	while (end > 0 && !is_enough(s, looked_at) && found == rows->size) {
		int64_t begin = end > BLOCK ? end - BLOCK : 0;

		for (int64_t i = begin; i < end; i++, looked_at++) {
			int ret = rows->go(rows->data, i);

			if (ret)
				return ret;
			if (line_matches(rows, s))
				found = i;
		}
		end = begin;
	}
	if (end > 0 && found == rows->size)
		say_given_up(c, looked_at);
	return found;
}

/* ---- which lines --------------------------------------------------------------------------- */

/* The first line of the answer; the table's size when there is none. */
static int64_t first_line(struct tsp_call *c, const struct tsp_rows *rows, struct search *s,
			  struct error *err)
{
	const char *direction = tsp_query_text(c->query, "table_search_direction");
	int64_t *times = NULL, at = 0;
	int ret = tsp_query_int(c->query, "requested_table_index", 0, INT64_MAX, &at, err);

	if (ret == -ENODATA) {
		ret = tsp_query_list(c->query, "requested_times", &times, err);
		if (ret > 0)
			at = rows->at_time(rows->data, times[0]);
		free(times);
		if (ret == -ENODATA)
			ret = 0;
	}
	if (ret < 0 || at < 0)
		return ret < 0 ? ret : fail(err, (int)at, "cannot read: %s", strerror((int)-at));
	if (s->nr && direction)
		at = strcasecmp(direction, "PREVIOUS") ? search_forward(c, rows, s, at)
						       : search_back(c, rows, s, at);
	return at < rows->size ? at : rows->size;
}

/* The columns that are asked for; all when none are. */
static int get_columns(const struct tsp_call *c, const struct tsp_rows *rows,
		       unsigned chosen[static TSP_COLUMNS_MAX], struct error *err)
{
	int64_t *ids = NULL;
	int nr = tsp_query_list(c->query, "requested_table_column_ids", &ids, err);
	int kept = 0;

	if (nr < 0 && nr != -ENODATA)
		return nr;
	for (int i = 0; i < nr; i++) {
		int column = find_column(rows, ids[i]);

		if (column >= 0 && kept < TSP_COLUMNS_MAX)
			chosen[kept++] = (unsigned)column;
	}
	free(ids);
	if (nr > 0)
		return kept;
	for (unsigned i = 0; i < rows->nr_columns; i++)
		chosen[i] = i;
	return (int)rows->nr_columns;
}

static int put_line(struct tsp_call *c, const struct tsp_rows *rows, int64_t index,
		    const unsigned *columns, int nr_columns, struct search *s)
{
	struct json *j = &c->json;
	char text[TSP_CELL_MAX];
	int ret = rows->go(rows->data, index);

	if (ret)
		return ret;
	json_begin_object(j, NULL);
	json_int(j, "index", index);
	json_begin_array(j, "cells");
	for (int i = 0; i < nr_columns; i++) {
		rows->text(rows->data, columns[i], text);
		json_begin_object(j, NULL);
		json_str(j, "content", text);
		json_end(j);
	}
	json_end(j);
	json_int(j, "tags", line_matches(rows, s) ? TAG_HIGHLIGHT : 0);
	json_end(j);
	return 0;
}

int tsp_put_lines(struct tsp_call *c, const struct tsp_rows *rows, struct error *err)
{
	unsigned columns[TSP_COLUMNS_MAX];
	struct json *j = &c->json;
	struct search search;
	int64_t first, count;
	int nr_columns, ret;

	ret = tsp_query_int(c->query, "requested_table_count", 0, INT32_MAX, &count, err);
	if (!ret)
		ret = get_search(c, rows, &search, err);
	if (ret)
		return ret;
	nr_columns = get_columns(c, rows, columns, err);
	if (nr_columns < 0)
		return nr_columns;
	first = first_line(c, rows, &search, err);
	if (first < 0)
		return (int)first;
	count = count < LINES_MAX ? count : LINES_MAX;
	count = count < rows->size - first ? count : rows->size - first;
	json_begin_object(j, "model");
	json_int(j, "lowIndex", first);
	json_int(j, "size", rows->size);
	json_begin_array(j, "columnIds");
	for (int i = 0; i < nr_columns; i++)
		json_int(j, NULL, rows->columns[columns[i]].id);
	json_end(j);
	json_begin_array(j, "lines");
	for (int64_t i = first; i < first + count && !ret; i++)
		ret = put_line(c, rows, i, columns, nr_columns, &search);
	json_end(j);
	json_end(j);
	return ret ? fail(err, ret, "cannot read: %s", error_reason(ret)) : 0;
}
