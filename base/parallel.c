/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include <time.h>

#define OTHERS_MAX 63
#define ASK_NS 20000000

struct jobs {
	void (*job)(void *data, unsigned i);
	void *data;
	unsigned nr;
	struct stop *stop;
	atomic_uint next;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t ended;
	unsigned working; /* threads beside the caller's */
};

static void work(struct jobs *jobs)
{
	unsigned i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->nr && !stop_asked(jobs->stop))
		jobs->job(jobs->data, i);
}

static void *work_along(void *arg)
{
	struct jobs *jobs = arg;

	work(jobs);
	pthread_mutex_lock(&jobs->lock);
	jobs->working--;
	pthread_cond_signal(&jobs->ended);
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

/* Until the others have ended; stop_asked() is what the caller has to do meanwhile. */
static void wait_for_others(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	while (jobs->working) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += ASK_NS;
		until.tv_sec += until.tv_nsec / NS_PER_SEC;
		until.tv_nsec %= NS_PER_SEC;
		if (!pthread_cond_timedwait(&jobs->ended, &jobs->lock, &until))
			continue;
		pthread_mutex_unlock(&jobs->lock);
		stop_asked(jobs->stop);
		pthread_mutex_lock(&jobs->lock);
	}
	pthread_mutex_unlock(&jobs->lock);
}

void parallel(unsigned threads, unsigned nr, struct stop *stop, void (*job)(void *data, unsigned i),
	      void *data)
{
	struct jobs jobs = {.job = job, .data = data, .nr = nr, .stop = stop};
	pthread_t others[OTHERS_MAX];
	unsigned made = 0;

	pthread_mutex_init(&jobs.lock, NULL);
	pthread_cond_init(&jobs.ended, NULL);
	while (made + 1 < threads && made + 1 < nr && made < OTHERS_MAX) {
		pthread_mutex_lock(&jobs.lock);
		jobs.working++;
		pthread_mutex_unlock(&jobs.lock);
		if (pthread_create(&others[made], NULL, work_along, &jobs)) {
			pthread_mutex_lock(&jobs.lock);
			jobs.working--;
			pthread_mutex_unlock(&jobs.lock);
			break;
		}
		made++;
	}
	work(&jobs);
	wait_for_others(&jobs);
	while (made > 0)
		pthread_join(others[--made], NULL);
	pthread_cond_destroy(&jobs.ended);
	pthread_mutex_destroy(&jobs.lock);
}
