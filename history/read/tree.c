/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/reader.h"

#include <errno.h>
#include <stdio.h>

/* What of a history is not a state over time: header, attribute tree, strings, tables. */

int history_file(const struct history *h, char *buf, size_t room)
{
	const struct mapfile *m = &h->of->file;

	return snprintf(buf, room, "%llx:%llx:%llu:%lld:%lld", (unsigned long long)m->device,
			(unsigned long long)m->inode, (unsigned long long)m->len_bytes,
			(long long)m->modified_ns, (long long)m->changed_ns);
}

ns_t history_begin(const struct history *h)
{
	return h->begin;
}

ns_t history_end(const struct history *h)
{
	return h->end;
}

bool history_complete(const struct history *h)
{
	return h->complete;
}

uint64_t history_bytes_behind(const struct history *h)
{
	return h->complete ? h->of->file.len_bytes - h->len_bytes : 0;
}

bool history_ticks_are_ns(const struct history *h)
{
	return h->flags & FILE_TICKS_ARE_NS;
}

bool history_wall_offset(const struct history *h, int64_t *offset_ns)
{
	if (!(h->flags & FILE_WALL_KNOWN))
		return false;
	*offset_ns = h->wall_offset_ns;
	return true;
}

uint32_t history_nr_attrs(const struct history *h)
{
	return h->of->names.nr_attrs;
}

static attr_t child_named(const struct history *h, attr_t parent, const char *name, size_t len)
{
	uint32_t id = names_find(&h->of->names, name, len);

	return id == UINT32_MAX ? ATTR_NONE : names_child(&h->of->names, parent, id);
}

attr_t history_child(const struct history *h, attr_t parent, const char *name)
{
	return child_named(h, parent, name, strlen(name));
}

attr_t history_find(const struct history *h, const char *path)
{
	attr_t attr = ATTR_ROOT;

	while (*path && attr != ATTR_NONE) {
		size_t len = strcspn(path, "/");

		if (len)
			attr = child_named(h, attr, path, len);
		path += len + (path[len] == '/');
	}
	return attr;
}

static const struct name_attr *get(const struct history *h, attr_t attr)
{
	static const struct name_attr none = {
		.parent = ATTR_NONE, .first_child = ATTR_NONE, .next_sibling = ATTR_NONE};

	return attr < h->of->names.nr_attrs ? &h->of->names.attrs[attr] : &none;
}

attr_t history_first_child(const struct history *h, attr_t parent)
{
	return get(h, parent)->first_child;
}

attr_t history_next_sibling(const struct history *h, attr_t attr)
{
	return get(h, attr)->next_sibling;
}

attr_t history_parent(const struct history *h, attr_t attr)
{
	return get(h, attr)->parent;
}

const char *history_attr_name(const struct history *h, attr_t attr)
{
	return strings_get(&h->of->names.strings, get(h, attr)->name);
}

enum attr_type history_attr_type(const struct history *h, attr_t attr)
{
	return get(h, attr)->type;
}

const char *history_string(const struct history *h, uint32_t id)
{
	return strings_get(&h->of->names.strings, id);
}

static const struct name_table *get_table(const struct history *h, int table)
{
	return table >= 0 && (unsigned)table < h->of->names.nr_tables ? &h->of->names.tables[table]
								      : NULL;
}

int history_table(const struct history *h, const char *name)
{
	for (unsigned i = 0; i < h->of->names.nr_tables; i++) {
		if (!strcmp(history_table_name(h, (int)i), name))
			return (int)i;
	}
	return -ENOENT;
}

unsigned history_nr_tables(const struct history *h)
{
	return h->of->names.nr_tables;
}

const char *history_table_name(const struct history *h, int table)
{
	const struct name_table *t = get_table(h, table);

	return t ? strings_get(&h->of->names.strings, t->name) : "";
}

const struct column *history_table_columns(const struct history *h, int table, unsigned *nr)
{
	const struct name_table *t = get_table(h, table);

	*nr = t ? t->nr_columns : 0;
	return t ? t->columns : NULL;
}

int64_t history_nr_rows(const struct history *h, int table)
{
	const struct name_table *t = get_table(h, table);

	return t ? t->nr_rows : 0;
}

int64_t history_cell(const struct history *h, int table, int64_t row, unsigned column)
{
	const struct name_table *t = get_table(h, table);

	if (!t || row < 0 || row >= t->nr_rows || column >= t->nr_columns)
		return -1;
	return t->cells[row * t->nr_columns + column];
}

const int64_t *history_cells(const struct history *h, int table)
{
	const struct name_table *t = get_table(h, table);

	return t ? t->cells : NULL;
}
