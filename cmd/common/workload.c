/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cmd/common/workload.h"
#include "base/now.h"
#include "record/base/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_MS 5000

int workload_start(struct workload *w, char **words, struct error *err)
{
	int ret;

	*w = (struct workload){.pidfd = -1};
	if (!words || !*words)
		return 0;
	ret = program_start(&w->pid, (const char *const *)words, -1);
	if (ret) {
		w->pid = 0;
		return fail(err, ret, "cannot start \"%.200s\": %s", *words, strerror(-ret));
	}
	w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->pidfd < 0) {
		ret = fail(err, -errno, "cannot wait for \"%.200s\": %s", *words, strerror(errno));
		workload_stop(w);
		return ret;
	}
	return 0;
}

static void reap(struct workload *w)
{
	pid_t pid;

	do {
		pid = waitpid(w->pid, &w->status, 0);
	} while (pid < 0 && errno == EINTR);
	w->ended = true;
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = -1;
}

bool workload_wait(struct workload *w, int timeout_ms)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

	if (w->ended)
		return true;
	/* A negative descriptor is passed over: poll() then only waits. */
	if (poll(&p, 1, timeout_ms) > 0)
		reap(w);
	return w->ended;
}

/* As workload_wait(), but an interruption does not shorten it. */
static bool wait_whole(struct workload *w, int timeout_ms)
{
	int64_t end_ms = now_ms() + timeout_ms, left_ms = timeout_ms;

	while (!workload_wait(w, (int)left_ms) && left_ms)
		left_ms = end_ms > now_ms() ? end_ms - now_ms() : 0;
	return w->ended;
}

void workload_stop(struct workload *w)
{
	if (!w->pid || w->ended)
		return;
	kill(w->pid, SIGTERM);
	if (wait_whole(w, w->pidfd < 0 ? 0 : STOP_MS))
		return;
	kill(w->pid, SIGKILL);
	if (w->pidfd < 0)
		reap(w);
	else
		wait_whole(w, STOP_MS); /* one that hangs in the kernel is left behind */
}
