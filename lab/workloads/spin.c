/* SPDX-License-Identifier: Apache-2.0 */

/*
 * spin: computes for --busy-us, sleeps for --sleep-us, and again.  With --sleep-us 0 it never
 * waits.
 */
#include "workload.h"

#include <stddef.h>

#define PERIOD_US 10000

int main(int argc, char **argv)
{
	uint64_t busy = PERIOD_US, pause = 0, periods = 0;
	struct workload w = {.kind = "spin"};
	const struct option_spec specs[] = {
		{"busy-us", "time of computing (10000)", &busy, NULL},
		{"sleep-us", "time of sleeping after it (0: it never sleeps)", &pause, NULL},
		{NULL, NULL, NULL, NULL},
	};

	workload_options(&w, argc, argv, specs);
	w.sleeps = pause != 0;
	workload_begin(&w, specs);
	for (; !workload_over(&w); periods++) {
		busy_us(&w, w.id, busy);
		if (pause)
			sleep_us(pause);
	}
	workload_end(&w, "periods", periods, NULL);
	return 0;
}
