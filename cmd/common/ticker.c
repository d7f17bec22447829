/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/ticker.h"
#include "base/now.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SILENT_S 1.0
#define REDRAW_NS 200000000

/* Under the lock. */
static void draw(struct ticker *t)
{
	double s = now_s() - t->since_s;

	if (!*t->what || s < SILENT_S)
		return;
	fprintf(stderr, "\r\033[K%s ... %.0f s", t->what, s);
	fflush(stderr);
	t->drawn = true;
}

static void *tick(void *data)
{
	struct ticker *t = data;

	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += REDRAW_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&t->wake, &t->lock, &until);
		draw(t);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void ticker_init(struct ticker *t, bool wanted)
{
	memset(t, 0, sizeof(*t));
	t->wanted = wanted;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
}

void ticker_say(struct ticker *t, const char *what)
{
	if (!t->wanted)
		return;
	pthread_mutex_lock(&t->lock);
	if (!*t->what)
		t->since_s = now_s();
	snprintf(t->what, sizeof(t->what), "%s", what);
	pthread_mutex_unlock(&t->lock);
	if (!t->started)
		t->started = !pthread_create(&t->thread, NULL, tick, t);
}

void ticker_hide(struct ticker *t)
{
	pthread_mutex_lock(&t->lock);
	*t->what = '\0';
	if (t->drawn)
		fprintf(stderr, "\r\033[K");
	t->drawn = false;
	pthread_mutex_unlock(&t->lock);
	t->wanted &= !t->paged;
}

void ticker_release(struct ticker *t)
{
	ticker_hide(t);
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}
