/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_WORKERS_QUEUE_H
#define SERVE_WORKERS_QUEUE_H

#include "serve/api/api.h"
#include "serve/workers/send.h"

/*
 * Workers that answer questions, so that who talks HTTP never waits for a history.
 *
 * There are several lines (enum line), each with its own workers, each worker with its own readers
 * of the histories (sonde_history_again()); so a long analysis never holds up a picture, and as it
 * is nicer than who draws, it does not take the processors from it either.  Who draws reads ahead
 * when nothing was asked for a second, a fifth of the time.  A line that is full takes no more
 * (-EAGAIN).
 *
 * A question may belong to a *slot* (parameter "slot", chosen by the page): of those of one slot
 * that still wait, only the newest is answered, the others are told that they were overtaken.  A
 * question may have several parts, each a job: they do not overtake each other.
 */
struct queue;

/* What a worker answers from: the histories, in the order they were given in.  Nobody else uses
 * them meanwhile. */
struct readers {
	struct sonde_history **histories; /* owned, each owned */
	struct kept *kept;		  /* owned, each owned */
	unsigned nr;
};

struct job {
	enum line line;
	struct request request; /* its slot is looked at */
	const void *question;	/* the same for all parts of one; NULL: it has one part */
	struct reply reply;
	void (*answer)(struct job *job, const struct readers *readers); /* into .reply */
	void (*done)(struct job *job); /* called by a worker, once; the job is then the caller's */
	struct send_times times;       /* there when it is done */
	int64_t pushed_ns;	       /* the queue's, like .next */
	struct job *next;
};

/* @histories may be used and closed meanwhile.  @cache: of serve/api/cache.h, in place until
 * queue_free(); NULL: none. */
int queue_open(struct queue **out, struct sonde_history *const *histories, unsigned nr,
	       const char *cache, struct error *err);

/* 0, -EAGAIN: the line is full, or -ESHUTDOWN: queue_end() was called.  The caller keeps the memory
 * in place until done(). */
int queue_push(struct queue *q, struct job *job);

/*
 * Everything that waits is answered with 503; returns when all workers have ended.  Questions may
 * still come, and are turned away, until the queue is freed.
 */
void queue_end(struct queue *q);

/* After queue_end(), when nobody can ask any more. */
void queue_free(struct queue *q);

#endif
