/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nap: a timer that fires every --every-us, and --busy-us of work each time.  It notes how late it
 * wakes: what a cyclic real-time task would see.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t every = 10000, busy = 100, periods = 0, late_sum = 0, late_max = 0;
	struct workload w = {.kind = "nap", .sleeps = true};
	const struct option_spec specs[] = {
		{"every-us", "period of its timer (10000)", &every, NULL},
		{"busy-us", "time of computing in each period (100)", &busy, NULL},
		{NULL, NULL, NULL, NULL},
	};

	workload_options(&w, argc, argv, specs);
	workload_begin(&w, specs);
	for (uint64_t next = now_ns(); !workload_over(&w); periods++) {
		uint64_t late;

		next += every * 1000;
		sleep_until(next);
		late = now_ns() - next;
		late_sum += late;
		late_max = late > late_max ? late : late_max;
		busy_us(&w, w.id, busy);
		/* A period missed whole is not made up for. */
		if (now_ns() > next + every * 1000)
			next = now_ns();
	}
	workload_end(&w, "periods", periods, "late_sum_ns", late_sum, "late_max_ns", late_max,
		     NULL);
	return 0;
}
