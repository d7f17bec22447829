/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/names.h"

#include <errno.h>
#include <stdlib.h>

/* Doubles an array when it is full. */
static int grow(void *array, size_t *room, size_t need, size_t item_bytes)
{
	void **a = array;
	size_t more = *room ? *room : 64;
	void *p;

	if (need <= *room)
		return 0;
	while (more < need)
		more *= 2;
	p = realloc(*a, more * item_bytes);
	if (!p)
		return -ENOMEM;
	*a = p;
	*room = more;
	return 0;
}

int names_init(struct names *n)
{
	memset(n, 0, sizeof(*n));
	if (strings_put(&n->strings, "", 0) == UINT32_MAX)
		return -ENOMEM;
	n->attrs = calloc(64, sizeof(*n->attrs));
	if (!n->attrs)
		return -ENOMEM;
	n->attr_room = 64;
	n->attrs[0] = (struct name_attr){.parent = ATTR_NONE,
					 .first_child = ATTR_NONE,
					 .last_child = ATTR_NONE,
					 .next_sibling = ATTR_NONE,
					 .type = ATTR_DIR};
	n->nr_attrs = n->nr_put_attrs = 1;
	n->nr_put_strings = 1;
	return 0;
}

void names_release(struct names *n)
{
	for (unsigned i = 0; i < n->nr_tables; i++) {
		free(n->tables[i].columns);
		free(n->tables[i].column_names);
		free(n->tables[i].cells);
		free(n->tables[i].patches);
	}
	free(n->tables);
	free(n->attrs);
	map_release(&n->children);
	strings_release(&n->strings);
	memset(n, 0, sizeof(*n));
}

uint32_t names_find(const struct names *n, const char *text, size_t len_bytes)
{
	return strings_find(&n->strings, text, len_bytes);
}

attr_t names_child(const struct names *n, attr_t parent, uint32_t name)
{
	uint32_t *place = map_get(&n->children, (uint64_t)parent << 32 | name);

	return place ? *place : ATTR_NONE;
}

attr_t names_attr(struct names *n, attr_t parent, uint32_t name, unsigned type, unsigned flags)
{
	attr_t attr = names_child(n, parent, name);
	size_t room = n->attr_room;

	if (attr != ATTR_NONE || parent >= n->nr_attrs || n->nr_attrs == ATTR_NONE - 1)
		return attr;
	if (grow(&n->attrs, &room, n->nr_attrs + 1, sizeof(*n->attrs)))
		return ATTR_NONE;
	n->attr_room = (uint32_t)room;
	attr = n->nr_attrs;
	if (map_put(&n->children, (uint64_t)parent << 32 | name, attr))
		return ATTR_NONE;
	n->attrs[attr] = (struct name_attr){.parent = parent,
					    .first_child = ATTR_NONE,
					    .last_child = ATTR_NONE,
					    .next_sibling = ATTR_NONE,
					    .name = name,
					    .type = (uint8_t)type,
					    .flags = (uint8_t)flags};
	if (n->attrs[parent].first_child == ATTR_NONE)
		n->attrs[parent].first_child = attr;
	else
		n->attrs[n->attrs[parent].last_child].next_sibling = attr;
	n->attrs[parent].last_child = attr;
	n->nr_attrs++;
	return attr;
}

int names_table(struct names *n, uint32_t name, const uint32_t *column_names,
		const enum column_type *types, unsigned nr_columns)
{
	struct name_table t = {.name = name, .nr_columns = nr_columns};
	void *tables;

	if (!nr_columns || nr_columns > NAMES_COLUMNS_MAX || n->nr_tables == NAMES_TABLES_MAX)
		return -EINVAL;
	tables = realloc(n->tables, (n->nr_tables + 1) * sizeof(*n->tables));
	if (!tables)
		return -ENOMEM;
	n->tables = tables;
	t.columns = calloc(nr_columns, sizeof(*t.columns));
	t.column_names = calloc(nr_columns, sizeof(*t.column_names));
	if (!t.columns || !t.column_names) {
		free(t.columns);
		free(t.column_names);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < nr_columns; i++) {
		t.column_names[i] = column_names[i];
		t.columns[i].name = strings_get(&n->strings, column_names[i]);
		t.columns[i].type = types[i];
	}
	n->tables[n->nr_tables] = t;
	return (int)n->nr_tables++;
}

int names_row_room(struct name_table *t, int64_t more)
{
	size_t room = (size_t)t->room * t->nr_columns;
	int ret = grow(&t->cells, &room, (size_t)(t->nr_rows + more) * t->nr_columns,
		       sizeof(*t->cells));

	t->room = (int64_t)(room / t->nr_columns);
	return ret;
}

int names_row(struct name_table *t, const int64_t *cells)
{
	if (t->ended)
		return -EINVAL;
	if (t->nr_rows == t->room && names_row_room(t, 1))
		return -ENOMEM;
	memcpy(t->cells + t->nr_rows * t->nr_columns, cells, t->nr_columns * sizeof(*cells));
	t->nr_rows++;
	return 0;
}

static int note_patch(struct name_table *t, int64_t row, unsigned column)
{
	if (grow(&t->patches, &t->patch_room, t->nr_patches + 1, sizeof(*t->patches)))
		return -ENOMEM;
	t->patches[t->nr_patches++] = (struct table_patch){.row = row, .column = column};
	return 0;
}

int names_cell(struct name_table *t, int64_t row, unsigned column, int64_t cell)
{
	int64_t *place;

	if (row < 0 || row >= t->nr_rows || column >= t->nr_columns)
		return -EINVAL;
	place = &t->cells[row * t->nr_columns + column];
	if (*place == cell)
		return 0;
	*place = cell;
	return row < t->nr_put ? note_patch(t, row, column) : 0;
}

int names_change_row(struct name_table *t, int64_t row, const int64_t *cells)
{
	int ret = 0;

	if (row < 0 || row >= t->nr_rows)
		return -EINVAL;
	if (!memcmp(&t->cells[row * t->nr_columns], cells, t->nr_columns * sizeof(*cells)))
		return 0;
	for (unsigned i = 0; i < t->nr_columns && !ret; i++)
		ret = names_cell(t, row, i, cells[i]);
	return ret;
}

/* The cells stay where they are: changes of them may still have to be written. */
int names_end_table(struct name_table *t, int64_t nr_rows)
{
	if (nr_rows < 0 || nr_rows > t->nr_rows)
		return -EINVAL;
	t->ended = true;
	t->nr_rows = nr_rows;
	if (nr_rows >= t->nr_put)
		return 0;
	t->nr_put = nr_rows;
	return note_patch(t, nr_rows, t->nr_columns);
}
