/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history/history.h"
#include "history/parts/names.h"

#include <cmocka.h>

/* What of a history is not a state over time: header, attribute tree, strings, tables. */
#define NR_ROWS 50000
#define NR_CHANGES 200000 /* several groups */

static char path[64];

static int64_t cell_of(int64_t row, unsigned column)
{
	switch (column) {
	case 0:
		return row * 7919 - 100000;
	case 1:
		return row % 3 ? INT64_MAX - row : INT64_MIN + row;
	default:
		return row % 2;
	}
}

static struct history_writer *open_writer(bool wall_known)
{
	const struct history_writer_options opt = {.threads = 1,
						   .ticks_are_ns = true,
						   .wall_known = wall_known,
						   .wall_offset_ns = -123456789012345};
	struct history_writer *w;

	snprintf(path, sizeof(path), "/tmp/test_history_names.%d.sonde", getpid());
	assert_int_equal(history_writer_open(&w, path, &opt, NULL), 0);
	return w;
}

static struct history *reopen(struct history_writer *w, ns_t end)
{
	struct error err = {0};
	struct history *h = NULL;
	int ret = history_writer_close(w, end, &err);

	if (!ret)
		ret = history_open(&h, path, &err);
	if (ret)
		print_message("%s\n", err.text);
	assert_int_equal(ret, 0);
	unlink(path);
	return h;
}

static void header(void **state)
{
	int64_t offset = 0;
	struct history *h = reopen(open_writer(true), 5);

	(void)state;
	assert_true(history_ticks_are_ns(h));
	assert_true(history_wall_offset(h, &offset));
	assert_int_equal(offset, -123456789012345);
	history_close(h);
	h = reopen(open_writer(false), 5);
	assert_false(history_wall_offset(h, &offset));
	history_close(h);
}

static void tree(void **state)
{
	struct history_writer *w = open_writer(false);
	attr_t host = history_writer_attr(w, ATTR_ROOT, "host0", ATTR_DIR, 0);
	attr_t cpu = history_writer_attr(w, host, "cpu0", ATTR_DIR, 0);
	attr_t runs = history_writer_attr(w, cpu, "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t name = history_writer_attr(w, cpu, "name", ATTR_STRING, 0);
	struct history *h;

	(void)state;
	assert_int_equal(history_writer_attr(w, cpu, "runs", ATTR_ROW, 0), runs);
	assert_int_equal(history_writer_attr(w, 77, "orphan", ATTR_ROW, 0), ATTR_NONE);
	h = reopen(w, 5);
	assert_int_equal(history_nr_attrs(h), 5);
	assert_int_equal(history_find(h, "host0/cpu0/runs"), runs);
	assert_int_equal(history_find(h, "/host0//cpu0/name/"), name);
	assert_int_equal(history_find(h, ""), ATTR_ROOT);
	assert_int_equal(history_find(h, "host0/cpu1"), ATTR_NONE);
	assert_int_equal(history_child(h, host, "cpu0"), cpu);
	assert_int_equal(history_first_child(h, cpu), runs);
	assert_int_equal(history_next_sibling(h, runs), name);
	assert_int_equal(history_next_sibling(h, name), ATTR_NONE);
	assert_int_equal(history_parent(h, name), cpu);
	assert_int_equal(history_parent(h, ATTR_ROOT), ATTR_NONE);
	assert_string_equal(history_attr_name(h, cpu), "cpu0");
	assert_int_equal(history_attr_type(h, runs), ATTR_ROW);
	assert_int_equal(history_first_child(h, 12345), ATTR_NONE);
	history_close(h);
}

static void strings(void **state)
{
	struct history_writer *w = open_writer(false);
	uint32_t hello = history_writer_string(w, "hello", 5);
	uint32_t bytes = history_writer_string(w, "\xff\x01 bytes", 8);
	struct history *h;

	(void)state;
	assert_int_equal(history_writer_string(w, "hello world", 5), hello);
	assert_int_equal(history_writer_string(w, "", 0), 0);
	h = reopen(w, 5);
	assert_string_equal(history_string(h, hello), "hello");
	assert_string_equal(history_string(h, bytes), "\xff\x01 bytes");
	assert_string_equal(history_string(h, 0), "");
	assert_string_equal(history_string(h, 4000000000u), "");
	history_close(h);
}

/* Rows are written in several pieces, cells changed before and after they went to the file. */
static void tables(void **state)
{
	static const struct column columns[] = {
		{"time", COL_NS}, {"number", COL_INT}, {"flag", COL_BOOL}};
	struct history_writer *w = open_writer(false);
	attr_t attrs[2000];
	int table = history_writer_table(w, "things", columns, 3);
	int other = history_writer_table(w, "others", columns, 1);
	const struct column *got;
	struct history *h;
	unsigned nr;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		attrs[i] = history_writer_attr(w, ATTR_ROOT, name, ATTR_NUMBER, 0);
	}
	for (int64_t i = 0; i < NR_ROWS; i++) {
		int64_t cells[3] = {cell_of(i, 0), -5, cell_of(i, 2)};

		assert_int_equal(history_writer_row(w, table, cells), i);
		for (unsigned k = 0; k < 20; k++)
			history_writer_set(w, attrs[(i * 20 + k) % 2000], i, (uint32_t)i + 1);
		history_writer_cell(w, table, i, 1, 17);
		history_writer_cell(w, table, i / 2, 1, cell_of(i / 2, 1));
	}
	for (int64_t i = 0; i < NR_ROWS; i++)
		history_writer_cell(w, table, i, 1, cell_of(i, 1));
	assert_int_equal(history_writer_row(w, 17, NULL), -EINVAL);
	h = reopen(w, NR_ROWS);
	assert_int_equal(history_nr_tables(h), 2);
	assert_int_equal(history_table(h, "things"), table);
	assert_int_equal(history_table(h, "others"), other);
	assert_int_equal(history_table(h, "nothing"), -ENOENT);
	assert_string_equal(history_table_name(h, other), "others");
	got = history_table_columns(h, table, &nr);
	assert_int_equal(nr, 3);
	assert_string_equal(got[1].name, "number");
	assert_int_equal(got[2].type, COL_BOOL);
	assert_int_equal(history_nr_rows(h, other), 0);
	assert_int_equal(history_nr_rows(h, table), NR_ROWS);
	for (int64_t i = 0; i < NR_ROWS; i++) {
		for (unsigned c = 0; c < 3; c++)
			assert_int_equal(history_cell(h, table, i, c), cell_of(i, c));
	}
	history_close(h);
}

/* Rows that are in the file, and rows that are not, are dropped. */
static void ended_tables(void **state)
{
	static const struct column columns[] = {{"number", COL_INT}};
	struct history_writer *w = open_writer(false);
	int early = history_writer_table(w, "early", columns, 1);
	int late = history_writer_table(w, "late", columns, 1);
	attr_t attr = history_writer_attr(w, ATTR_ROOT, "a", ATTR_NUMBER, 0);
	struct history *h;

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		history_writer_row(w, early, &i);
	for (int64_t i = 0; i < NR_CHANGES; i++)
		history_writer_set(w, attr, i, (uint32_t)i + 1);
	for (int64_t i = 0; i < 10; i++) {
		int64_t cell = i + 100;

		history_writer_row(w, late, &i);
		history_writer_change_row(w, early, i, &cell);
	}
	history_writer_end_table(w, early, 7);
	history_writer_end_table(w, late, 3);
	h = reopen(w, NR_CHANGES);
	assert_int_equal(history_nr_rows(h, early), 7);
	assert_int_equal(history_nr_rows(h, late), 3);
	assert_int_equal(history_cell(h, early, 6, 0), 106);
	assert_int_equal(history_cell(h, late, 2, 0), 2);
	history_close(h);
}

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t len = 0;

	for (; v >= 0x80; v >>= 7)
		to[len++] = (uint8_t)(v | 0x80);
	to[len++] = (uint8_t)v;
	return len;
}

/* A piece of names, not packed: one table, called by @name, of so many columns. */
static int apply_table(uint64_t name, uint64_t columns)
{
	static uint8_t plain[1 << 16], payload[1 << 16];
	struct names n = {0};
	size_t len, at;
	int ret;

	len = put_varint(plain, 0);
	len += put_varint(plain + len, 0);
	len += put_varint(plain + len, 1);
	len += put_varint(plain + len, name);
	len += put_varint(plain + len, columns);
	memset(plain + len, 0,
	       columns * 2 + 2); /* each: a name, a type; then no row and no patch */
	len += columns * 2 + 2;
	payload[0] = 0;
	at = 1 + put_varint(payload + 1, len);
	at += put_varint(payload + at, len);
	memcpy(payload + at, plain, len);
	assert_int_equal(names_init(&n), 0);
	ret = names_apply(&n, payload, at + len);
	names_release(&n);
	return ret;
}

/* Of a file whose checksums are right. */
static void tables_that_cannot_be(void **state)
{
	(void)state;
	assert_int_equal(apply_table(0, NAMES_COLUMNS_MAX), 0);
	assert_int_equal(apply_table(0, NAMES_COLUMNS_MAX + 1), -EINVAL);
	assert_int_equal(apply_table(0, 20000), -EINVAL);
	assert_int_equal(apply_table(0, 0), -EINVAL);
	assert_int_equal(apply_table(1, 2), -EINVAL); /* a name that is not there */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header),	cmocka_unit_test(tree),
		cmocka_unit_test(strings),	cmocka_unit_test(tables),
		cmocka_unit_test(ended_tables), cmocka_unit_test(tables_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
