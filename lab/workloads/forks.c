/* SPDX-License-Identifier: Apache-2.0 */

/*
 * forks: many processes that live for --busy-us, one after the other, --gap-us apart (0: at once).
 * They all show the same identity, each with its own thread number.  The parent waits for them.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(const struct workload *w, uint64_t busy)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (!child) {
		busy_us(w, w->id, busy);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
}

int main(int argc, char **argv)
{
	uint64_t busy = 2000, gap = 0, children = 0;
	struct workload w = {.kind = "forks", .waits = "task"};
	const struct option_spec specs[] = {
		{"busy-us", "time each process computes (2000)", &busy, NULL},
		{"gap-us", "time of sleeping between two processes (0)", &gap, NULL},
		{NULL, NULL, NULL, NULL},
	};

	workload_options(&w, argc, argv, specs);
	w.sleeps = gap != 0;
	workload_begin(&w, specs);
	for (; !workload_over(&w); children++) {
		run_child(&w, busy);
		if (gap)
			sleep_us(gap);
	}
	workload_end(&w, "periods", children, NULL);
	return 0;
}
