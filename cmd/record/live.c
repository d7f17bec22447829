/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cmd/record/live.h"
#include "base/now.h"
#include "record/directory/folder.h"
#include "record/tracers/instance.h"
#include "record/base/remove_directory.h"
#include "record/directory/run.h"
#include "sonde/sonde.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "sonde-top."
#define WINDOW_BYTES (256u << 20) /* of memory, for what is recorded of one window */
#define DEAD_AFTER_S 60
#define WAIT_MS 100

struct live {
	char dir[64];
	int lock;		       /* the directory, locked while we live */
	struct sonde_history *history; /* of the last window */
	int64_t elapsed_since_ns, cpu_since_ns;
	char notice[256];
};

static int64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

/* ---- the directory ------------------------------------------------------------------------- */

/* Memory where there is some: a disk would be busy with what we write, and we would see that. */
static const char *place(void)
{
	return access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm";
}

/* Removes what killed ones left: whoever lives has a lock on his. */
static void remove_dead(const char *where)
{
	DIR *d = opendir(where);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[300];
		struct stat st;
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		fd = openat(dirfd(d), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
		if (!fstat(fd, &st) && st.st_uid == geteuid() &&
		    st.st_mtime + DEAD_AFTER_S < time(NULL) && !flock(fd, LOCK_EX | LOCK_NB))
			remove_tree(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

static int make_directory(struct live *live, struct error *err)
{
	snprintf(live->dir, sizeof(live->dir), "%s/" PREFIX "XXXXXX", place());
	if (!mkdtemp(live->dir)) {
		int code = -errno;

		*live->dir = '\0';
		return fail(err, code, "cannot make a directory in %s: %s", place(),
			    strerror(-code));
	}
	live->lock = open(live->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (live->lock < 0 || flock(live->lock, LOCK_EX | LOCK_NB))
		return fail(err, -errno, "cannot lock %s: %s", live->dir, strerror(errno));
	return 0;
}

int live_open(struct live **out, struct error *err)
{
	struct live *live;
	char tracing[256];
	int ret;

	*out = NULL;
	if (geteuid())
		return fail(
			err, -EACCES,
			"what this machine does now is read from its kernel, for which one has to "
			"be root; a history can be looked at by anybody: sonde top "
			"run.sonde");
	ret = tracefs_usable(tracing, sizeof(tracing), err);
	if (ret)
		return ret;
	live = calloc(1, sizeof(*live));
	if (!live)
		return fail(err, -ENOMEM, "out of memory");
	live->lock = -1;
	remove_dead(place());
	ret = make_directory(live, err);
	live->elapsed_since_ns = now_ns(CLOCK_MONOTONIC);
	live->cpu_since_ns = own_cpu_ns();
	if (ret)
		live_close(live);
	else
		*out = live;
	return ret;
}

void live_close(struct live *live)
{
	if (!live)
		return;
	sonde_history_close(live->history);
	if (*live->dir)
		remove_tree(live->dir);
	if (live->lock >= 0)
		close(live->lock);
	free(live);
}

/* ---- a window ------------------------------------------------------------------------------ */

static void on_notice(const char *text, void *data)
{
	struct live *live = data;

	snprintf(live->notice, sizeof(live->notice), "%s", text);
}

/* Until the time is over, @wait has had enough, or no more can be recorded. */
static int wait_window(struct recorder *r, int64_t until_ns, const struct live_wait *wait,
		       struct error *err)
{
	for (;;) {
		int64_t left_ms = (until_ns - now_ns(CLOCK_MONOTONIC)) / 1000000;
		int ret;

		if (left_ms <= 0)
			return 0;
		if (!wait->wait(left_ms < WAIT_MS ? (int)left_ms : WAIT_MS, wait->data))
			return -EINTR;
		ret = recorder_check(r, err);
		if (ret == -EDQUOT)
			return fail(err, ret,
				    "more than %u MB were recorded in one window; choose a shorter "
				    "one with --delay",
				    WINDOW_BYTES >> 20);
		if (ret)
			return ret;
	}
}

/* Records; @times: CLOCK_MONOTONIC around what is worth looking at. */
static int record(struct live *live, struct run *run, int64_t length_ns,
		  const struct live_wait *wait, int64_t times[2], struct live_cost *cost,
		  struct error *err)
{
	const struct folder_options limit = {.limit_bytes = WINDOW_BYTES};
	const struct record_options options = {
		.tracer = RECORD_FTRACE,
		.purpose = RECORD_CPU | RECORD_WAIT,
		.fold_calls = true,
		.calls_per_s = RECORD_CALLS_PER_S,
		.notice = on_notice,
		.notice_data = live,
	};
	struct run_machine *m = run_add_machine(run, "host0", NULL, err);
	struct recorder *recorder;
	struct sink *sink;
	int ret, stopped;

	if (!m)
		return -ENOMEM;
	snprintf(m->tracer, sizeof(m->tracer), "ftrace");
	ret = folder_open(&sink, m->folder, &limit, err);
	if (ret)
		return ret;
	ret = recorder_start(&recorder, &options, sink, err);
	if (!ret) {
		times[0] = now_ns(CLOCK_MONOTONIC);
		ret = wait_window(recorder, times[0] + length_ns, wait, err);
		times[1] = now_ns(CLOCK_MONOTONIC);
		stopped = recorder_stop(recorder, &m->cost, ret ? NULL : err);
		ret = ret ? ret : stopped;
		m->complete = !ret;
	}
	folder_close(sink);
	cost->events_lost = m->cost.events_lost;
	cost->bytes = m->cost.bytes;
	snprintf(cost->clock, sizeof(cost->clock), "%s", m->cost.clock);
	return ret;
}

static int analyze(struct live *live, const char *dir, struct error *err)
{
	const char *const paths[] = {dir};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1};
	struct sonde_error why = {0};
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "%s/now.sonde", live->dir);
	ret = sonde_analyze(&in, path, NULL, NULL, &why);
	if (!ret)
		ret = sonde_history_open(&live->history, path, &why);
	unlink(path); /* the open run keeps it */
	return ret ? fail(err, ret, "%s", why.text) : 0;
}

static int make_run(struct live *live, int64_t length_ns, const struct live_wait *wait,
		    int64_t times[2], struct live_cost *cost, struct error *err)
{
	char dir[128];
	struct run *run;
	int ret, ended;

	snprintf(dir, sizeof(dir), "%s/now", live->dir);
	ret = run_create(&run, dir, "sonde top", sonde_version(), err);
	if (ret)
		return ret;
	ret = record(live, run, length_ns, wait, times, cost, err);
	if (ret) {
		run_abandon(run);
		return ret;
	}
	ret = run_join(run, err);
	ended = run_end(run, ret ? NULL : err);
	ret = ret ? ret : ended;
	if (!ret)
		ret = analyze(live, dir, err);
	remove_tree(dir);
	return ret;
}

int live_window(struct live *live, int64_t length_ns, const struct live_wait *wait,
		struct live_window *out, struct error *err)
{
	int64_t times[2] = {0}, now, cpu;
	int ret;

	*out = (struct live_window){0};
	sonde_history_close(live->history);
	live->history = NULL;
	ret = make_run(live, length_ns, wait, times, &out->cost, err);
	if (ret)
		return ret;
	out->history = live->history;
	sonde_history_traced(live->history, &out->begin, &out->end);
	/* The run's times are those of CLOCK_MONOTONIC, where its recorder could relate them: then
	 * our own begin and end can be left out. */
	if (times[0] > out->begin && times[1] < out->end && times[0] < times[1]) {
		out->begin = times[0];
		out->end = times[1];
	}
	now = now_ns(CLOCK_MONOTONIC);
	cpu = own_cpu_ns();
	out->cost.watched_ns = out->end - out->begin;
	out->cost.elapsed_ns = now - live->elapsed_since_ns;
	out->cost.cpu_ns = cpu - live->cpu_since_ns;
	snprintf(out->cost.notice, sizeof(out->cost.notice), "%s", live->notice);
	live->elapsed_since_ns = now;
	live->cpu_since_ns = cpu;
	return 0;
}
