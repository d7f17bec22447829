/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: an analysis of the shipped sample in which the Nth request for memory is
 * refused, for many N.  It must say so, or have needed none of it; it must not crash, nor leave
 * anything behind (the sanitized build looks for leaks).
 *
 * The Makefile links this program with --wrap: only what Sonde asks for is counted and refused, not
 * what libraries ask for.
 */
#include "tests/unit/unit.h"

#include "sonde/analyze.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long requests;
static long refuse_from, refuse_to; /* 1 is the first; 0 = none is refused */

static bool refused(void)
{
	long nr = atomic_fetch_add(&requests, 1) + 1;

	if (!refuse_from || nr < refuse_from || nr > refuse_to)
		return false;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t len);
void *__real_calloc(size_t nr, size_t len);
void *__real_realloc(void *p, size_t len);
void *__real_reallocarray(void *p, size_t nr, size_t len);
void *__real_aligned_alloc(size_t align, size_t len);
char *__real_strdup(const char *s);

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t nr, size_t len);
void *__wrap_realloc(void *p, size_t len);
void *__wrap_reallocarray(void *p, size_t nr, size_t len);
void *__wrap_aligned_alloc(size_t align, size_t len);
char *__wrap_strdup(const char *s);

void *__wrap_malloc(size_t len)
{
	return refused() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t nr, size_t len)
{
	return refused() ? NULL : __real_calloc(nr, len);
}

void *__wrap_realloc(void *p, size_t len)
{
	return refused() ? NULL : __real_realloc(p, len);
}

void *__wrap_reallocarray(void *p, size_t nr, size_t len)
{
	return refused() ? NULL : __real_reallocarray(p, nr, len);
}

void *__wrap_aligned_alloc(size_t align, size_t len)
{
	return refused() ? NULL : __real_aligned_alloc(align, len);
}

char *__wrap_strdup(const char *s)
{
	return refused() ? NULL : __real_strdup(s);
}

static char output[64];
static const char *input = "samples/lttng";

/* One analysis; requests @from to @to are refused. */
static int analyze(unsigned threads, long from, long to, struct sonde_analyze_result *result,
		   struct sonde_error *err)
{
	const char *paths[] = {input};
	struct sonde_inputs inputs = {.paths = paths, .nr_paths = 1, .threads = threads};
	int ret;

	*err = (struct sonde_error){0};
	atomic_store(&requests, 0);
	refuse_from = from;
	refuse_to = to;
	ret = sonde_analyze(&inputs, output, NULL, result, err);
	refuse_from = 0;
	return ret;
}

/* Each of the first requests, then @tries more. */
static long next_request(long at, long all, int tries)
{
	long step = at < 60 ? 1 : (all - 60) / tries;

	return at + (step > 0 ? step : 1);
}

#define TRIES 60

/* From some request on there is no memory at all. */
static void test_gone(void **state)
{
	struct sonde_analyze_result result;
	struct sonde_error err;
	long all;

	(void)state;
	assert_int_equal(analyze(1, 0, 0, &result, &err), 0);
	all = atomic_load(&requests);
	assert_true(all > 200);
	for (long at = 1; at <= all; at = next_request(at, all, TRIES)) {
		int ret = analyze(1, at, INT64_MAX, &result, &err);
		bool fine = ret == -ENOMEM && err.code == ret && err.text[0];

		if (!fine)
			print_error("from request %ld of %ld on: %d, %d \"%s\"\n", at, all, ret,
				    err.code, err.text);
		assert_true(fine);
	}
}

/* Just one request is refused.  Some can be done without: a problem that is not noted, say.  But
 * then everything else is as it should be. */
static void test_one(void **state)
{
	struct sonde_analyze_result whole, result;
	struct sonde_error err;
	long all;

	(void)state;
	assert_int_equal(analyze(1, 0, 0, &whole, &err), 0);
	all = atomic_load(&requests);
	for (long at = 1; at <= all; at = next_request(at, all, TRIES)) {
		int ret = analyze(1, at, at, &result, &err);
		bool fine = ret ? ret == -ENOMEM && err.text[0]
				: result.events == whole.events && result.traces == whole.traces &&
					    result.machines == whole.machines;

		if (!fine)
			print_error("request %ld of %ld: %d \"%s\", %llu events\n", at, all, ret,
				    err.text, (unsigned long long)result.events);
		assert_true(fine);
	}
}

static void link_into(const char *folder, const char *part, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];

	assert_non_null(realpath("samples/lttng/vm-a", from));
	strcat(strcat(from, "/"), name);
	snprintf(to, sizeof(to), "%s/%s", folder, part);
	mkdir(to, 0700);
	strcat(strcat(to, "/"), name);
	assert_int_equal(symlink(from, to), 0);
}

/* Three parts of one trace; what the third has is in the others, too. */
static void test_parts(void **state)
{
	static const char *const list[][2] = {
		{"a", "metadata"}, {"a", "ch0_0"}, {"b", "metadata"}, {"b", "ch0_1"},
		{"c", "metadata"}, {"c", "ch0_0"}, {"c", "ch0_1"},
	};
	char folder[] = "/tmp/sonde-memory-XXXXXX";
	char command[64];

	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		link_into(folder, list[i][0], list[i][1]);
	input = folder;
	test_gone(state);
	test_one(state);
	input = "samples/lttng";
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
}

/* A perf.data of two CPUs. */
static void test_perf_data(void **state)
{
	input = "tests/fuzz/corpus/perf/file";
	test_gone(state);
	test_one(state);
	input = "samples/lttng";
}

/* With threads the order of requests differs from run to run. */
static void test_threads(void **state)
{
	struct sonde_analyze_result result;
	struct sonde_error err;
	long all;

	(void)state;
	assert_int_equal(analyze(3, 0, 0, &result, &err), 0);
	all = atomic_load(&requests);
	for (long at = 1; at < all - 20; at += all / 40 + 1)
		assert_int_equal(analyze(3, at, INT64_MAX, &result, &err), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone),	cmocka_unit_test(test_one),
		cmocka_unit_test(test_parts),	cmocka_unit_test(test_perf_data),
		cmocka_unit_test(test_threads),
	};
	int ret;

	snprintf(output, sizeof(output), "/tmp/sonde-memory-%d.sonde", (int)getpid());
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(output);
	return ret;
}
