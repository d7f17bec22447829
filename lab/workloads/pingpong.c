/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pingpong: two threads wake each other, through a pipe or, with --by futex, a futex.  Each
 * computes for --busy-us, wakes the other and waits.  Given two CPUs, each wake-up needs an
 * interrupt from one CPU to the other.  Both show the same identity, each with its
 * own thread number.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What one side needs; two of these are the whole game. */
struct player {
	const struct workload *w;
	struct player *other;
	uint64_t cpu, busy;
	int pipe[2];	       /* others wake it by writing */
	_Atomic uint32_t turn; /* or by setting this */
	bool futex;
	uint64_t rounds, tid;
	char comm[16];
};

static void wake(struct player *p)
{
	if (!p->futex) {
		if (write(p->pipe[1], "", 1) != 1)
			die("write to the pipe");
		return;
	}
	atomic_store(&p->turn, 1);
	syscall(SYS_futex, &p->turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wait_for_turn(struct player *p)
{
	char c;

	if (!p->futex) {
		if (read(p->pipe[0], &c, 1) != 1)
			die("read from the pipe");
		return;
	}
	while (!atomic_exchange(&p->turn, 0))
		syscall(SYS_futex, &p->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Both end in the same round: the one who sees that time is up still wakes the other, who sees it
 * too. */
static void *play(void *arg)
{
	struct player *p = arg;

	p->tid = my_tid();
	set_comm(p->comm);
	if (p->cpu != UNSET)
		pin_to_cpu(p->cpu);
	for (;; p->rounds++) {
		wait_for_turn(p);
		if (workload_over(p->w))
			break;
		busy_us(p->w, p->w->id, p->busy);
		wake(p->other);
	}
	wake(p->other);
	return NULL;
}

static void player_init(struct player *p, const struct workload *w, unsigned number)
{
	p->w = w;
	snprintf(p->comm, sizeof(p->comm), "%.13s%s", w->comm, number ? "-b" : "-a");
	if (pipe(p->pipe))
		die("pipe");
}

int main(int argc, char **argv)
{
	uint64_t busy = 200, cpu[2] = {UNSET, UNSET};
	const char *by = "pipe";
	struct workload w = {.kind = "pingpong", .waits = "task"};
	const struct option_spec specs[] = {
		{"busy-us", "time of computing between two wake-ups (200)", &busy, NULL},
		{"cpu-a", "CPU of the first thread (any)", &cpu[0], NULL},
		{"cpu-b", "CPU of the second thread (any)", &cpu[1], NULL},
		{"by", "pipe (default) or futex", NULL, &by},
		{NULL, NULL, NULL, NULL},
	};
	struct player players[2] = {0};
	pthread_t second;

	workload_options(&w, argc, argv, specs);
	workload_begin(&w, specs);
	for (unsigned i = 0; i < 2; i++) {
		player_init(&players[i], &w, i);
		players[i].other = &players[!i];
		players[i].cpu = cpu[i];
		players[i].busy = busy;
		players[i].futex = !strcmp(by, "futex");
	}
	errno = pthread_create(&second, NULL, play, &players[1]);
	if (errno)
		die("pthread_create");
	wake(&players[0]);
	play(&players[0]);
	pthread_join(second, NULL);
	workload_end(&w, "periods", players[0].rounds + players[1].rounds, "tid-a", players[0].tid,
		     "tid-b", players[1].tid, NULL);
	return 0;
}
