/* SPDX-License-Identifier: Apache-2.0 */
/* The Trace Server Protocol without HTTP: which call a path is, what a body may hold, answers of
 * two runs of small_history.h side by side. */
#include "tests/unit/unit.h"

#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_query.h"
#include "tests/unit/small_history.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define UNIX_NS INT64_C(1700000000000000000) /* of small_history.h: add to its times */

/* ---- paths --------------------------------------------------------------------------------- */

static void test_routes(void **state)
{
	struct tsp_route r;

	(void)state;
	assert_int_equal(tsp_route(&r, "GET", "health"), 0);
	assert_int_equal(tsp_route(&r, "POST", "health"), -EOPNOTSUPP);
	assert_int_equal(tsp_route(&r, "GET", "health/"), -ENOENT);
	assert_int_equal(tsp_route(&r, "GET", ""), -ENOENT);
	assert_int_equal(tsp_route(&r, "GET", "traces/"), -ENOENT);
	assert_int_equal(tsp_route(&r, "DELETE", "traces/abc"), 0);
	assert_string_equal(r.trace, "abc");
	assert_int_equal(tsp_route(&r, "POST", "experiments/x-1/outputs/timeGraph/fused/states"),
			 0);
	assert_string_equal(r.trace, "x-1");
	assert_string_equal(r.output, "fused");
	assert_int_equal(tsp_route_line(&r, NULL, 0), LINE_QUICK);
	assert_int_equal(tsp_route(&r, "POST", "experiments/x/outputs/table/events/lines"), 0);
	assert_int_equal(tsp_route_line(&r, NULL, 0), LINE_TRACES);
	assert_int_equal(tsp_route(&r, "POST", "experiments/x/outputs/table/table.why/lines"), 0);
	assert_int_equal(tsp_route_line(&r, NULL, 0), LINE_SLOW);
	assert_int_equal(tsp_route(&r, "GET", "experiments//outputs"), -ENOENT);
}

static void test_long_ids(void **state)
{
	char path[200] = "traces/";
	struct tsp_route r;

	(void)state;
	memset(path + 7, 'a', TSP_ID_MAX - 1);
	assert_int_equal(tsp_route(&r, "GET", path), 0);
	assert_int_equal(strlen(r.trace), TSP_ID_MAX - 1);
	path[7 + TSP_ID_MAX - 1] = 'a';
	assert_int_equal(tsp_route(&r, "GET", path), -ENOENT);
}

/* ---- bodies -------------------------------------------------------------------------------- */

static int range_of(const char *text, struct tsp_range *range)
{
	struct error err = {0};
	struct tsp_query q;
	int ret = tsp_query_parse(&q, text, strlen(text), &err);

	if (!ret)
		ret = tsp_query_range(&q, range, &err);
	tsp_query_release(&q);
	return ret;
}

static void test_ranges(void **state)
{
	struct tsp_range r = {0};

	(void)state;
	assert_int_equal(range_of("{\"parameters\": {\"requested_timerange\": {\"start\": "
				  "1700000000000000001, \"end\": 1700000000000000002}}}",
				  &r),
			 0);
	assert_int_equal(r.start, UNIX_NS + 1);
	assert_int_equal(r.nr, 0);
	assert_int_equal(range_of("", &r), -ENODATA);
	assert_int_equal(range_of("{\"parameters\": {}}", &r), -ENODATA);
	assert_int_equal(range_of("{}", &r), -EINVAL);
	assert_int_equal(range_of("[]", &r), -EINVAL);
	assert_int_equal(
		range_of("{\"parameters\": {\"requested_timerange\": {\"start\": 1}}}", &r),
		-EINVAL);
	assert_int_equal(range_of("{\"parameters\": {\"requested_timerange\": {\"start\": 1, "
				  "\"end\": 2, \"nbTimes\": 65537}}}",
				  &r),
			 -EINVAL);
}

/* ---- answers ------------------------------------------------------------------------------- */

struct world {
	unsigned nr;
	char names[TSP_HISTORIES_MAX][64];
	const char *paths[TSP_HISTORIES_MAX];
	struct sonde_history *histories[TSP_HISTORIES_MAX];
	struct kept kept[TSP_HISTORIES_MAX];
	struct tsp *tsp;
	struct readers readers;
};

static void world_open_runs(struct world *w, unsigned nr)
{
	*w = (struct world){.nr = nr};
	for (unsigned i = 0; i < nr; i++) {
		assert_int_equal(small_history_write(w->names[i]), 0);
		w->paths[i] = w->names[i];
		assert_int_equal(sonde_history_open(&w->histories[i], w->paths[i], NULL), 0);
	}
	assert_int_equal(tsp_open(&w->tsp, w->paths, nr, NULL), 0);
	w->readers = (struct readers){.histories = w->histories, .kept = w->kept, .nr = nr};
}

static void world_open(struct world *w)
{
	world_open_runs(w, 2);
}

static void world_close(struct world *w)
{
	tsp_close(w->tsp);
	for (unsigned i = 0; i < w->nr; i++) {
		sonde_history_close(w->histories[i]);
		unlink(w->paths[i]);
	}
}

/* The caller's to json_decref(). */
static json_t *ask(struct world *w, unsigned status, const char *method, const char *path,
		   const char *body)
{
	static const struct request none;
	struct reply reply = {0};
	struct tsp_route route;
	json_t *answer;

	assert_int_equal(tsp_route(&route, method, path), 0);
	tsp_answer(w->tsp, &route, body, strlen(body), &none, &w->readers, &reply);
	assert_int_equal(reply.status, status);
	assert_string_equal(reply.type, "application/json");
	answer = json_loadb(reply.body, reply.len_bytes, 0, NULL);
	assert_non_null(answer);
	reply_release(&reply);
	return answer;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t int_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The last experiment: all histories. */
static void all_runs(struct world *w, char *path, size_t room, const char *rest)
{
	json_t *list = ask(w, 200, "GET", "experiments", "");

	assert_int_equal(json_array_size(list), w->nr + 1);
	snprintf(path, room, "experiments/%s/outputs/%s",
		 text_of(json_array_get(list, w->nr), "UUID"), rest);
	json_decref(list);
}

static void test_tree_of_two(void **state)
{
	struct world w;
	json_t *answer, *entries;
	char path[200];
	size_t roots = 0;

	(void)state;
	world_open(&w);
	all_runs(&w, path, sizeof(path), "timeGraph/vcpus/tree");
	answer = ask(&w, 200, "POST", path, "{\"parameters\": {}}");
	entries = json_object_get(json_object_get(answer, "model"), "entries");
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *e = json_array_get(entries, i);

		roots += int_of(e, "parentId") == -1;
		assert_int_equal(int_of(e, "start"), UNIX_NS + SMALL_BEGIN);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(int_of(json_array_get(entries, k), "id"),
					     int_of(e, "id"));
	}
	assert_int_equal(roots, 2);
	json_decref(answer);
	world_close(&w);
}

/* CPU 0 of the small history, state by state: its picture in small_history.h. */
static void test_states(void **state)
{
	static const struct {
		int64_t begin, end;
		const char *style;
	} want[] = {
		{1000000, 1100000, "mode-1"}, {1100000, 1150000, "mode-6"},
		{1150000, 1300000, "mode-2"}, {1300000, 1400000, "mode-2"},
		{1400000, 1450000, "mode-6"}, {1450000, 1500000, "mode-6"},
		{1500000, 1700000, "mode-2"}, {1700000, 1720000, "mode-4"},
	};
	struct world w;
	json_t *answer, *states;
	char path[200];

	(void)state;
	world_open(&w);
	all_runs(&w, path, sizeof(path), "timeGraph/fused/states");
	answer = ask(&w, 200, "POST", path,
		     "{\"parameters\": {\"requested_timerange\": {\"start\": 1700000000001000000, "
		     "\"end\": 1700000000001710000, \"nbTimes\": 100}, \"requested_items\": [4]}}");
	states = json_object_get(
		json_array_get(json_object_get(json_object_get(answer, "model"), "rows"), 0),
		"states");
	assert_int_equal(json_array_size(states), sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < json_array_size(states); i++) {
		const json_t *s = json_array_get(states, i);

		assert_int_equal(int_of(s, "start"), UNIX_NS + want[i].begin);
		assert_int_equal(int_of(s, "end"), UNIX_NS + want[i].end);
		assert_string_equal(text_of(json_object_get(s, "style"), "parentKey"),
				    want[i].style);
	}
	json_decref(answer);
	world_close(&w);
}

/* ---- filters ------------------------------------------------------------------------------- */

/* The answer for the states above, @nr samples, with these lists of expressions. */
static json_t *ask_filtered(struct world *w, unsigned nr, const char *strategy, const char *lists)
{
	char path[200], body[8192];

	all_runs(w, path, sizeof(path), "timeGraph/fused/states");
	snprintf(body, sizeof(body),
		 "{\"parameters\": {\"requested_timerange\": {\"start\": 1700000000001000000, "
		 "\"end\": 1700000000001710000, \"nbTimes\": %u}, \"requested_items\": [4], "
		 "\"filter_query_parameters\": {\"strategy\": \"%s\", "
		 "\"filter_expressions_map\": {%s}}}}",
		 nr, strategy, lists);
	return ask(w, 200, "POST", path, body);
}

/* The tags of the answer's states, a digit each. */
static void read_tags(const json_t *answer, char *tags)
{
	json_t *row = json_array_get(json_object_get(json_object_get(answer, "model"), "rows"), 0);
	json_t *states = json_object_get(row, "states");
	int64_t end = 0;

	for (size_t i = 0; i < json_array_size(states); i++) {
		const json_t *s = json_array_get(states, i);

		assert_true(int_of(s, "start") >= end); /* none lies over another */
		end = int_of(s, "end");
		assert_true(int_of(s, "start") < end);
		*tags++ = (char)('0' + int_of(s, "tags"));
		/* What is left out has nothing to be drawn with. */
		assert_true((json_object_get(s, "style") == NULL) == (int_of(s, "tags") == 4));
	}
	*tags = '\0';
}

static void test_filters(void **state)
{
	static const struct {
		const char *lists, *tags;
	} want[] = {
		{"\"1\": [\"mode == user\"]", "11001101"},
		{"\"1\": [\"MODE=User\"]", "11001101"},
		{"\"1\": [\"mode != user\"]", "00110010"},
		{"\"1\": [\"!(mode == user)\"]", "00110010"},
		{"\"1\": [\"machine == vm-a\"]", "11011011"},
		{"\"1\": [\"thread == app\"]", "11011111"},
		{"\"1\": [\"thread contains BUR\"]", "11101111"},
		{"\"1\": [\"duration >= 150us\"]", "11011101"},
		{"\"1\": [\"duration < 0.05ms || duration > 199999\"]", "11111100"},
		{"\"1\": [\"duration >= 150us && !(machine == vm-a)\"]", "11111101"},
		{"\"1\": [\"container present\"]", "11101111"},
		{"\"1\": [\"mode matches ^(idle|irq)$\"]", "01111110"},
		{"\"1\": [\"vm-a-[n]\"]", "11111001"},
		{"\"1\": [\"machine == vm-a\", \"mode == user\"]", "11011111"}, /* all of them */
		{"\"1\": [\"start < 1700000000001150000\"]", "00111111"},
		{"\"1\": [\"duration > 160us\"], \"4\": [\"mode == user\"]", "411404"},
		{"\"1\": []", "00000000"},
		{"", "00000000"},
	};
	struct world w;

	(void)state;
	world_open(&w);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		json_t *answer = ask_filtered(&w, 100, "SAMPLED", want[i].lists);
		char tags[100];

		read_tags(answer, tags);
		assert_string_equal(tags, want[i].tags);
		assert_string_equal(text_of(answer, "statusMessage"), "Completed");
		json_decref(answer);
	}
	world_close(&w);
}

/* An expression is sent while it is typed: what is not whole yet hides nothing, and is told. */
static void test_broken_filters(void **state)
{
	static const char *const bad[] = {
		"tid ==",
		"(mode == user",
		"mode == user)",
		"'mode",
		"nosuch == 1",
		"a matches (",
		"machine matches [",
		"&& user",
		"user &&",
		"!",
		"()",
		"mode == user idle",
		"*",
		"",
	};
	static const char *const pieces[] = {"(", "!", "a||", "mode==user&&", "x"};
	struct world w;

	(void)state;
	world_open(&w);
	for (size_t i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(pieces); i++) {
		char text[2000] = "", lists[4200], tags[100];
		json_t *answer;

		if (i < ARRAY_SIZE(bad))
			snprintf(text, sizeof(text), "%s", bad[i]);
		for (size_t n = 0; i >= ARRAY_SIZE(bad) && n < 150; n++)
			strcat(text, pieces[i - ARRAY_SIZE(bad)]);
		snprintf(lists, sizeof(lists), "\"1\": [\"%s\"], \"4\": [\"%s\"]", text, text);
		answer = ask_filtered(&w, 100, "SAMPLED", lists);
		read_tags(answer, tags);
		assert_string_equal(tags, "00000000");
		assert_string_not_equal(text_of(answer, "statusMessage"), "Completed");
		json_decref(answer);
	}
	world_close(&w);
}

/* What lies between samples is found when it is looked for. */
static void test_deep_filter(void **state)
{
	static const char want[] = "\"1\": [\"mode == irq\"]";
	struct world w;
	json_t *answer;
	char tags[100];

	(void)state;
	world_open(&w);
	answer = ask_filtered(&w, 1, "SAMPLED", want);
	read_tags(answer, tags);
	assert_string_equal(tags, "1");
	json_decref(answer);
	answer = ask_filtered(&w, 1, "DEEP", want);
	read_tags(answer, tags);
	assert_string_equal(tags, "10");
	json_decref(answer);
	answer = ask_filtered(&w, 1, "DEEP", "\"4\": [\"mode == idle\"]");
	read_tags(answer, tags);
	assert_string_equal(tags, "04");
	json_decref(answer);
	world_close(&w);
}

/* A table of as many runs as there may be: the rows of all of them are there at the same time. */
static void test_rows_of_many(void **state)
{
	struct world w;
	json_t *answer, *lines;
	char path[200];

	(void)state;
	world_open_runs(&w, TSP_HISTORIES_MAX);
	all_runs(&w, path, sizeof(path), "table/table.machine_time/lines");
	answer = ask(&w, 200, "POST", path,
		     "{\"parameters\": {\"requested_table_index\": 0, "
		     "\"requested_table_count\": 1000}}");
	lines = json_object_get(json_object_get(answer, "model"), "lines");
	assert_int_equal(json_array_size(lines) % TSP_HISTORIES_MAX, 0);
	assert_true(json_array_size(lines) > 0);
	json_decref(answer);
	world_close(&w);
}

/* A history's file may say that it was at the end of all times. */
static void test_wild_offset(void **state)
{
	struct world w = {.nr = 1};
	json_t *list;

	(void)state;
	assert_int_equal(small_history_write_at(w.names[0], INT64_MAX - SMALL_END), 0);
	w.paths[0] = w.names[0];
	assert_int_equal(sonde_history_open(&w.histories[0], w.paths[0], NULL), 0);
	assert_int_equal(tsp_open(&w.tsp, w.paths, 1, NULL), 0);
	w.readers = (struct readers){.histories = w.histories, .kept = w.kept, .nr = 1};
	list = ask(&w, 200, "GET", "experiments", "");
	assert_int_equal(int_of(json_array_get(list, 0), "start"), SMALL_BEGIN);
	json_decref(list);
	world_close(&w);
}

/* A name may look like another one's name and runs. */
static void test_names_of_experiments(void **state)
{
	char body[300], first[64], second[64];
	json_t *traces, *answer;
	struct world w;

	(void)state;
	world_open(&w);
	traces = ask(&w, 200, "GET", "traces", "");
	snprintf(first, sizeof(first), "%s", text_of(json_array_get(traces, 0), "UUID"));
	snprintf(second, sizeof(second), "%s", text_of(json_array_get(traces, 1), "UUID"));
	json_decref(traces);
	snprintf(body, sizeof(body),
		 "{\"parameters\": {\"name\": \"x\", \"traces\": [\"%s\", \"%s\"]}}", first,
		 second);
	answer = ask(&w, 200, "POST", "experiments", body);
	snprintf(first, sizeof(first), "%s", text_of(answer, "UUID"));
	json_decref(answer);
	snprintf(body, sizeof(body), "{\"parameters\": {\"name\": \"x/0\", \"traces\": [\"%s\"]}}",
		 second);
	answer = ask(&w, 200, "POST", "experiments", body);
	assert_string_not_equal(text_of(answer, "UUID"), first);
	json_decref(answer);
	world_close(&w);
}

/* Sixteen is what one server shows; a path of another file is not opened. */
static void test_refused(void **state)
{
	const char *many[TSP_HISTORIES_MAX + 1] = {0};
	struct tsp *tsp;
	struct world w;

	(void)state;
	assert_int_equal(tsp_open(&tsp, many, TSP_HISTORIES_MAX + 1, NULL), -EINVAL);
	world_open(&w);
	json_decref(ask(&w, 404, "POST", "traces", "{\"parameters\": {\"uri\": \"/etc/passwd\"}}"));
	json_decref(ask(&w, 400, "POST", "traces", "{\"parameters\": {}}"));
	json_decref(ask(&w, 404, "GET", "experiments/none", ""));
	json_decref(ask(&w, 400, "POST", "experiments", "{\"parameters\": {\"name\": \"x\"}}"));
	world_close(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),	       cmocka_unit_test(test_long_ids),
		cmocka_unit_test(test_ranges),	       cmocka_unit_test(test_tree_of_two),
		cmocka_unit_test(test_states),	       cmocka_unit_test(test_filters),
		cmocka_unit_test(test_broken_filters), cmocka_unit_test(test_deep_filter),
		cmocka_unit_test(test_rows_of_many),   cmocka_unit_test(test_names_of_experiments),
		cmocka_unit_test(test_wild_offset),    cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
