/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SMALL_HISTORY_TEST_H
#define TESTS_UNIT_SMALL_HISTORY_TEST_H

#include "sonde/history.h"
#include "tests/unit/small_history.h"

/*
 * For a test program whose tests look at a history of small_history.h: it is there, and open, while
 * they run.  A program gives small_history_setup(), or a function of its own that calls
 * small_world_setup(), and small_history_teardown() to cmocka_run_group_tests().
 */
static struct sonde_history *history;
static char path[64];

static inline int small_history_setup(void **state)
{
	(void)state;
	return small_history_write(path) ? -1 : sonde_history_open(&history, path, NULL);
}

static inline int small_world_setup(const struct small_world *world)
{
	return small_world_write(path, world) ? -1 : sonde_history_open(&history, path, NULL);
}

static int small_history_teardown(void **state)
{
	(void)state;
	sonde_history_close(history);
	return unlink(path);
}

#endif
