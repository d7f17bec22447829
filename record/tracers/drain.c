/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* splice(), F_SETPIPE_SZ */
#include "record/tracers/drain.h"
#include "base/now.h"
#include "record/base/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define PERIOD_MS 1000
#define EVENTS_AT_ONCE 16
#define PAUSE_US 2000 /* after a wake-up that brought nothing */

struct worker {
	struct drain *drain;
	pthread_t thread;
	unsigned number;
	int epoll;
	int stop; /* eventfd */
	int pipe[2];
	int *raw;     /* by CPU: trace_pipe_raw + 1, or 0 */
	bool *online; /* by CPU: at the last look */
	char *page;   /* when the sink cannot splice, and for partly filled pages */
	uint64_t cpu_ns;
	bool running;
};

struct drain {
	const struct instance *instance;
	struct sink *sink;
	size_t page_bytes;
	unsigned nr_cpus; /* that can be */
	atomic_uint_fast64_t bytes;
	atomic_int failed;
	pthread_mutex_t lock; /* of error */
	struct error error;
	struct worker *workers;
	unsigned nr_workers;
};

static bool is_failed(struct drain *d)
{
	return atomic_load_explicit(&d->failed, memory_order_relaxed);
}

/* The first failure counts; nothing is recorded from then on. */
static void drain_failed(struct drain *d, int code, const struct error *err)
{
	pthread_mutex_lock(&d->lock);
	if (!d->failed) {
		d->error = *err;
		atomic_store(&d->failed, code);
		instance_switch((struct instance *)d->instance, false, NULL);
	}
	pthread_mutex_unlock(&d->lock);
}

/* Gives the sink what is in the pipe. */
static int empty_pipe(struct worker *w, unsigned cpu, size_t len_bytes)
{
	struct drain *d = w->drain;
	struct error err = {0};

	while (len_bytes) {
		ssize_t n;
		int ret = 0;

		if (d->sink->ops->splice) {
			n = d->sink->ops->splice(d->sink, SINK_CPU, cpu, w->pipe[0], len_bytes,
						 &err);
			ret = n < 0 ? (int)n : 0;
		} else {
			n = read(w->pipe[0], w->page,
				 len_bytes < PIPE_BYTES ? len_bytes : PIPE_BYTES);
			ret = n < 0 ? fail(&err, -errno, "cannot read a pipe: %s", strerror(errno))
				    : d->sink->ops->write(d->sink, SINK_CPU, cpu, w->page,
							  (size_t)n, &err);
		}
		if (ret) {
			drain_failed(d, ret, &err);
			return ret;
		}
		len_bytes -= (size_t)n;
		atomic_fetch_add_explicit(&d->bytes, (uint64_t)n, memory_order_relaxed);
	}
	return 0;
}

/* Moves all full pages of @cpu; true when there were any. */
static bool drain_cpu(struct worker *w, unsigned cpu)
{
	bool any = false;

	while (!is_failed(w->drain)) {
		ssize_t n = splice(w->raw[cpu] - 1, NULL, w->pipe[1], NULL, PIPE_BYTES,
				   SPLICE_F_NONBLOCK);

		if (n <= 0 || empty_pipe(w, cpu, (size_t)n))
			break;
		any = true;
	}
	return any;
}

/* With tracing off: the page that was being filled, and what splice() leaves behind. */
static void drain_rest(struct worker *w, unsigned cpu)
{
	struct drain *d = w->drain;
	struct error err = {0};

	drain_cpu(w, cpu);
	while (!is_failed(d)) {
		ssize_t n = read(w->raw[cpu] - 1, w->page, d->page_bytes);
		int ret;

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)d->page_bytes)
			break;
		ret = d->sink->ops->write(d->sink, SINK_CPU, cpu, w->page, (size_t)n, &err);
		if (ret)
			drain_failed(d, ret, &err);
		else
			atomic_fetch_add(&d->bytes, (uint64_t)n);
	}
}

static void add_cpu(struct worker *w, unsigned cpu)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = cpu};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = openat(w->drain->instance->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev)) {
		close(fd);
		return;
	}
	w->raw[cpu] = fd + 1;
}

/* Adds the CPUs of this worker that are online by now. */
static void look_for_cpus(struct worker *w)
{
	unsigned nr = w->drain->nr_cpus;

	memset(w->online, 0, nr * sizeof(*w->online));
	cpu_list("online", w->online, nr);
	for (unsigned cpu = 0; cpu < nr; cpu++) {
		if (w->online[cpu] && !w->raw[cpu] && cpu / DRAIN_CPUS_PER_THREAD == w->number)
			add_cpu(w, cpu);
	}
}

static void drain_all(struct worker *w)
{
	look_for_cpus(w);
	for (unsigned cpu = 0; cpu < w->drain->nr_cpus; cpu++) {
		if (w->raw[cpu])
			drain_cpu(w, cpu);
	}
}

/* Until told to stop: whose buffer is half full, and each second all. */
static void serve(struct worker *w)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int64_t next_ms = now_ms() + PERIOD_MS;

	for (;;) {
		int64_t left_ms = next_ms - now_ms();
		int nr = epoll_wait(w->epoll, events, EVENTS_AT_ONCE,
				    left_ms > 0 ? (int)left_ms : 0);
		bool any = false;

		for (int i = 0; i < nr; i++) {
			if (events[i].data.u32 == UINT32_MAX)
				return;
			any |= drain_cpu(w, events[i].data.u32);
		}
		/* A buffer so small that one page being filled is half of it. */
		if (nr > 0 && !any)
			usleep(PAUSE_US);
		if (now_ms() >= next_ms) {
			drain_all(w);
			next_ms = now_ms() + PERIOD_MS;
		}
	}
}

static void *worker_main(void *data)
{
	struct worker *w = data;

	serve(w);
	for (unsigned cpu = 0; cpu < w->drain->nr_cpus; cpu++) {
		if (w->raw[cpu])
			drain_rest(w, cpu);
	}
	w->cpu_ns = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static int worker_start(struct worker *w)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = UINT32_MAX};

	w->raw = calloc(w->drain->nr_cpus, sizeof(*w->raw));
	w->online = calloc(w->drain->nr_cpus, sizeof(*w->online));
	w->page = malloc(PIPE_BYTES);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->stop = eventfd(0, EFD_CLOEXEC);
	if (!w->raw || !w->online || !w->page)
		return -ENOMEM;
	if (w->epoll < 0 || w->stop < 0 || pipe2(w->pipe, O_CLOEXEC) ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->stop, &ev))
		return -errno;
	/* A smaller pipe works, too. */
	if (fcntl(w->pipe[1], F_SETPIPE_SZ, PIPE_BYTES) < 0 && errno == EBADF)
		return -errno;
	look_for_cpus(w);
	w->running = !pthread_create(&w->thread, NULL, worker_main, w);
	return w->running ? 0 : -EAGAIN;
}

static void worker_end(struct worker *w)
{
	uint64_t one = 1;

	if (w->running && write(w->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(w->thread, NULL);
	for (unsigned cpu = 0; w->raw && cpu < w->drain->nr_cpus; cpu++) {
		if (w->raw[cpu])
			close(w->raw[cpu] - 1);
	}
	for (int i = 0; i < 2; i++) {
		if (w->pipe[i] >= 0)
			close(w->pipe[i]);
	}
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->stop >= 0)
		close(w->stop);
	free(w->raw);
	free(w->online);
	free(w->page);
}

int drain_start(struct drain **out, const struct instance *in, struct sink *sink, struct error *err)
{
	struct drain *d = calloc(1, sizeof(*d));
	int ret = 0;

	*out = NULL;
	if (!d)
		return fail(err, -ENOMEM, "out of memory");
	d->instance = in;
	d->sink = sink;
	d->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	d->nr_cpus = cpu_list("possible", NULL, 0);
	if (!d->nr_cpus) {
		free(d);
		return fail(err, -ENODEV,
			    "the kernel does not tell which CPUs there are: is sysfs mounted "
			    "(mount -t sysfs sysfs /sys)?");
	}
	pthread_mutex_init(&d->lock, NULL);
	d->nr_workers = (d->nr_cpus + DRAIN_CPUS_PER_THREAD - 1) / DRAIN_CPUS_PER_THREAD;
	d->workers = calloc(d->nr_workers, sizeof(*d->workers));
	for (unsigned i = 0; d->workers && i < d->nr_workers; i++) {
		d->workers[i] = (struct worker){
			.drain = d, .number = i, .epoll = -1, .stop = -1, .pipe = {-1, -1}};
	}
	for (unsigned i = 0; d->workers && i < d->nr_workers && !ret; i++)
		ret = worker_start(&d->workers[i]);
	if (ret || !d->workers) {
		ret = fail(err, ret ? ret : -ENOMEM, "cannot start to read the trace buffers: %s",
			   strerror(ret ? -ret : ENOMEM));
		drain_stop(d, NULL, NULL, NULL);
		return ret;
	}
	*out = d;
	return 0;
}

uint64_t drain_bytes(const struct drain *d)
{
	return atomic_load(&((struct drain *)d)->bytes);
}

int drain_check(struct drain *d, struct error *err)
{
	int ret;

	pthread_mutex_lock(&d->lock);
	ret = d->failed;
	if (ret && err)
		*err = d->error;
	pthread_mutex_unlock(&d->lock);
	return ret;
}

int drain_stop(struct drain *d, uint64_t *cpu_ns, uint64_t *bytes, struct error *err)
{
	int ret;

	if (!d)
		return 0;
	for (unsigned i = 0; d->workers && i < d->nr_workers; i++) {
		worker_end(&d->workers[i]);
		if (cpu_ns)
			*cpu_ns += d->workers[i].cpu_ns;
	}
	if (bytes)
		*bytes += drain_bytes(d);
	ret = drain_check(d, err);
	pthread_mutex_destroy(&d->lock);
	free(d->workers);
	free(d);
	return ret;
}
