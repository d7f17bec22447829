/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are kept from one start of serve to the next: the same come back, and nothing else. */
#include "tests/unit/unit.h"

#include "serve/api/cache.h"
#include "tests/unit/small_history_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static char place[64], dir[CACHE_PATH_MAX], file[CACHE_PATH_MAX + 300];

static struct sonde_rows *find(const char *name)
{
	struct sonde_rows *f;

	assert_int_equal(sonde_rows_get(&f, history, name, sonde_history_begin(history),
					sonde_history_end(history), NULL),
			 0);
	return f;
}

static bool loads(const struct sonde_history *of, const struct sonde_table *a)
{
	struct cached c;
	bool there = cache_load(&c, dir, of, a);

	if (there)
		cached_release(&c);
	return there;
}

/* How many files there are; the last one's path is in `file`. */
static unsigned list_files(void)
{
	DIR *list = opendir(dir);
	struct dirent *entry;
	unsigned nr = 0;

	assert_non_null(list);
	while ((entry = readdir(list))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", dir, entry->d_name);
		nr++;
	}
	closedir(list);
	return nr;
}

static size_t read_kept(char *text, size_t room)
{
	FILE *f = fopen(file, "r");
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, room, f);
	fclose(f);
	assert_true(len < room);
	return len;
}

static void write_kept(const char *text, size_t len)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* @line with a sum that fits it. */
static void write_line(const char *line)
{
	static char whole[1 << 17];
	int len = snprintf(whole, sizeof(whole), "%s\n", line);

	len += snprintf(whole + len, sizeof(whole) - (size_t)len, "%016llx\n",
			(unsigned long long)XXH3_64bits(whole, (size_t)len));
	write_kept(whole, (size_t)len);
}

static void the_same_comes_back(void **state)
{
	unsigned nr;
	const struct sonde_table *const *all = sonde_tables(&nr);

	(void)state;
	for (unsigned i = 0; i < nr; i++) {
		struct sonde_rows *f = find(all[i]->name);
		struct cached c;

		assert_false(loads(history, all[i]));
		cache_save(dir, history, f);
		assert_true(cache_load(&c, dir, history, all[i]));
		assert_int_equal(c.total, sonde_rows_nr(f));
		assert_int_equal(c.nr_rows, c.total);
		for (size_t row = 0; row < c.nr_rows; row++) {
			for (unsigned k = 0; k < all[i]->nr_columns; k++) {
				union sonde_cell a = c.cells[row * all[i]->nr_columns + k];
				union sonde_cell b = sonde_rows_cell(f, row, k);

				if (all[i]->columns[k].type == SONDE_COL_STRING)
					assert_string_equal(a.s, b.s ? b.s : "");
				else
					assert_int_equal(a.i, b.i);
			}
		}
		cached_release(&c);
		sonde_rows_free(f);
	}
	assert_int_equal(list_files(), nr);
}

static void damaged(void **state)
{
	struct sonde_rows *f = find("why");
	const struct sonde_table *a = sonde_rows_table(f);
	static char good[1 << 16], bad[1 << 16];
	size_t len;

	(void)state;
	cache_save(dir, history, f);
	assert_int_equal(list_files(), 1);
	len = read_kept(good, sizeof(good));
	for (size_t i = 0; i < len; i += 1 + i % 7) {
		memcpy(bad, good, len);
		bad[i] ^= 1 << i % 7;
		write_kept(bad, len);
		assert_false(loads(history, a));
		write_kept(good, i);
		assert_false(loads(history, a));
	}
	write_kept(good, len);
	assert_true(loads(history, a));
	write_kept("", 0);
	assert_false(loads(history, a));
	cache_save(dir, history, f); /* it is made good again */
	assert_true(loads(history, a));
	sonde_rows_free(f);
}

/* @from in the kept line becomes @to. */
static void change(const char *line, const char *from, const char *to, char *out)
{
	const char *at = strstr(line, from);

	assert_non_null(at);
	sprintf(out, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
}

/* Whoever can write there can write a sum that fits. */
static void hostile(void **state)
{
	struct sonde_rows *f = find("machine_time");
	const struct sonde_table *a = sonde_rows_table(f);
	static char line[1 << 16], bad[1 << 17];
	static const char *const changes[][2] = {
		{"\"rows\":[[0,", "\"rows\":[[99,"},
		{"\"rows\":[[0,", "\"rows\":[[-2,"},
		{"\"rows\":[[0,", "\"rows\":[[\"0\","},
		{"\"rows\":[[0,", "\"rows\":[[null,"},
		{"\"rows\":[[0,", "\"rows\":[[1e3,"},
		{"\"rows\":[[0,", "\"rows\":[[99999999999999999999,"},
		{"\"rows\":[[0,", "\"rows\":[[0,0,"},
		{"\"rows\":[[0,", "\"rows\":[7,[0,"},
		{"\"rows\":[[0,", "\"rows\":[[0],[0,"},
		{"\"rows\":[", "\"rows\":{},\"row\":["},
		{"\"total\":", "\"total\":1"},
		{"\"total\":", "\"total\":-"},
		{"\"total\":", "\"total\":0,\"total\":"},
		{"{\"of\":", "{\"off\":"},
		{"machine_time\"", "cpu_time\""},
		{", run ", ", run 1"},
		{"sonde ", "sonde 9"},
		{"{\"of\"", "[{\"of\""},
	};
	size_t len;

	(void)state;
	cache_save(dir, history, f);
	assert_int_equal(list_files(), 1);
	len = read_kept(line, sizeof(line));
	line[len - 18] = '\0'; /* the sum, and both ends of lines */
	write_line(line);
	assert_true(loads(history, a)); /* so it is not for its sum that it is refused below */
	for (unsigned i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		change(line, changes[i][0], changes[i][1], bad);
		write_line(bad);
		assert_false(loads(history, a));
	}
	memset(bad, '[', sizeof(bad) / 2);
	bad[sizeof(bad) / 2 - 1] = '\0';
	write_line(bad);
	assert_false(loads(history, a));
	/* Not a file, and not a link to one. */
	write_line(line);
	snprintf(bad, sizeof(bad), "%s/.elsewhere", dir);
	assert_int_equal(rename(file, bad), 0);
	assert_int_equal(symlink(bad, file), 0);
	assert_false(loads(history, a));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_false(loads(history, a));
	cache_save(dir, history, f);
	assert_true(loads(history, a));
	sonde_rows_free(f);
}

/* The history was written anew, or only touched, or is another one. */
static void another_file(void **state)
{
	struct sonde_rows *f = find("why");
	const struct sonde_table *a = sonde_rows_table(f);
	struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct sonde_history *other;

	(void)state;
	cache_save(dir, history, f);
	assert_int_equal(sonde_history_open(&other, path, NULL), 0);
	assert_true(loads(other, a));
	sonde_history_close(other);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(sonde_history_open(&other, path, NULL), 0);
	assert_false(loads(other, a));
	sonde_history_close(other);
	assert_true(loads(history, a)); /* which is open still, and reads what it opened */
	sonde_rows_free(f);
}

static void nowhere_to_keep_it(void **state)
{
	struct sonde_rows *f = find("why");
	const struct sonde_table *a = sonde_rows_table(f);

	(void)state;
	assert_int_equal(rmdir(dir), 0);
	cache_save(dir, history, f);
	assert_false(loads(history, a));
	assert_int_equal(symlink("/dev/full", dir), 0);
	cache_save(dir, history, f);
	assert_false(loads(history, a));
	assert_int_equal(unlink(dir), 0);
	setenv("XDG_CACHE_HOME", "not/from/the/root", 1);
	setenv("HOME", "/proc/nowhere", 1);
	assert_true(cache_directory(dir) < 0);
	unsetenv("HOME");
	assert_true(cache_directory(dir) < 0);
	sonde_rows_free(f);
}

static void they_do_not_pile_up(void **state)
{
	struct sonde_rows *f = find("why");
	const struct sonde_table *a = sonde_rows_table(f);
	struct timespec when[2] = {{0}, {0}};

	(void)state;
	for (unsigned i = 0; i < CACHE_FILES_MAX; i++) {
		snprintf(file, sizeof(file), "%s/%u.facts", dir, i);
		write_kept("x", 1);
		when[1].tv_sec = 1000 + (i + 7) % CACHE_FILES_MAX;
		assert_int_equal(utimensat(AT_FDCWD, file, when, 0), 0);
	}
	cache_save(dir, history, f);
	assert_int_equal(list_files(), CACHE_FILES_MAX);
	snprintf(file, sizeof(file), "%s/%u.facts", dir, CACHE_FILES_MAX - 7);
	assert_int_equal(access(file, F_OK), -1); /* it was the oldest */
	assert_true(loads(history, a));
	sonde_rows_free(f);
}

static void empty(void)
{
	char command[sizeof(dir) + 20];

	snprintf(command, sizeof(command), "rm -rf %s", place);
	assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(place, "/tmp/sonde-cache.XXXXXX");
	if (!mkdtemp(place))
		return -1;
	setenv("XDG_CACHE_HOME", place, 1);
	return cache_directory(dir);
}

static int end(void **state)
{
	(void)state;
	empty();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_comes_back, begin, end),
		cmocka_unit_test_setup_teardown(damaged, begin, end),
		cmocka_unit_test_setup_teardown(hostile, begin, end),
		cmocka_unit_test_setup_teardown(another_file, begin, end),
		cmocka_unit_test_setup_teardown(they_do_not_pile_up, begin, end),
		cmocka_unit_test_setup_teardown(nowhere_to_keep_it, begin, end),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
