/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#define OTHERS_MAX 63

struct jobs {
	void (*job)(void *data, unsigned i);
	void *data;
	unsigned nr;
	atomic_uint next;
};

static void *work(void *arg)
{
	struct jobs *jobs = arg;
	unsigned i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->nr)
		jobs->job(jobs->data, i);
	return NULL;
}

void parallel(unsigned threads, unsigned nr, void (*job)(void *data, unsigned i), void *data)
{
	struct jobs jobs = {.job = job, .data = data, .nr = nr};
	pthread_t others[OTHERS_MAX];
	unsigned made = 0;

	while (made + 1 < threads && made + 1 < nr && made < OTHERS_MAX) {
		if (pthread_create(&others[made], NULL, work, &jobs))
			break;
		made++;
	}
	work(&jobs);
	while (made > 0)
		pthread_join(others[--made], NULL);
}
