/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_TICKER_H
#define CMD_COMMON_TICKER_H

#include <pthread.h>
#include <stdbool.h>

/*
 * "preemption ... 3 s" on stderr while a command computes something that cannot tell how far it has
 * come.  It shows only on a terminal, and only after a second.
 *
 *	ticker_say(inv->ticker, "preemption");
 *	work, without output
 *	ticker_hide(inv->ticker);
 *
 * Where the answer goes through a pager, that one owns the screen once there is an answer: then
 * nothing is said after the first ticker_hide().
 */
struct ticker {
	bool wanted;  /* there is a terminal, and nobody said -q */
	bool paged;   /* set by the owner when a pager was started */
	bool started; /* the thread was */
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool stop, drawn;
	char what[80]; /* "" = nothing to be said */
	double since_s;
};

void ticker_init(struct ticker *t, bool wanted);
void ticker_say(struct ticker *t, const char *what);
void ticker_hide(struct ticker *t);
void ticker_release(struct ticker *t);

#endif
