/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The line of each worker. */
static const enum line line_of[] = {LINE_QUICK, LINE_QUICK, LINE_SLOW, LINE_TRACES};
#define NR_WORKERS (sizeof(line_of) / sizeof(*line_of))
#define LINE_MAX_JOBS 64

struct waiting {
	pthread_cond_t more;
	struct job *first;
	unsigned nr;
};

struct worker {
	struct queue *queue;
	struct waiting *line;
	struct sonde_run *run; /* owned */
	struct kept kept;      /* owned */
	pthread_t thread;
	bool started;
};

struct queue {
	pthread_mutex_t lock;
	bool ending;
	struct waiting lines[NR_LINES];
	char *path; /* owned */
	struct worker workers[NR_WORKERS];
};

static void *work(void *data)
{
	struct worker *w = data;
	struct queue *q = w->queue;

	pthread_mutex_lock(&q->lock);
	while (!q->ending) {
		struct job *job = w->line->first;

		if (!job) {
			pthread_cond_wait(&w->line->more, &q->lock);
			continue;
		}
		w->line->first = job->next;
		w->line->nr--;
		pthread_mutex_unlock(&q->lock);
		endpoint_answer(job->endpoint, w->run, &w->kept, q->path, &job->request, &job->reply);
		job->done(job);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static int start_worker(struct queue *q, struct worker *w, struct waiting *line, struct error *err)
{
	struct sonde_error why = {0};
	int ret = sonde_run_open(&w->run, q->path, &why);

	if (ret)
		return fail(err, ret, "%s", why.text);
	w->queue = q;
	w->line = line;
	ret = -pthread_create(&w->thread, NULL, work, w);
	if (ret)
		return fail(err, ret, "cannot start a thread: %s", strerror(-ret));
	w->started = true;
	return 0;
}

int queue_open(struct queue **out, const char *path, struct error *err)
{
	struct queue *q = calloc(1, sizeof(*q));
	int ret = 0;

	*out = NULL;
	if (!q)
		return fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&q->lock, NULL);
	for (unsigned i = 0; i < NR_LINES; i++)
		pthread_cond_init(&q->lines[i].more, NULL);
	q->path = strdup(path);
	if (!q->path)
		ret = fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < NR_WORKERS && !ret; i++)
		ret = start_worker(q, &q->workers[i], &q->lines[line_of[i]], err);
	if (ret) {
		queue_end(q);
		queue_free(q);
		return ret;
	}
	*out = q;
	return 0;
}

/* Takes the job of the same slot out of the line, if one waits. */
static struct job *take_overtaken(struct waiting *line, const struct request *newer)
{
	const char *slot = request_text(newer, "slot");

	for (struct job **at = &line->first; slot && *at; at = &(*at)->next) {
		const char *other = request_text(&(*at)->request, "slot");
		struct job *job = *at;

		if (!other || strcmp(other, slot))
			continue;
		*at = job->next;
		line->nr--;
		return job;
	}
	return NULL;
}

int queue_push(struct queue *q, struct job *job)
{
	struct waiting *line = &q->lines[job->endpoint->line];
	struct job **last = &line->first;
	struct job *overtaken;
	int ret = -EAGAIN;

	pthread_mutex_lock(&q->lock);
	if (q->ending) {
		pthread_mutex_unlock(&q->lock);
		return -ESHUTDOWN;
	}
	overtaken = take_overtaken(line, &job->request);
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
	if (overtaken) {
		reply_fail(&overtaken->reply, 409, "a newer question took its place");
		overtaken->done(overtaken);
	}
	return ret;
}

/* With the workers gone and `ending` set, nobody else takes from the line or adds to it. */
static void refuse_all(struct queue *q, struct waiting *line)
{
	struct job *job, *next;

	pthread_mutex_lock(&q->lock);
	job = line->first;
	line->first = NULL;
	line->nr = 0;
	pthread_mutex_unlock(&q->lock);
	for (; job; job = next) {
		next = job->next; /* the job may be gone when done() returns */
		reply_fail(&job->reply, 503, "the server is ending");
		job->done(job);
	}
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
	for (unsigned i = 0; i < NR_WORKERS; i++) {
		kept_release(&q->workers[i].kept);
		sonde_run_close(q->workers[i].run);
	}
	for (unsigned i = 0; i < NR_LINES; i++)
		pthread_cond_destroy(&q->lines[i].more);
	pthread_mutex_destroy(&q->lock);
	free(q->path);
	free(q);
}
