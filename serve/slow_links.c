/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/slow_links.h"
#include "base/now.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct link {
	struct links *links;
	struct link *next, *before;
	int fd; /* the daemon's; in place as long as this is in the list */
	bool asks;
	bool ended; /* by us; the daemon closes it soon */
	int64_t idle_since_ms;
	int64_t until_ms; /* when a question has to be there, unless it asks */
};

struct links {
	pthread_mutex_t lock;
	pthread_cond_t more; /* there is a link, or it is the end */
	struct link *first;
	unsigned nr; /* that were not ended */
	bool ending;
	pthread_t thread;
};

/* The daemon sees an end of its own, and closes it. */
static void end(struct links *l, struct link *k)
{
	if (k->ended)
		return;
	k->ended = true;
	l->nr--;
	shutdown(k->fd, SHUT_RDWR);
}

static void end_late_ones(struct links *l)
{
	int64_t now = now_ms();

	for (struct link *k = l->first; k; k = k->next) {
		if (!k->asks && now >= k->until_ms)
			end(l, k);
	}
}

static void make_room(struct links *l)
{
	struct link *oldest = NULL;

	for (struct link *k = l->first; k && l->nr > LINKS_IDLE_MAX; k = k->next) {
		/* Of the same time, the one that is further behind came first. */
		if (!k->asks && !k->ended && (!oldest || k->idle_since_ms <= oldest->idle_since_ms))
			oldest = k;
	}
	if (oldest)
		end(l, oldest);
}

static void *watch(void *data)
{
	struct links *l = data;

	pthread_mutex_lock(&l->lock);
	while (!l->ending) {
		struct timespec until;

		if (!l->first) {
			pthread_cond_wait(&l->more, &l->lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		if (pthread_cond_timedwait(&l->more, &l->lock, &until) == ETIMEDOUT)
			end_late_ones(l);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

int links_open(struct links **out, struct error *err)
{
	struct links *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	int ret;

	*out = NULL;
	if (!l)
		return fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->more, &attr);
	pthread_condattr_destroy(&attr);
	ret = -pthread_create(&l->thread, NULL, watch, l);
	if (ret) {
		pthread_cond_destroy(&l->more);
		pthread_mutex_destroy(&l->lock);
		free(l);
		return fail(err, ret, "cannot start a thread: %s", strerror(-ret));
	}
	*out = l;
	return 0;
}

void links_close(struct links *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->more);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void add(struct links *l, struct MHD_Connection *connection, void **mine)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct link *k = info ? calloc(1, sizeof(*k)) : NULL;

	*mine = k;
	if (!k)
		return; /* it is bounded by its silence only */
	k->links = l;
	k->fd = info->connect_fd;
	k->idle_since_ms = now_ms();
	k->until_ms = k->idle_since_ms + LINK_FIRST_SECONDS * 1000;
	pthread_mutex_lock(&l->lock);
	k->next = l->first;
	if (k->next)
		k->next->before = k;
	else
		pthread_cond_signal(&l->more);
	l->first = k;
	l->nr++;
	make_room(l);
	pthread_mutex_unlock(&l->lock);
}

static void drop(struct links *l, struct link *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&l->lock);
	l->nr -= !k->ended;
	if (k->next)
		k->next->before = k->before;
	if (k->before)
		k->before->next = k->next;
	else
		l->first = k->next;
	pthread_mutex_unlock(&l->lock);
	free(k);
}

/* At its end the daemon calls this before it closes the socket. */
void links_notify(void *links, struct MHD_Connection *connection, void **mine,
		  enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		add(links, connection, mine);
	} else {
		drop(links, *mine);
		*mine = NULL;
	}
}

static struct link *link_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void set(struct MHD_Connection *connection, bool asks)
{
	struct link *k = link_of(connection);

	if (!k)
		return;
	pthread_mutex_lock(&k->links->lock);
	k->asks = asks;
	k->idle_since_ms = now_ms();
	k->until_ms = k->idle_since_ms + LINK_NEXT_SECONDS * 1000;
	pthread_mutex_unlock(&k->links->lock);
}

void link_asks(struct MHD_Connection *connection)
{
	set(connection, true);
}

void link_is_idle(struct MHD_Connection *connection)
{
	set(connection, false);
}
