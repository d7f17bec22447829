/* SPDX-License-Identifier: Apache-2.0 */
/* base/: errors, arenas, maps, string tables, sorting, mapped files. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/key_sort.h"
#include "base/map.h"
#include "base/mapfile.h"
#include "base/strings.h"

static void an_error_says_what_and_the_prefix_says_where(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(fail(&err, -EINVAL, "packet of %d bytes", 17), -EINVAL);
	assert_int_equal(fail_prefix(&err, -EINVAL, "ch0_%d", 3), -EINVAL);
	assert_int_equal(fail_prefix(NULL, -EIO, "nobody listens"), -EIO);
	assert_string_equal(err.text, "ch0_3: packet of 17 bytes");
	assert_int_equal(fail(NULL, -EIO, "nobody listens"), -EIO);
}

static void equal_problems_are_counted_and_the_list_is_bounded(void **state)
{
	struct problems p = {0};

	(void)state;
	for (int i = 0; i < 5; i++)
		problems_add(&p, "again");
	assert_int_equal(p.nr, 1);
	assert_int_equal(p.list[0].count, 5);
	for (int i = 0; i < 1000; i++)
		problems_add(&p, "number %d", i);
	assert_int_equal(p.nr, PROBLEMS_MAX);
	assert_int_equal(p.dropped, 1000 - (PROBLEMS_MAX - 1));
	problems_release(&p);
}

static void an_arena_gives_zeroed_memory_up_to_its_limit(void **state)
{
	struct arena a = {.limit_bytes = 1 << 20};
	size_t got = 0;
	char *p;

	(void)state;
	while ((p = arena_alloc(&a, 1000))) {
		for (int i = 0; i < 1000; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, 1000);
		got += 1000;
	}
	assert_true(got <= 1 << 20 && got > (1 << 20) - 20000);
	assert_null(arena_alloc(&a, SIZE_MAX));
	arena_release(&a);
}

/* Slots that look-ups of all keys walk, per key. */
static double walked(const struct map *m)
{
	uint64_t steps = 0;

	for (uint32_t i = 0; i <= m->mask; i++)
		steps += m->slots[i].used ? ((i - map_home(m, m->slots[i].key)) & m->mask) + 1 : 0;
	return (double)steps / m->nr;
}

/* Chosen for a hash that is known, or as they come. */
static void no_keys_make_a_map_slow(void **state)
{
	const uint64_t factors[] = {
		1,
		UINT64_C(1) << 20,
		UINT64_C(1) << 32,
		UINT64_C(1) << 48,
		UINT64_C(0xf1de83e19937733d), /* the inverse of the golden ratio */
		UINT64_MAX};

	(void)state;
	for (unsigned f = 0; f < ARRAY_SIZE(factors); f++) {
		struct map m = {0};

		for (uint64_t i = 1; i <= 30000; i++)
			assert_int_equal(map_put(&m, i * factors[f], 0), 0);
		assert_true(walked(&m) < 20);
		map_release(&m);
	}
}

/* What a process's hashes depend on, another one's do not. */
static void each_process_has_a_secret_of_its_own(void **state)
{
	uint64_t secrets[3];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(secrets); i++) {
		FILE *f = popen("exec /proc/$PPID/exe --secret", "r");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%" SCNx64, &secrets[i]), 1);
		assert_int_equal(pclose(f), 0);
		assert_true(secrets[i] & 1 && secrets[i] != hash_secret());
		assert_true(!i || secrets[i] != secrets[i - 1]);
	}
	assert_true(hash_secret() == hash_secret());
}

static void a_map_keeps_what_an_array_keeps(void **state)
{
	enum { KEYS = 4096 };
	static uint32_t expect[KEYS]; /* value + 1, 0 = absent */
	struct map m = {0};
	unsigned present = 0;

	(void)state;
	srand(7);
	for (int step = 0; step < 200000; step++) {
		uint32_t k = (uint32_t)rand() % KEYS;
		uint64_t key = k * UINT64_C(0x100000000); /* clustered on purpose */

		if (rand() % 3) {
			present += !expect[k];
			expect[k] = (uint32_t)step + 1;
			assert_int_equal(map_put(&m, key, (uint32_t)step), 0);
		} else {
			assert_int_equal(map_del(&m, key), expect[k] != 0);
			present -= expect[k] != 0;
			expect[k] = 0;
		}
		assert_int_equal(m.nr, present);
	}
	for (uint32_t k = 0; k < KEYS; k++) {
		uint32_t *v = map_get(&m, k * UINT64_C(0x100000000));

		assert_int_equal(v ? *v + 1 : 0, expect[k]);
	}
	map_clear(&m);
	assert_null(map_get(&m, 0));
	map_release(&m);
}

static void equal_strings_have_one_id(void **state)
{
	struct strings s = {0};
	char text[32];
	uint32_t id;

	(void)state;
	assert_int_equal(strings_put(&s, "", 0), 0);
	id = strings_put(&s, "qemu\0kvm", 8);
	assert_int_equal(strings_put(&s, "qemu\0kvm", 8), id);
	assert_int_not_equal(strings_put(&s, "qemu", 4), id);
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "thread-%d", i);
		assert_int_equal(strings_put(&s, text, strlen(text)), 3 + i);
	}
	assert_string_equal(strings_get(&s, 3 + 77), "thread-77");
	assert_string_equal(strings_get(&s, 1000000), "");
	strings_release(&s);
}

static void a_mapped_file_has_the_files_bytes_and_errors_name_the_file(void **state)
{
	char path[] = "/tmp/sonde-test-XXXXXX";
	struct error err = {0};
	struct mapfile m;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(mapfile_open(&m, path, &err), 0);
	assert_int_equal(m.len_bytes, 0);
	mapfile_release(&m);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(mapfile_open(&m, path, &err), 0);
	assert_int_equal(m.len_bytes, 3);
	assert_memory_equal(m.data, "abc", 3);
	mapfile_release(&m);
	close(fd);
	unlink(path);
	assert_int_equal(mapfile_open(&m, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(mapfile_open(&m, "/tmp", &err), -EINVAL);
}

static void an_array_grows_and_stays_as_it_was_when_it_cannot(void **state)
{
	struct {
		uint64_t *list;
		uint32_t nr, room;
	} few = {0};
	struct {
		char (*list)[1 << 16];
		size_t nr, room;
	} large = {.room = SIZE_MAX >> 16, .nr = SIZE_MAX >> 16};

	(void)state;
	for (; few.nr < 1000; few.nr++) {
		assert_true(room_for_one(&few.list, few.nr, &few.room));
		few.list[few.nr] = few.nr;
	}
	for (unsigned i = 0; i < few.nr; i++)
		assert_int_equal(few.list[i], i);
	free(few.list);
	few.room = few.nr = UINT32_MAX;
	few.list = NULL;
	assert_false(room_for_one(&few.list, few.nr, &few.room));
	assert_int_equal(few.room, UINT32_MAX);
	assert_false(room_for_one(&large.list, large.nr, &large.room));
	assert_null(large.list);
}

/* Keys below @differ, with a sign, in lists that are sorted in either way; what has the same key
 * stays in order. */
static void check_sorting(uint32_t nr, uint64_t differ)
{
	struct sort_item *items = malloc((2 * (size_t)nr + 1) * sizeof(*items));
	int64_t *numbers = malloc(((size_t)nr + 1) * sizeof(*numbers));
	uint64_t seed = nr + differ;

	for (uint32_t i = 0; i < nr; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		numbers[i] = (int64_t)((seed >> 1) % differ) - (int64_t)(differ / 2);
		items[i] = (struct sort_item){sort_key(numbers[i]), i};
	}
	key_sort(items, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(items[i].key, sort_key(numbers[items[i].at]));
	for (uint32_t i = 1; i < nr; i++) {
		const struct sort_item *a = &items[i - 1], *b = &items[i];

		assert_true(numbers[a->at] < numbers[b->at] ||
			    (numbers[a->at] == numbers[b->at] && a->at < b->at));
	}
	free(numbers);
	free(items);
}

static void lists_are_sorted_by_their_keys(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 3, 100, 511, 512, 513, 5000};
	static const uint64_t differ[] = {1, 2, 3000, 1ull << 34, 1ull << 62};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(differ); k++)
			check_sorting(sizes[i], differ[k]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_says_what_and_the_prefix_says_where),
		cmocka_unit_test(equal_problems_are_counted_and_the_list_is_bounded),
		cmocka_unit_test(an_arena_gives_zeroed_memory_up_to_its_limit),
		cmocka_unit_test(an_array_grows_and_stays_as_it_was_when_it_cannot),
		cmocka_unit_test(a_map_keeps_what_an_array_keeps),
		cmocka_unit_test(no_keys_make_a_map_slow),
		cmocka_unit_test(each_process_has_a_secret_of_its_own),
		cmocka_unit_test(equal_strings_have_one_id),
		cmocka_unit_test(lists_are_sorted_by_their_keys),
		cmocka_unit_test(a_mapped_file_has_the_files_bytes_and_errors_name_the_file),
	};

	if (argc == 2 && !strcmp(argv[1], "--secret"))
		return printf("%" PRIx64 "\n", hash_secret()) < 0;
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
