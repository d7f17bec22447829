/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/cache.h"
#include "query/counts.h"
#include "base/write_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * A file is JSON in one line, {"of": whose rows these are, "total": N, "rows": [[cells]...]}, and
 * a second line: XXH3 of the first, with its end, as 16 hexadecimal digits.
 */
#define SUM_CHARS 16
#define TEXT_MAX 512
#define SUFFIX ".facts"

/* ---- whose --------------------------------------------------------------------------------- */

/* Rows are found by the program as it is: one that was built anew may find others. */
static bool describe_program(char *buf, size_t room)
{
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return false;
	snprintf(buf, room, "%s:%lld:%lld.%09ld", sonde_version(), (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return true;
}

static bool describe(const struct sonde_history *history, const struct sonde_table *a,
		     char buf[static TEXT_MAX])
{
	char program[TEXT_MAX / 3], file[TEXT_MAX / 3];

	if (!describe_program(program, sizeof(program)) ||
	    (size_t)sonde_history_file_id(history, file, sizeof(file)) >= sizeof(file))
		return false;
	return (size_t)snprintf(buf, TEXT_MAX, "sonde %s, run %s, %s", program, file, a->name) <
	       TEXT_MAX;
}

/* A history that is analysed anew at the same path takes the place of what was kept of it. */
static bool name_file(const struct sonde_history *history, const struct sonde_table *a,
		      char buf[static NAME_MAX])
{
	char *path = realpath(sonde_history_path(history), NULL);
	int len = -1;

	if (path)
		len = snprintf(buf, NAME_MAX, "%016" PRIx64 "-%s" SUFFIX,
			       (uint64_t)XXH3_64bits(path, strlen(path)), a->name);
	free(path);
	return len > 0 && len < NAME_MAX;
}

/* ---- the directory ------------------------------------------------------------------------- */

int cache_directory(char dir[static CACHE_PATH_MAX])
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len;

	if (base && *base == '/')
		len = snprintf(dir, CACHE_PATH_MAX, "%s", base);
	else if (home && *home == '/')
		len = snprintf(dir, CACHE_PATH_MAX, "%s/.cache", home);
	else
		return -ENOENT;
	if (len >= CACHE_PATH_MAX - 16)
		return -ENAMETOOLONG;
	mkdir(dir, 0700);
	memcpy(dir + len, "/sonde", sizeof("/sonde"));
	return mkdir(dir, 0700) && errno != EEXIST ? -errno : 0;
}

static bool is_kept_file(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) && !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

/* Makes room for one more. */
static void drop_oldest(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	char oldest[NAME_MAX + 1] = "";
	struct timespec when = {0};
	struct dirent *entry;
	struct stat st;
	unsigned nr = 0;

	if (!list && copy >= 0)
		close(copy);
	while (list && (entry = readdir(list))) {
		if (!is_kept_file(entry->d_name) ||
		    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!nr++ || st.st_mtim.tv_sec < when.tv_sec) {
			when = st.st_mtim;
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
		}
	}
	if (nr >= CACHE_FILES_MAX)
		unlinkat(dir, oldest, 0);
	if (list)
		closedir(list);
}

/* ---- reading ------------------------------------------------------------------------------- */

static char *read_whole(int fd, size_t len)
{
	char *data = malloc(len + 1);
	size_t have = 0;
	ssize_t got = 1;

	while (data && have < len && got > 0) {
		got = read(fd, data + have, len - have);
		have += got > 0 ? (size_t)got : 0;
	}
	if (have == len && data) {
		data[len] = '\0';
		return data;
	}
	free(data);
	return NULL;
}

/* A regular file of this user's own, and no link to one. */
static char *read_file(const char *dir, const char *name, size_t *len)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *data = NULL;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size > 0 && st.st_size <= CACHE_FILE_MAX) {
		*len = (size_t)st.st_size;
		data = read_whole(fd, *len);
	}
	if (fd >= 0)
		close(fd);
	if (at >= 0)
		close(at);
	return data;
}

static void write_sum(const char *data, size_t len, char sum[static SUM_CHARS + 1])
{
	snprintf(sum, SUM_CHARS + 1, "%016" PRIx64, (uint64_t)XXH3_64bits(data, len));
}

/* The bytes of the first line, 0 when the second one does not fit it. */
static size_t check_sum(const char *data, size_t len)
{
	size_t line = len > SUM_CHARS + 1 ? len - SUM_CHARS - 1 : 0;
	char sum[SUM_CHARS + 1];

	write_sum(data, line, sum);
	return line && data[len - 1] == '\n' && !memcmp(data + line, sum, SUM_CHARS) ? line : 0;
}

/* Rows that a column names must be there. */
static int64_t nr_rows_of(const struct sonde_history *history, enum sonde_column_type type)
{
	switch (type) {
	case SONDE_COL_MACHINE:
		return sonde_nr_machines(history);
	case SONDE_COL_CPU:
		return sonde_nr_cpus(history);
	case SONDE_COL_THREAD:
		return sonde_nr_threads(history);
	case SONDE_COL_PID_NS:
		return sonde_nr_pid_ns(history);
	case SONDE_COL_MODE:
		return QUERY_NR_MODES;
	case SONDE_COL_BOOL:
		return 2;
	default:
		return INT64_MAX;
	}
}

static bool take_cell(const struct sonde_history *history, enum sonde_column_type type,
		      const json_t *value, union sonde_cell *out)
{
	if (type == SONDE_COL_STRING) {
		out->s = json_string_value(value);
		return out->s != NULL;
	}
	if (!json_is_integer(value))
		return false;
	out->i = json_integer_value(value);
	if (type == SONDE_COL_TIME)
		return out->i == -1 || (out->i >= sonde_history_begin(history) &&
					out->i <= sonde_history_end(history));
	return type == SONDE_COL_SIGNED || (out->i >= -1 && out->i < nr_rows_of(history, type));
}

static bool take_rows(struct cached *c, const struct sonde_history *history,
		      const struct sonde_table *a, const json_t *rows)
{
	c->nr_rows = json_array_size(rows);
	if (!json_is_array(rows) || c->nr_rows > CACHE_ROWS_MAX || c->nr_rows > c->total)
		return false;
	if (c->nr_rows < CACHE_ROWS_MAX && c->nr_rows < c->total)
		return false;
	c->cells = calloc(c->nr_rows * a->nr_columns + 1, sizeof(*c->cells));
	if (!c->cells)
		return false;
	for (size_t r = 0; r < c->nr_rows; r++) {
		const json_t *row = json_array_get(rows, r);

		if (json_array_size(row) != a->nr_columns)
			return false;
		for (unsigned i = 0; i < a->nr_columns; i++) {
			if (!take_cell(history, a->columns[i].type, json_array_get(row, i),
				       &c->cells[r * a->nr_columns + i]))
				return false;
		}
	}
	return true;
}

static bool take_root(struct cached *c, const struct sonde_history *history,
		      const struct sonde_table *a)
{
	const char *of = json_string_value(json_object_get(c->root, "of"));
	const json_t *total = json_object_get(c->root, "total");
	char want[TEXT_MAX];

	if (!of || !describe(history, a, want) || strcmp(of, want) || !json_is_integer(total) ||
	    json_integer_value(total) < 0)
		return false;
	c->total = (size_t)json_integer_value(total);
	return take_rows(c, history, a, json_object_get(c->root, "rows"));
}

bool cache_load(struct cached *out, const char *dir, const struct sonde_history *history,
		const struct sonde_table *table)
{
	char name[NAME_MAX];
	size_t len = 0;
	char *data;

	*out = (struct cached){0};
	data = name_file(history, table, name) ? read_file(dir, name, &len) : NULL;
	len = data ? check_sum(data, len) : 0;
	if (len)
		out->root = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
	free(data);
	if (out->root && take_root(out, history, table))
		return true;
	cached_release(out);
	return false;
}

void cached_release(struct cached *c)
{
	json_decref(c->root);
	free(c->cells);
	*c = (struct cached){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *row_of(const struct sonde_rows *f, size_t row)
{
	const struct sonde_table *a = sonde_rows_table(f);
	json_t *list = json_array();

	for (unsigned i = 0; i < a->nr_columns; i++) {
		union sonde_cell cell = sonde_rows_cell(f, row, i);

		/* Text that is no UTF-8 makes the row incomplete, and with it the file. */
		if (a->columns[i].type == SONDE_COL_STRING)
			json_array_append_new(list, json_string(cell.s ? cell.s : ""));
		else
			json_array_append_new(list, json_integer(cell.i));
	}
	if (json_array_size(list) == a->nr_columns)
		return list;
	json_decref(list);
	return NULL;
}

/* The first line; NULL: no memory, or it cannot be written so. */
static char *make_text(const struct sonde_history *history, const struct sonde_rows *f)
{
	const struct sonde_table *a = sonde_rows_table(f);
	size_t nr = sonde_rows_nr(f);
	char of[TEXT_MAX], *text = NULL;
	json_t *rows, *root;

	if (!describe(history, a, of))
		return NULL;
	rows = json_array();
	for (size_t r = 0; r < nr && r < CACHE_ROWS_MAX; r++) {
		if (json_array_append_new(rows, row_of(f, r))) {
			json_decref(rows);
			return NULL;
		}
	}
	root = json_pack("{s:s, s:I, s:o}", "of", of, "total", (json_int_t)nr, "rows", rows);
	if (root)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

/* It takes its place when it is whole. */
static void write_file(int dir, const char *name, const char *text, size_t len)
{
	char part[NAME_MAX + 32], sum[SUM_CHARS + 2];
	bool good;
	int fd;

	snprintf(part, sizeof(part), "%s.%ld.part", name, (long)getpid());
	unlinkat(dir, part, 0);
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	write_sum(text, len, sum);
	sum[SUM_CHARS] = '\n';
	good = !write_all(fd, text, len) && !write_all(fd, sum, SUM_CHARS + 1);
	if (close(fd) || !good || renameat(dir, part, dir, name))
		unlinkat(dir, part, 0);
}

void cache_save(const char *dir, const struct sonde_history *history, const struct sonde_rows *rows)
{
	char name[NAME_MAX], *text;
	size_t len;
	int at;

	if (!sonde_history_complete(history) || !name_file(history, sonde_rows_table(rows), name))
		return;
	text = make_text(history, rows);
	len = text ? strlen(text) : 0;
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (len && at >= 0 && len + SUM_CHARS + 2 <= CACHE_FILE_MAX) {
		text[len] = '\n'; /* in place of its end: what is written has a length */
		drop_oldest(at);
		write_file(at, name, text, len + 1);
	}
	free(text);
	if (at >= 0)
		close(at);
}
