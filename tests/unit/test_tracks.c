/* SPDX-License-Identifier: Apache-2.0 */
/* Places in attributes' times, of threads and alone, against the history that they are read from.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/sched/thread_tracks.h"
#include "tests/unit/small_history_test.h"

#define FEW 300
#define MANY (TRACK_BLOCK + 1000) /* no block has room for them */
#define STEP ((SMALL_END - SMALL_BEGIN) / MANY)

_Static_assert(STEP > 1, "changes fit into the run");

static void changes(struct history_writer *w)
{
	attr_t app = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	attr_t burn = small_attr(w, "host0", "threads/4", "state", ATTR_ENUM, 0);

	for (uint32_t i = 0; i < MANY; i++) {
		ns_t t = SMALL_BEGIN + (ns_t)i * STEP;

		history_writer_set(w, burn, t, THREAD_RUNNING + i % 3);
		if (i % (MANY / FEW))
			continue;
		history_writer_set(w, app, t + 1, THREAD_RUNNING + i % 4);
		history_writer_set(w, waker, t + 1, 1 + i % 5);
	}
}

static int setup(void **state)
{
	const struct small_world world = {
		.options.ticks_are_ns = true, .of_nested = -1, .changes = changes};

	(void)state;
	return small_world_setup(&world);
}

static ns_t some_time(void)
{
	return SMALL_BEGIN + rand() % (SMALL_END - SMALL_BEGIN);
}

static void is_as_in_the_history(attr_t attr, ns_t t, int ret, const struct sonde_interval *got)
{
	struct sonde_interval i;

	assert_int_equal(ret, 0);
	assert_int_equal(sonde_interval_at(history, attr, t, &i), 0);
	assert_int_equal(got->begin, i.begin);
	assert_int_equal(got->end, i.end);
	assert_int_equal(got->value, i.value);
}

/* Far away, next to it, and just before it, in turn. */
static ns_t next_time(unsigned i, const struct sonde_interval *last)
{
	if (i % 3 == 1 && last->end < SMALL_END)
		return last->end;
	return i % 3 == 2 && last->begin > SMALL_BEGIN ? last->begin - 1 : some_time();
}

static void a_track_tells_any_moment(void **state)
{
	struct interval_cache cache = {.history = history};
	struct track k = {.attr = sonde_attr_of_thread(history, BURN, "state")};
	struct sonde_interval got = {0};

	(void)state;
	assert_int_equal(track_hold(&k, &cache, SMALL_BEGIN - 10, SMALL_BEGIN + 1000), 0);
	for (unsigned i = 0; i < 20000; i++) {
		ns_t t = next_time(i, &got);

		is_as_in_the_history(k.attr, t, track_at(&k, &cache, t, &got), &got);
	}
	assert_int_equal(track_at(&k, &cache, SMALL_END, &got), -ERANGE);
	k = (struct track){.attr = ATTR_NONE};
	assert_int_equal(track_at(&k, &cache, SMALL_BEGIN, &got), -ENOENT);
	interval_cache_release(&cache);
}

static void ask_threads(struct thread_tracks *k)
{
	attr_t app = sonde_attr_of_thread(history, APP, "state");
	attr_t burn = sonde_attr_of_thread(history, BURN, "state");
	attr_t waker = sonde_attr_of_thread(history, APP, "waker");
	struct sonde_interval got = {0};

	for (unsigned i = 0; i < 3000; i++) {
		ns_t t = next_time(i, &got);

		is_as_in_the_history(waker, t, thread_waker_at(k, APP, t, &got), &got);
		is_as_in_the_history(burn, t, thread_state_at(k, BURN, t, &got), &got);
		is_as_in_the_history(app, t, thread_state_at(k, APP, t, &got), &got);
	}
	assert_int_equal(thread_waker_at(k, BURN, SMALL_BEGIN, &got), -ENOENT);
}

struct sums {
	uint64_t nr, sum;
	bool stops;
};

static bool sum_state(const struct sonde_interval *i, void *data)
{
	struct sums *s = data;

	s->nr++;
	s->sum = s->sum * 31 + (uint64_t)(i->begin ^ i->end) + i->value;
	return !s->stops;
}

static void scan_thread(struct thread_tracks *k, int64_t thread, ns_t begin, ns_t end)
{
	struct sums got = {0}, wanted = {0}, first = {.stops = true};

	assert_int_equal(thread_states_scan(k, thread, sum_state, &got), 0);
	sonde_interval_walk(history, sonde_attr_of_thread(history, thread, "state"), begin, end,
			    sum_state, &wanted);
	assert_int_equal(got.nr, wanted.nr);
	assert_int_equal(got.sum, wanted.sum);
	assert_int_equal(thread_states_scan(k, thread, sum_state, &first), 0);
	assert_int_equal(first.nr, 1);
}

/* Moments outside the window are told, too. */
static void threads_are_told_whatever_is_held(void **state)
{
	static const ns_t windows[][2] = {
		{SMALL_BEGIN, SMALL_END}, {SMALL_BEGIN, SMALL_END}, {1400000, 1400300},
		{1390000, 1750000},	  {SMALL_BEGIN, SMALL_END},
	};
	struct thread_tracks *k;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(windows); i++) {
		const ns_t *w = windows[i];

		assert_int_equal(thread_tracks_get(&k, history, w[0], w[1]), 0);
		ask_threads(k);
		scan_thread(k, APP, w[0], w[1]);
		scan_thread(k, BURN, w[0], w[1]);
		ask_threads(k);
		thread_tracks_put(k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_track_tells_any_moment),
		cmocka_unit_test(threads_are_told_whatever_is_held),
	};

	return cmocka_run_group_tests(tests, setup, small_history_teardown);
}
