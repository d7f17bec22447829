/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/names.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

/*
 * Payload of a names part: u8 method (0 plain, 1 zstd), varint length of the plain bytes, varint
 * length of the bytes that follow, these bytes, and padding.  The plain bytes are never longer
 * than PLAIN_RATIO_MAX times the payload, so a reader's memory is bounded by the file's size.
 *
 * The plain bytes are any number of rounds, each (numbers as varints unless said otherwise):
 *   number of new strings; column by column: how many bytes each begins with like the one before
 *   it (as far as COMMON_MAX), how many more it has, and these
 *   number of new attributes; column by column: name, 0 when it is the string behind the last of
 *   those told before, else its number + 1; signed difference of the parent to the guess, which is
 *   the parent of the last attribute whose told name had the same remainder (struct names_guess);
 *   u8 type | flags << 4
 *   number of new tables; each: name, number of columns; each column: name, u8 type
 *   for every table: number of new rows; column by column each cell's signed difference to the
 *   one above it; number of changed cells; each: row, column, signed value.  The column after the
 *   last one, with value 0: the table ends before this row
 */
#define PLAIN_RATIO_MAX 1024
#define ZSTD_LEVEL 3
#define COMMON_MAX 31 /* so that a reader's memory is bounded */

/* Bytes that string @i begins with like the one before it, as far as that is told. */
static size_t common_bytes(const struct strings *s, uint32_t i)
{
	size_t same = 0;

	while (same < COMMON_MAX && same < s->len_bytes[i] && same < s->len_bytes[i - 1] &&
	       s->list[i][same] == s->list[i - 1][same])
		same++;
	return same;
}

static void put_strings(struct names *n, struct bytes *out)
{
	const struct strings *s = &n->strings;
	uint32_t first = n->nr_put_strings;

	bytes_put_varint(out, s->nr - first);
	for (uint32_t i = first; i < s->nr; i++)
		bytes_put_varint(out, common_bytes(s, i));
	for (uint32_t i = first; i < s->nr; i++)
		bytes_put_varint(out, s->len_bytes[i] - common_bytes(s, i));
	for (uint32_t i = first; i < s->nr; i++) {
		size_t same = common_bytes(s, i);

		bytes_put(out, s->list[i] + same, s->len_bytes[i] - same);
	}
	n->nr_put_strings = s->nr;
}

/* How a name is told; the guess goes on. */
static uint64_t name_code(struct names_guess *g, uint32_t name)
{
	uint64_t code = name == g->next_name ? 0 : name + 1ull;

	if (name >= g->next_name)
		g->next_name = name + 1;
	return code;
}

static uint32_t *parent_guess(struct names_guess *g, uint64_t code)
{
	return &g->parents[code % NAMES_GUESSES];
}

static void put_attrs(struct names *n, struct bytes *out)
{
	uint32_t first = n->nr_put_attrs;
	struct names_guess g = n->guess;

	bytes_put_varint(out, n->nr_attrs - first);
	for (uint32_t i = first; i < n->nr_attrs; i++)
		bytes_put_varint(out, name_code(&g, n->attrs[i].name));
	for (uint32_t i = first; i < n->nr_attrs; i++) {
		uint32_t *guess = parent_guess(&n->guess, name_code(&n->guess, n->attrs[i].name));

		bytes_put_signed(out, (int64_t)n->attrs[i].parent - *guess);
		*guess = n->attrs[i].parent;
	}
	for (uint32_t i = first; i < n->nr_attrs; i++)
		bytes_put_u8(out, (uint8_t)(n->attrs[i].type | n->attrs[i].flags << 4));
	n->nr_put_attrs = n->nr_attrs;
}

static void put_rows(struct name_table *t, struct bytes *out)
{
	bytes_put_varint(out, (uint64_t)(t->nr_rows - t->nr_put));
	for (unsigned c = 0; c < t->nr_columns; c++) {
		uint64_t last = 0;

		for (int64_t r = t->nr_put; r < t->nr_rows; r++) {
			uint64_t cell = (uint64_t)t->cells[r * t->nr_columns + c];

			bytes_put_signed(out, (int64_t)(cell - last));
			last = cell;
		}
	}
	bytes_put_varint(out, t->nr_patches);
	for (size_t i = 0; i < t->nr_patches; i++) {
		const struct table_patch *p = &t->patches[i];

		bytes_put_varint(out, (uint64_t)p->row);
		bytes_put_varint(out, p->column);
		bytes_put_signed(out, p->column == t->nr_columns
					      ? 0
					      : t->cells[p->row * t->nr_columns + p->column]);
	}
	t->nr_patches = 0;
	t->nr_put = t->nr_rows;
}

void names_put(struct names *n, struct bytes *out)
{
	put_strings(n, out);
	put_attrs(n, out);
	bytes_put_varint(out, n->nr_tables - n->nr_put_tables);
	for (unsigned i = n->nr_put_tables; i < n->nr_tables; i++) {
		const struct name_table *t = &n->tables[i];

		bytes_put_varint(out, t->name);
		bytes_put_varint(out, t->nr_columns);
		for (unsigned c = 0; c < t->nr_columns; c++) {
			bytes_put_varint(out, t->column_names[c]);
			bytes_put_u8(out, (uint8_t)t->columns[c].type);
		}
	}
	n->nr_put_tables = n->nr_tables;
	for (unsigned i = 0; i < n->nr_tables; i++)
		put_rows(&n->tables[i], out);
}

void names_pack(const struct bytes *plain, struct bytes *out)
{
	struct bytes packed = {0};
	size_t bound = ZSTD_compressBound(plain->len_bytes);
	uint8_t *p = bytes_room(&packed, bound);
	size_t len = p ? ZSTD_compress(p, bound, plain->data, plain->len_bytes, ZSTD_LEVEL) : 0;
	bool use = p && !ZSTD_isError(len) && len < plain->len_bytes;
	size_t need = plain->len_bytes / PLAIN_RATIO_MAX + 1;

	bytes_put_u8(out, use);
	bytes_put_varint(out, plain->len_bytes);
	bytes_put_varint(out, use ? len : plain->len_bytes);
	bytes_put(out, use ? p : plain->data, use ? len : plain->len_bytes);
	while (out->len_bytes < need && !out->failed)
		bytes_put_u8(out, 0);
	if (plain->failed)
		out->failed = true;
	bytes_release(&packed);
}

/* A string of @same bytes of the one before it, and those at @text. */
static int apply_string(struct names *n, uint64_t same, const uint8_t *text, uint64_t len)
{
	const struct strings *s = &n->strings;
	uint32_t want = s->nr, id;
	struct bytes whole = {0};

	if (same > COMMON_MAX || same > s->len_bytes[want - 1] || len >= UINT32_MAX - COMMON_MAX)
		return -EINVAL;
	if (same) {
		bytes_put(&whole, s->list[want - 1], same);
		bytes_put(&whole, text, len);
		text = whole.data;
		len += same;
	}
	id = whole.failed ? UINT32_MAX : strings_put(&n->strings, (const char *)text, len);
	bytes_release(&whole);
	if (id == UINT32_MAX)
		return -ENOMEM;
	return id == want ? 0 : -EINVAL;
}

/* Columns are read beside each other, each by a cursor of its own: skips @nr numbers. */
static void skip_numbers(struct cursor *c, uint64_t nr)
{
	while (nr-- && !c->bad)
		cursor_varint(c);
}

static int apply_strings(struct names *n, struct cursor *c)
{
	uint64_t nr = cursor_varint(c);
	struct cursor same = *c, len;
	int ret = 0;

	skip_numbers(c, nr);
	len = *c;
	skip_numbers(c, nr);
	while (nr-- && !c->bad && !ret) {
		uint64_t len_bytes = cursor_varint(&len);
		const uint8_t *text = cursor_take(c, len_bytes);

		ret = text ? apply_string(n, cursor_varint(&same), text, len_bytes) : -EINVAL;
	}
	return c->bad ? -EINVAL : ret;
}

/* Makes the next attribute; 0, -EINVAL, -ENOMEM. */
static int apply_attr(struct names *n, uint64_t code, int64_t from_guess, unsigned type)
{
	uint64_t name = code ? code - 1 : n->guess.next_name;
	uint32_t *guess = parent_guess(&n->guess, code);
	uint64_t parent = *guess + (uint64_t)from_guess;
	uint32_t want = n->nr_attrs;
	attr_t attr;

	if (name >= n->strings.nr || parent >= want || name_code(&n->guess, (uint32_t)name) != code)
		return -EINVAL;
	*guess = (uint32_t)parent;
	attr = names_attr(n, (attr_t)parent, (uint32_t)name, type & 15, type >> 4);
	if (attr == want)
		return 0;
	return attr == ATTR_NONE ? -ENOMEM : -EINVAL;
}

static int apply_attrs(struct names *n, struct cursor *c)
{
	uint64_t nr = cursor_varint(c);
	struct cursor names = *c, parents;
	int ret = 0;

	skip_numbers(c, nr);
	parents = *c;
	skip_numbers(c, nr);
	while (nr-- && !c->bad && !ret) {
		uint64_t name = cursor_varint(&names);
		int64_t parent = cursor_signed(&parents);
		const uint8_t *type = cursor_take(c, 1);

		ret = type ? apply_attr(n, name, parent, *type) : -EINVAL;
	}
	return c->bad ? -EINVAL : ret;
}

static int apply_tables(struct names *n, struct cursor *c)
{
	uint64_t nr = cursor_varint(c);

	while (nr-- && !c->bad) {
		uint32_t column_names[NAMES_COLUMNS_MAX];
		enum column_type types[NAMES_COLUMNS_MAX];
		uint64_t name = cursor_varint(c);
		uint64_t nr_columns = cursor_varint(c);
		int ret;

		if (c->bad || name >= n->strings.nr || nr_columns > NAMES_COLUMNS_MAX)
			return -EINVAL;
		for (uint64_t i = 0; i < nr_columns; i++) {
			uint64_t column_name = cursor_varint(c);
			const uint8_t *type = cursor_take(c, 1);

			if (c->bad || column_name >= n->strings.nr || *type > COL_BOOL)
				return -EINVAL;
			column_names[i] = (uint32_t)column_name;
			types[i] = *type;
		}
		ret = names_table(n, (uint32_t)name, column_names, types, (unsigned)nr_columns);
		if (ret < 0)
			return ret;
	}
	return c->bad ? -EINVAL : 0;
}

static int apply_patch(struct name_table *t, uint64_t row, uint64_t column, int64_t cell)
{
	if (row > INT64_MAX || column > t->nr_columns)
		return -EINVAL;
	if (column == t->nr_columns)
		return names_end_table(t, (int64_t)row);
	return names_cell(t, (int64_t)row, (unsigned)column, cell);
}

static int apply_rows(struct name_table *t, struct cursor *c)
{
	uint64_t nr = cursor_varint(c);
	uint64_t nr_patches;

	if (c->bad || nr > (uint64_t)(c->end - c->p) / t->nr_columns)
		return -EINVAL;
	if (names_row_room(t, (int64_t)nr))
		return -ENOMEM;
	for (unsigned col = 0; nr && col < t->nr_columns; col++) {
		int64_t *cell = t->cells + t->nr_rows * t->nr_columns + col;
		uint64_t last = 0;

		for (uint64_t r = 0; r < nr; r++, cell += t->nr_columns) {
			last += (uint64_t)cursor_signed(c);
			*cell = (int64_t)last;
		}
	}
	t->nr_rows += (int64_t)nr;
	nr_patches = cursor_varint(c);
	while (nr_patches-- && !c->bad) {
		uint64_t row = cursor_varint(c);
		uint64_t column = cursor_varint(c);
		int64_t cell = cursor_signed(c);

		if (c->bad || apply_patch(t, row, column, cell))
			return -EINVAL;
	}
	return c->bad ? -EINVAL : 0;
}

static int apply_round(struct names *n, struct cursor *c)
{
	int ret = apply_strings(n, c);

	if (!ret)
		ret = apply_attrs(n, c);
	if (!ret)
		ret = apply_tables(n, c);
	for (unsigned i = 0; !ret && i < n->nr_tables; i++)
		ret = apply_rows(&n->tables[i], c);
	return ret;
}

static int apply_plain(struct names *n, const uint8_t *plain, uint64_t len_bytes)
{
	struct cursor c = {.p = plain, .end = plain + len_bytes};
	int ret = 0;

	while (c.p < c.end && !ret)
		ret = apply_round(n, &c);
	return ret;
}

int names_apply(struct names *n, const uint8_t *payload, uint64_t len_bytes)
{
	struct cursor c = {.p = payload, .end = payload + len_bytes};
	const uint8_t *method = cursor_take(&c, 1);
	uint64_t plain_len = cursor_varint(&c);
	uint64_t stored_len = cursor_varint(&c);
	const uint8_t *stored = cursor_take(&c, stored_len);
	uint8_t *plain;
	int ret = -EINVAL;

	if (c.bad || plain_len / PLAIN_RATIO_MAX > len_bytes)
		return -EINVAL;
	if (!*method)
		return apply_plain(n, stored, stored_len);
	plain = malloc(plain_len ? plain_len : 1);
	if (!plain)
		return -ENOMEM;
	if (ZSTD_decompress(plain, plain_len, stored, stored_len) == plain_len)
		ret = apply_plain(n, plain, plain_len);
	free(plain);
	return ret;
}
