/* SPDX-License-Identifier: Apache-2.0 */

/*
 * switches: two threads on one CPU hand a byte to and fro, --rounds times, and that --repeat times:
 * a fixed amount of work that is nothing but wake-ups and switches, two of each per round.  The
 * last line says what each repetition took on the TSC: with QEMU's -icount that is a number of
 * instructions, and what a tracer adds to it is the tracer's cost.
 *
 * A round has a second way to go: a thread that is woken and has run less than the other takes the
 * CPU at once, in the midst of the other's write(), and has answered before that one reads: one
 * wake-up fewer.  The scheduler does so until both have run equally long (some 10 ms), which is a
 * different number of rounds each time.  With --preempt 0 it never does (SCHED_BATCH), so that all
 * rounds are the same work.  The last line counts how often a thread lost the CPU against its will
 * in each repetition, which tells the two ways apart.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct side {
	int from, to;
	uint64_t rounds;
};

static void take(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("read from the pipe");
}

static void give(int fd)
{
	if (write(fd, "", 1) != 1)
		die("write to the pipe");
}

static void *answer(void *arg)
{
	const struct side *s = arg;

	for (uint64_t i = 0; i < s->rounds; i++) {
		take(s->from);
		give(s->to);
	}
	return NULL;
}

/* How often a thread of this process lost the CPU against its will. */
static uint64_t preempted(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		die("getrusage");
	return (uint64_t)usage.ru_nivcsw;
}

static uint64_t play(const struct side *s, uint64_t rounds)
{
	uint64_t begin = tsc_now();

	for (uint64_t i = 0; i < rounds; i++) {
		give(s->to);
		take(s->from);
	}
	return tsc_now() - begin;
}

int main(int argc, char **argv)
{
	uint64_t rounds = 1000, repeat = 5, cpu = 0, preempt = 1;
	const struct sched_param no_priority = {0};
	struct workload w = {.kind = "switches", .waits = "task"};
	const struct option_spec specs[] = {
		{"rounds", "there and back, per repetition (1000)", &rounds, NULL},
		{"repeat", "repetitions (5)", &repeat, NULL},
		{"cpu", "CPU of both threads (0)", &cpu, NULL},
		{"preempt", "0: who is woken waits its turn (1)", &preempt, NULL},
		{NULL, NULL, NULL, NULL},
	};
	uint64_t *tsc, *taken;
	struct side sides[2];
	pthread_t second;
	int there[2], back[2];

	workload_options(&w, argc, argv, specs);
	pin_to_cpu(cpu);
	if (!preempt && sched_setscheduler(0, SCHED_BATCH, &no_priority))
		die("sched_setscheduler");
	tsc = calloc(repeat + 1, sizeof(*tsc));
	taken = calloc(repeat + 1, sizeof(*taken));
	if (!tsc || !taken)
		die("calloc");
	if (pipe(there) || pipe(back))
		die("pipe");
	sides[0] = (struct side){back[0], there[1], 0};
	sides[1] = (struct side){there[0], back[1], rounds * repeat};
	workload_begin(&w, specs);
	errno = pthread_create(&second, NULL, answer, &sides[1]);
	if (errno)
		die("pthread_create");
	for (uint64_t i = 0; i < repeat; i++) {
		uint64_t before = preempted();

		tsc[i] = play(&sides[0], rounds);
		taken[i] = preempted() - before;
	}
	printf("{\"rounds\":%" PRIu64 ",", rounds);
	print_numbers("tsc", tsc, repeat);
	printf(",");
	print_numbers("preempted", taken, repeat);
	printf("}\n");
	pthread_join(second, NULL);
	free(tsc);
	free(taken);
	workload_end(&w, "rounds", rounds * repeat, NULL);
	return 0;
}
