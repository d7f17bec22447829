/* SPDX-License-Identifier: Apache-2.0 */
/* Long calls ask their caller whether they shall go on, and leave nothing behind when not. */
#include "sonde/sonde.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE "samples/lttng"

static char path[64];
static struct sonde_history *history;

struct asked {
	unsigned nr;
	unsigned most; /* then it says stop */
	double last;   /* share */
	bool falls;    /* a share was less than the one before, or none at all */
	char phase[40];
};

static bool progress(const char *phase, double done, void *data)
{
	struct asked *a = data;

	a->falls |= done < a->last || done > 1;
	a->last = done;
	snprintf(a->phase, sizeof(a->phase), "%s", phase);
	return a->nr++ < a->most;
}

static int setup(void **state)
{
	static const char *const paths[] = {SAMPLE};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1, .threads = 1};

	(void)state;
	snprintf(path, sizeof(path), "/tmp/sonde-test-watch-%d", (int)getpid());
	return sonde_analyze(&in, path, NULL, NULL, NULL) ||
	       sonde_history_open(&history, path, NULL);
}

static int teardown(void **state)
{
	(void)state;
	sonde_history_close(history);
	return unlink(path);
}

static int get(struct sonde_rows **rows, struct sonde_history *of, const char *name)
{
	return sonde_rows_get(rows, of, name, sonde_history_begin(of), sonde_history_end(of), NULL);
}

static void are_the_same(const struct sonde_rows *a, const struct sonde_rows *b)
{
	const struct sonde_table *table = sonde_rows_table(a);

	assert_int_equal(sonde_rows_nr(a), sonde_rows_nr(b));
	for (size_t row = 0; row < sonde_rows_nr(a); row++) {
		for (unsigned i = 0; i < table->nr_columns; i++) {
			union sonde_cell x = sonde_rows_cell(a, row, i);
			union sonde_cell y = sonde_rows_cell(b, row, i);

			if (table->columns[i].type == SONDE_COL_STRING)
				assert_string_equal(x.s, y.s);
			else
				assert_int_equal(x.i, y.i);
		}
	}
}

/* What a history answers that was stopped is what @history does. */
static int stop(const struct sonde_table *table, unsigned most)
{
	struct asked asked = {.most = most, .last = -1};
	struct sonde_watcher watcher = {.progress = progress, .data = &asked};
	struct sonde_rows *rows, *whole;
	struct sonde_history *other;
	int ret;

	assert_int_equal(sonde_history_open(&other, path, NULL), 0);
	sonde_history_watch(other, &watcher);
	ret = get(&rows, other, table->name);
	if (ret) {
		assert_int_equal(ret, -EINTR);
		assert_null(rows);
		assert_string_equal(asked.phase, table->name);
		assert_int_equal(asked.nr, most + 1);
	}
	sonde_rows_free(rows);
	sonde_history_watch(other, NULL);
	assert_int_equal(get(&rows, other, table->name), 0);
	assert_int_equal(get(&whole, history, table->name), 0);
	are_the_same(rows, whole);
	sonde_rows_free(rows);
	sonde_rows_free(whole);
	sonde_history_close(other);
	return ret;
}

/* Stopped at the first question, or at a later one: the next answer is whole. */
static void a_table_that_was_stopped_is_whole_the_next_time(void **state)
{
	unsigned nr, at_once = 0, later = 0;
	const struct sonde_table *const *tables = sonde_tables(&nr);

	(void)state;
	for (unsigned i = 0; i < nr; i++) {
		at_once += stop(tables[i], 0) == -EINTR;
		later += stop(tables[i], 1) == -EINTR;
	}
	assert_true(at_once > 25);
	assert_true(later > 0);
}

static void other_answers_can_be_stopped(void **state)
{
	const char *names[] = {"one"};
	struct asked asked = {.last = -1};
	struct sonde_watcher watcher = {.progress = progress, .data = &asked};
	int64_t begin = sonde_history_begin(history), end = sonde_history_end(history);
	struct sonde_history *before;
	struct sonde_rows *rows;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_history_open(&before, path, NULL), 0);
	sonde_history_watch(before, &watcher);
	assert_int_equal(sonde_compare(&rows, before, begin, end, history, begin, end, &err),
			 -EINTR);
	assert_null(rows);
	assert_non_null(strstr(err.text, "stopped"));
	assert_int_equal(sonde_vms(&rows, &before, names, 1, &err), -EINTR);
	assert_null(rows);
	sonde_history_close(before);
}

static void count(enum sonde_finding kind, const char *text, void *data)
{
	(void)kind;
	(void)text;
	++*(unsigned *)data;
}

static void a_check_tells_how_far_it_is_and_can_be_stopped(void **state)
{
	const char *const paths[] = {path, SAMPLE};
	struct sonde_check_result result;
	struct sonde_error err;
	unsigned findings = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct asked asked = {.most = UINT32_MAX};
		struct sonde_watcher watcher = {.progress = progress, .data = &asked};
		uint64_t all;

		assert_int_equal(sonde_check(paths[i], count, &findings, &watcher, &result, &err),
				 0);
		assert_false(asked.falls);
		assert_true(asked.last > 0.5);
		all = result.items;

		asked = (struct asked){.most = asked.nr / 2};
		assert_int_equal(sonde_check(paths[i], count, &findings, &watcher, &result, &err),
				 -EINTR);
		assert_true(result.items > 0 && result.items < all);
	}
}

/* Stopped over and over, while what is looked for is nowhere: the end is reached all the same. */
static void events_go_on_after_a_stop(void **state)
{
	struct asked asked = {.most = 0};
	struct sonde_watcher watcher = {.progress = progress, .data = &asked};
	struct sonde_event event;
	struct sonde_events *e;
	unsigned stops = 0;
	int ret;

	(void)state;
	assert_int_equal(sonde_history_events(&e, history, NULL), 0);
	assert_int_equal(sonde_events_only_name(e, "sched_process_exec"), 0);
	assert_int_equal(sonde_events_only_name(e, "kvm_*"), 0);
	sonde_events_watch(e, &watcher);
	while ((ret = sonde_events_next(e, &event))) {
		assert_true(ret == 1 || ret == -EINTR);
		stops += ret == -EINTR;
	}
	assert_true(stops > 0);
	assert_int_equal(stops, asked.nr);
	sonde_events_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_that_was_stopped_is_whole_the_next_time),
		cmocka_unit_test(other_answers_can_be_stopped),
		cmocka_unit_test(a_check_tells_how_far_it_is_and_can_be_stopped),
		cmocka_unit_test(events_go_on_after_a_stop),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
