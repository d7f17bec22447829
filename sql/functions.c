/* SPDX-License-Identifier: Apache-2.0 */
/* The module and the functions that a connection learns. */
#include "sql/catalog.h"
#include "base/units.h"
#include "sonde/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void answer_error(sqlite3_context *out, const char *text)
{
	sqlite3_result_error(out, text, -1);
}

static void open_history(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_catalog *c = sqlite3_user_data(out);
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	const char *prefix = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : "";
	struct error err = {0};
	struct sql_history *history;
	int ret;

	if (!path || !prefix) {
		answer_error(out, "sonde_open(FILE[, PREFIX]) is expected");
		return;
	}
	/* Held open over all of its tables: an error of the file is told once, as it is. */
	ret = sql_catalog_history(&history, c, path, &err);
	if (!ret) {
		ret = sql_make_tables(sqlite3_context_db_handle(out), c, path, prefix, &err);
		sql_catalog_leave(c, history);
	}
	if (ret < 0)
		answer_error(out, err.text);
	else
		sqlite3_result_int(out, ret);
}

static void read_time(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct sql_catalog *c = sqlite3_user_data(out);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	struct sonde_error err = {0};
	int64_t t;

	(void)argc;
	if (!text)
		return;
	if (!c->histories)
		answer_error(out, "sonde_time(): no history is open");
	else if (sonde_history_time(c->histories->history, text, &t, &err))
		answer_error(out, err.text);
	else
		sqlite3_result_int64(out, t);
}

/* 1234567 -> "1.235 ms" */
static void tell_length(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct sql_catalog *c = sqlite3_user_data(out);
	char text[UNIT_TEXT];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	unit_length(text, sqlite3_value_int64(argv[0]),
		    !c->histories || sonde_history_ticks_are_ns(c->histories->history));
	sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

/* Where the value begins of the field @name, and its length; NULL: there is no such field.  Text
 * stands in double quotes, inside which a backslash protects what follows. */
static const char *find_field(const char *fields, const char *name, size_t *len)
{
	size_t name_len = strlen(name);

	for (const char *p = fields; *p;) {
		const char *value = p + strcspn(p, "= ");
		const char *end = value + (*value == '=');
		bool quoted = false;

		for (; *end && (quoted || *end != ' '); end++) {
			if (quoted && *end == '\\' && end[1])
				end++;
			else if (*end == '"')
				quoted = !quoted;
		}
		if (*value == '=' && (size_t)(value - p) == name_len &&
		    !strncmp(p, name, name_len)) {
			*len = (size_t)(end - value) - 1;
			return value + 1;
		}
		p = end + (*end == ' ');
	}
	return NULL;
}

/* False: @text is no number, or one that SQLite's integers do not hold, as addresses are. */
static bool read_number(const char *text, long long *out)
{
	bool is_hex = !strncmp(text, "0x", 2);
	char *end;

	errno = 0;
	*out = strtoll(text, &end, is_hex ? 16 : 10);
	return end != text && !*end && !errno;
}

/* A number where it is one. */
static void read_field(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const char *fields = (const char *)sqlite3_value_text(argv[0]);
	const char *name = (const char *)sqlite3_value_text(argv[1]);
	const char *value;
	size_t len;
	char number[32];
	long long i;

	(void)argc;
	value = fields && name ? find_field(fields, name, &len) : NULL;
	if (!value)
		return;
	if (len && len < sizeof(number)) {
		memcpy(number, value, len);
		number[len] = '\0';
		if (read_number(number, &i)) {
			sqlite3_result_int64(out, i);
			return;
		}
	}
	if (len >= 2 && *value == '"') {
		value++;
		len -= 2;
	}
	sqlite3_result_text(out, value, (int)len, SQLITE_TRANSIENT);
}

static void put_catalog(void *data)
{
	sql_catalog_put(data);
}

int sql_register(sqlite3 *db, struct sql_catalog *c)
{
	static const struct {
		const char *name;
		int nr_args;
		int flags;
		void (*call)(sqlite3_context *out, int argc, sqlite3_value **argv);
	} functions[] = {
		{"sonde_open", 1, SQLITE_DIRECTONLY, open_history},
		{"sonde_open", 2, SQLITE_DIRECTONLY, open_history},
		{"sonde_time", 1, 0, read_time},
		{"sonde_length", 1, SQLITE_INNOCUOUS, tell_length},
		{"sonde_field", 2, SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, read_field},
	};
	int ret;

	c->users++;
	ret = sqlite3_create_module_v2(db, "sonde", &sql_module, c, put_catalog);
	for (size_t i = 0; i < ARRAY_SIZE(functions) && !ret; i++) {
		c->users++;
		ret = sqlite3_create_function_v2(db, functions[i].name, functions[i].nr_args,
						 SQLITE_UTF8 | functions[i].flags, c,
						 functions[i].call, NULL, NULL, put_catalog);
	}
	return ret;
}
