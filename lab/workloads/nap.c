/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nap: a timer that fires every --every-us, and --busy-us of work each time.  It notes how late it
 * wakes: what a cyclic real-time task would see.  With --list N it prints the first N of its
 * wake-ups when it ends, a line each: the TSC when it was back in user space, and how late that
 * was.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#define LIST_MAX 4096

/* One wake-up. */
struct wake {
	uint64_t tsc, late_ns;
};

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

static void print_wakes(const struct wake *wakes, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		printf("{\"at\":\"wake\",\"tsc\":%" PRIu64 ",\"late_ns\":%" PRIu64 "}\n",
		       wakes[i].tsc, wakes[i].late_ns);
}

int main(int argc, char **argv)
{
	static struct wake wakes[LIST_MAX];
	uint64_t list = 0, listed = 0;
	uint64_t every = 10000, busy = 100, periods = 0, late_sum = 0, late_max = 0;
	struct workload w = {.kind = "nap", .sleeps = true};
	const struct option_spec specs[] = {
		{"every-us", "period of its timer (10000)", &every, NULL},
		{"busy-us", "time of computing in each period (100)", &busy, NULL},
		{"list", "how many of its wake-ups it prints, up to 4096 (0)", &list, NULL},
		{NULL, NULL, NULL, NULL},
	};

	workload_options(&w, argc, argv, specs);
	if (list > LIST_MAX)
		list = LIST_MAX;
	workload_begin(&w, specs);
	for (uint64_t next = now_ns(); !workload_over(&w); periods++) {
		uint64_t late;

		next += every * 1000;
		sleep_until(next);
		late = now_ns() - next;
		if (listed < list)
			wakes[listed++] = (struct wake){tsc_now(), late};
		late_sum += late;
		late_max = late > late_max ? late : late_max;
		busy_us(&w, w.id, busy);
		/* A period missed whole is not made up for. */
		if (now_ns() > next + every * 1000)
			next = now_ns();
	}
	print_wakes(wakes, listed);
	workload_end(&w, "periods", periods, "late_sum_ns", late_sum, "late_max_ns", late_max,
		     NULL);
	return 0;
}
