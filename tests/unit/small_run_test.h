/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SMALL_RUN_TEST_H
#define TESTS_UNIT_SMALL_RUN_TEST_H

#include "sonde/run.h"
#include "tests/unit/small_run.h"

/*
 * For a test program all of whose tests look at the history of small_run.h: it is there, and open,
 * while they run.  The program gives these two functions to cmocka_run_group_tests().
 */
static struct sonde_run *run;
static char path[64];

static int small_run_setup(void **state)
{
	(void)state;
	return small_run_write(path) ? -1 : sonde_run_open(&run, path, NULL);
}

static int small_run_teardown(void **state)
{
	(void)state;
	sonde_run_close(run);
	return unlink(path);
}

#endif
