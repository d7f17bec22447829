/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* gettid() */
#include "serve/workers/queue.h"
#include "base/now.h"
#include "serve/api/first_picture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The line of each worker. */
static const enum line line_of[] = {LINE_QUICK, LINE_QUICK, LINE_SLOW, LINE_TRACES};
#define NR_WORKERS (sizeof(line_of) / sizeof(*line_of))
#define LINE_MAX_JOBS 64
#define AHEAD_QUIET_NS 1000000000 /* who is asked nothing for so long reads ahead */
#define AHEAD_REST 4		  /* times as long as it took to read a little ahead */
/* more than the others', of workers that do not draw: a picture goes before an analysis on
 * CPUs, too */
#define SLOW_NICE 10

struct waiting {
	pthread_cond_t more;
	struct job *first;
	unsigned nr;
	int64_t asked_ns; /* when the last one came, or the line was opened */
};

struct worker {
	struct queue *queue;
	struct waiting *line;
	struct readers readers;
	int64_t rests_until; /* from reading ahead */
	pthread_t thread;
	bool started;
};

struct queue {
	pthread_mutex_t lock;
	bool ending;
	struct waiting lines[NR_LINES];
	struct worker workers[NR_WORKERS];
};

static void answer(struct job *job, const struct readers *readers)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

	job->answer(job, readers);
	job->times = (struct send_times){
		.wait_ns = begin - job->pushed_ns,
		.answer_ns = now_ns(CLOCK_MONOTONIC) - begin,
		.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu,
	};
}

/* Of a thread: on Linux each has its own.  Behind those that draw, however nice the user has the
 * server be. */
static void step_back(void)
{
	id_t tid = (id_t)gettid();

	setpriority(PRIO_PROCESS, tid, getpriority(PRIO_PROCESS, tid) + SLOW_NICE);
}

/* With the lock held: waits for a job, but not longer than up to @until. */
static void wait_until(struct worker *w, int64_t until)
{
	struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};

	pthread_cond_timedwait(&w->line->more, &w->queue->lock, &t);
}

/* With the lock held, which is released meanwhile: reads ahead a little, if nobody has asked for
 * anything for a while, and then rests for longer than that took.  Else a browser may be starting,
 * or painting what it was sent.  False: there is nothing more to be read. */
static bool read_ahead(struct worker *w, struct ahead *ahead)
{
	int64_t quiet = w->line->asked_ns + AHEAD_QUIET_NS;
	int64_t from = quiet > w->rests_until ? quiet : w->rests_until;
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	bool more;

	if (begin < from) {
		wait_until(w, from);
		return true;
	}
	pthread_mutex_unlock(&w->queue->lock);
	more = ahead_step(ahead, w->readers.histories[0]);
	pthread_mutex_lock(&w->queue->lock);
	w->rests_until = now_ns(CLOCK_MONOTONIC);
	w->rests_until += (w->rests_until - begin) * AHEAD_REST;
	return more;
}

static void *work(void *data)
{
	struct worker *w = data;
	struct queue *q = w->queue;
	bool draws = w->line == &q->lines[LINE_QUICK];
	struct ahead ahead = {0};

	/* The first picture's parts are read while a browser starts. */
	if (draws)
		first_read(w->readers.histories[0]);
	else
		step_back();
	pthread_mutex_lock(&q->lock);
	while (!q->ending) {
		struct job *job = w->line->first;

		if (!job && draws) {
			draws = read_ahead(w, &ahead);
			continue;
		}
		if (!job) {
			pthread_cond_wait(&w->line->more, &q->lock);
			continue;
		}
		w->line->first = job->next;
		w->line->nr--;
		pthread_mutex_unlock(&q->lock);
		answer(job, &w->readers);
		job->done(job);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static int open_readers(struct readers *r, struct sonde_history *const *histories, unsigned nr,
			const char *cache, struct error *err)
{
	struct sonde_error why = {0};

	r->histories = calloc(nr, sizeof(*r->histories));
	r->kept = calloc(nr, sizeof(*r->kept));
	if (!r->histories || !r->kept)
		return fail(err, -ENOMEM, "out of memory");
	for (r->nr = 0; r->nr < nr; r->nr++) {
		int ret = sonde_history_again(&r->histories[r->nr], histories[r->nr], &why);

		if (ret)
			return fail(err, ret, "%s", why.text);
		r->kept[r->nr].cache = cache;
	}
	return 0;
}

static void close_readers(struct readers *r)
{
	while (r->nr) {
		kept_release(&r->kept[--r->nr]);
		sonde_history_close(r->histories[r->nr]);
	}
	free(r->kept);
	free(r->histories);
}

static int start_worker(struct queue *q, struct worker *w, struct waiting *line,
			struct sonde_history *const *histories, unsigned nr, const char *cache,
			struct error *err)
{
	int ret = open_readers(&w->readers, histories, nr, cache, err);

	if (ret)
		return ret;
	w->queue = q;
	w->line = line;
	ret = -pthread_create(&w->thread, NULL, work, w);
	if (ret)
		return fail(err, ret, "cannot start a thread: %s", strerror(-ret));
	w->started = true;
	return 0;
}

int queue_open(struct queue **out, struct sonde_history *const *histories, unsigned nr,
	       const char *cache, struct error *err)
{
	struct queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;
	int ret = 0;

	*out = NULL;
	if (!q)
		return fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (unsigned i = 0; i < NR_LINES; i++) {
		pthread_cond_init(&q->lines[i].more, &attr);
		q->lines[i].asked_ns = now_ns(CLOCK_MONOTONIC);
	}
	pthread_condattr_destroy(&attr);
	for (unsigned i = 0; i < NR_WORKERS && !ret; i++)
		ret = start_worker(q, &q->workers[i], &q->lines[line_of[i]], histories, nr, cache,
				   err);
	if (ret) {
		queue_end(q);
		queue_free(q);
		return ret;
	}
	*out = q;
	return 0;
}

/* Whether @newer takes the place of @job, which waits: not when both are parts of one question. */
static bool overtakes(const struct job *newer, const struct job *job)
{
	const char *slot = request_text(&newer->request, "slot");
	const char *other = request_text(&job->request, "slot");

	return slot && other && !strcmp(other, slot) &&
	       (!newer->question || newer->question != job->question);
}

/* Takes those out of the line, and makes a list of them. */
static struct job *take_overtaken(struct waiting *line, const struct job *newer)
{
	struct job **at = &line->first, *taken = NULL;

	while (*at) {
		struct job *job = *at;

		if (!overtakes(newer, job)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		line->nr--;
		job->next = taken;
		taken = job;
	}
	return taken;
}

/* Nobody else knows of these. */
static void refuse_list(struct job *job, unsigned status, const char *text)
{
	struct job *next;

	for (; job; job = next) {
		next = job->next; /* the job may be gone when done() returns */
		reply_fail(&job->reply, status, text);
		job->done(job);
	}
}

int queue_push(struct queue *q, struct job *job)
{
	struct waiting *line = &q->lines[job->line];
	struct job **last = &line->first;
	struct job *overtaken;
	int ret = -EAGAIN;

	job->pushed_ns = now_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&q->lock);
	if (q->ending) {
		pthread_mutex_unlock(&q->lock);
		return -ESHUTDOWN;
	}
	line->asked_ns = job->pushed_ns;
	overtaken = take_overtaken(line, job);
	if (line->nr < LINE_MAX_JOBS) {
		while (*last)
			last = &(*last)->next;
		job->next = NULL;
		*last = job;
		line->nr++;
		ret = 0;
		pthread_cond_signal(&line->more);
	}
	pthread_mutex_unlock(&q->lock);
	refuse_list(overtaken, 409, "a newer question took its place");
	return ret;
}

/* With the workers gone and `ending` set, nobody else takes from the line or adds to it. */
static void refuse_all(struct queue *q, struct waiting *line)
{
	struct job *job;

	pthread_mutex_lock(&q->lock);
	job = line->first;
	line->first = NULL;
	line->nr = 0;
	pthread_mutex_unlock(&q->lock);
	refuse_list(job, 503, "the server is ending");
}

void queue_end(struct queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->ending = true;
	for (unsigned i = 0; i < NR_LINES; i++)
		pthread_cond_broadcast(&q->lines[i].more);
	pthread_mutex_unlock(&q->lock);
	for (unsigned i = 0; i < NR_WORKERS; i++) {
		if (q->workers[i].started)
			pthread_join(q->workers[i].thread, NULL);
		q->workers[i].started = false;
	}
	for (unsigned i = 0; i < NR_LINES; i++)
		refuse_all(q, &q->lines[i]);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	for (unsigned i = 0; i < NR_WORKERS; i++)
		close_readers(&q->workers[i].readers);
	for (unsigned i = 0; i < NR_LINES; i++)
		pthread_cond_destroy(&q->lines[i].more);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
