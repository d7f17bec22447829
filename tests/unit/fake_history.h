/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_FAKE_HISTORY_H
#define TESTS_UNIT_FAKE_HISTORY_H

#include <stdio.h>

#include "history/history.h"

/*
 * A history writer that only remembers, for tests of what is written: it takes the place of the
 * real one when it is linked in first.  One at a time; fake_reset() before each test.
 */
/* cmocka's fail_msg() needs the macro that unit.h takes away. */
#define FAKE_FAIL(...)                                                                             \
	do {                                                                                       \
		print_error(__VA_ARGS__);                                                          \
		print_error("\n");                                                                 \
		assert_true(false);                                                                \
	} while (0)

#define FAKE_ATTRS 8192
#define FAKE_CHANGES 65536
#define FAKE_STRINGS 8192
#define FAKE_TABLES 32
#ifndef FAKE_ROWS
#define FAKE_ROWS 8192
#endif
#define FAKE_CELLS 24
#define FAKE_BATCH 500 /* changes */

static struct {
	char paths[FAKE_ATTRS][128];
	unsigned nr_attrs;
	struct {
		attr_t attr;
		ns_t t;
		uint32_t value;
	} changes[FAKE_CHANGES];
	unsigned nr_changes;
	char strings[FAKE_STRINGS][64];
	unsigned nr_strings;
	struct {
		const char *name;
		const struct column *columns;
		unsigned nr_columns;
		int64_t rows[FAKE_ROWS][FAKE_CELLS];
		unsigned nr_rows;
	} tables[FAKE_TABLES];
	unsigned nr_tables;
	ns_t last;
	void (*sync)(void *data);
	void *sync_data;
	void (*check_batch)(void); /* the test's: called when a batch has its rows */
} fake;

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.nr_attrs = 1; /* ATTR_ROOT: "" */
	fake.nr_strings = 1;
	fake.last = NS_MIN;
}

attr_t history_writer_attr(struct history_writer *w, attr_t parent, const char *name,
			   enum attr_type type, unsigned flags)
{
	char path[128];

	(void)w, (void)type, (void)flags;
	assert_true(parent < fake.nr_attrs);
	snprintf(path, sizeof(path), "%.60s%s%.60s", fake.paths[parent], parent ? "/" : "", name);
	for (unsigned i = 0; i < fake.nr_attrs; i++) {
		if (!strcmp(fake.paths[i], path))
			return i;
	}
	assert_true(fake.nr_attrs < FAKE_ATTRS);
	strcpy(fake.paths[fake.nr_attrs], path);
	return fake.nr_attrs++;
}

void history_writer_set(struct history_writer *w, attr_t attr, ns_t t, uint32_t value)
{
	(void)w;
	assert_true(attr < fake.nr_attrs);
	assert_true(t >= fake.last);
	fake.last = t;
	assert_true(fake.nr_changes < FAKE_CHANGES);
	if (fake.sync && fake.nr_changes && fake.nr_changes % FAKE_BATCH == 0) {
		fake.sync(fake.sync_data);
		if (fake.check_batch)
			fake.check_batch();
	}
	fake.changes[fake.nr_changes].attr = attr;
	fake.changes[fake.nr_changes].t = t;
	fake.changes[fake.nr_changes++].value = value;
}

uint32_t history_writer_string(struct history_writer *w, const char *text, size_t len_bytes)
{
	char wanted[64];

	(void)w;
	snprintf(wanted, sizeof(wanted), "%.*s", (int)len_bytes, text);
	for (unsigned i = 0; i < fake.nr_strings; i++) {
		if (!strcmp(fake.strings[i], wanted))
			return i;
	}
	assert_true(fake.nr_strings < FAKE_STRINGS);
	strcpy(fake.strings[fake.nr_strings], wanted);
	return fake.nr_strings++;
}

int history_writer_table(struct history_writer *w, const char *name, const struct column *columns,
			 unsigned nr_columns)
{
	(void)w;
	assert_true(fake.nr_tables < FAKE_TABLES && nr_columns <= FAKE_CELLS);
	fake.tables[fake.nr_tables].name = name;
	fake.tables[fake.nr_tables].columns = columns;
	fake.tables[fake.nr_tables].nr_columns = nr_columns;
	return (int)fake.nr_tables++;
}

int64_t history_writer_row(struct history_writer *w, int table, const int64_t *cells)
{
	unsigned row = fake.tables[table].nr_rows++;

	(void)w;
	assert_true(row < FAKE_ROWS);
	memcpy(fake.tables[table].rows[row], cells, fake.tables[table].nr_columns * sizeof(*cells));
	return row;
}

void history_writer_change_row(struct history_writer *w, int table, int64_t row,
			       const int64_t *cells)
{
	(void)w;
	assert_true(row >= 0 && row < fake.tables[table].nr_rows);
	memcpy(fake.tables[table].rows[row], cells, fake.tables[table].nr_columns * sizeof(*cells));
}

void history_writer_end_table(struct history_writer *w, int table, int64_t nr_rows)
{
	(void)w;
	assert_true(nr_rows >= 0 && nr_rows <= fake.tables[table].nr_rows);
	fake.tables[table].nr_rows = (unsigned)nr_rows;
}

void history_writer_before_batch(struct history_writer *w, void (*sync)(void *data), void *data)
{
	(void)w;
	fake.sync = sync;
	fake.sync_data = data;
}

static inline unsigned fake_table(const char *name)
{
	for (unsigned i = 0; i < fake.nr_tables; i++) {
		if (!strcmp(fake.tables[i].name, name))
			return i;
	}
	FAKE_FAIL("no table %s", name);
	return 0;
}

static inline int64_t fake_cell(const char *table, int64_t row, const char *column)
{
	unsigned t = fake_table(table);

	assert_true(row >= 0 && row < fake.tables[t].nr_rows);
	for (unsigned i = 0; i < fake.tables[t].nr_columns; i++) {
		if (!strcmp(fake.tables[t].columns[i].name, column))
			return fake.tables[t].rows[row][i];
	}
	FAKE_FAIL("no column %s", column);
	return 0;
}

static inline unsigned fake_rows(const char *table)
{
	return fake.tables[fake_table(table)].nr_rows;
}

static inline const char *fake_string(const char *table, int64_t row, const char *column)
{
	return fake.strings[fake_cell(table, row, column)];
}

/* The value that the attribute has at @t. */
static inline uint32_t fake_at(const char *path, ns_t t)
{
	uint32_t value = 0;
	bool known = false;

	for (unsigned i = 0; i < fake.nr_attrs; i++)
		known |= !strcmp(fake.paths[i], path);
	if (!known)
		FAKE_FAIL("no attribute %s", path);
	for (unsigned i = 0; i < fake.nr_changes; i++) {
		if (fake.changes[i].t <= t && !strcmp(fake.paths[fake.changes[i].attr], path))
			value = fake.changes[i].value;
	}
	return value;
}

#endif
