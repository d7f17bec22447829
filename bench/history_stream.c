/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/history_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_VALUES 200

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull >> 16;
}

static int stream_init(struct stream *s, size_t nr, uint32_t nr_attrs)
{
	memset(s, 0, sizeof(*s));
	s->list = malloc(nr * sizeof(*s->list));
	s->nr_attrs = nr_attrs;
	return s->list ? 0 : -ENOMEM;
}

void stream_release(struct stream *s)
{
	free(s->list);
	memset(s, 0, sizeof(*s));
}

static void add(struct stream *s, ns_t t, uint32_t attr, uint32_t value)
{
	s->list[s->nr++] = (struct stream_change){.t = t, .attr = attr, .value = value};
}

/* Places 0 .. 65535 shared out in proportion to 1 / (k + 1), at least one each. */
#define PLACES 65536
static void share_out(uint32_t *places, uint32_t nr)
{
	double sum = 0, upto = 0;
	uint32_t at = 0;

	for (uint32_t k = 0; k < nr; k++)
		sum += 1.0 / (k + 1);
	for (uint32_t k = 0; k < nr; k++) {
		upto += 1.0 / (k + 1);
		do
			places[at++] = k;
		while (at < PLACES && at < upto / sum * PLACES - (nr - k));
	}
	while (at < PLACES)
		places[at++] = nr - 1;
}

int stream_skewed(struct stream *s, size_t nr, uint32_t nr_attrs)
{
	uint32_t *places = malloc(PLACES * sizeof(*places));
	uint32_t *last = calloc(nr_attrs, sizeof(*last));
	uint64_t seed = 88172645463325252ull;
	int ret = !places || !last ? -ENOMEM : stream_init(s, nr, nr_attrs);
	ns_t t = NS_PER_SEC;

	if (!ret)
		share_out(places, nr_attrs);
	for (uint32_t k = 0; k < nr_attrs && !ret; k++) {
		last[k] = 1 + (uint32_t)(next_random(&seed) % NR_VALUES);
		add(s, t, k, last[k]);
	}
	while (!ret && s->nr < nr) {
		uint32_t attr = places[next_random(&seed) % PLACES];
		uint32_t step = 1 + (uint32_t)(next_random(&seed) % (NR_VALUES - 1));

		t += 1 + (ns_t)(next_random(&seed) % 1999);
		last[attr] = 1 + (last[attr] - 1 + step) % NR_VALUES;
		add(s, t, attr, last[attr]);
	}
	s->end = t + 1000;
	free(places);
	free(last);
	return ret;
}

/* What a CPU does next, of thread @thread. */
static uint32_t context_of(uint32_t thread, unsigned what)
{
	return 1 + thread * 4 + what;
}

struct cpu {
	ns_t next;
	uint32_t thread;
	unsigned phase; /* 0 user, 1 system call, 2 interrupt */
	unsigned left;	/* system calls before the thread sleeps */
};

struct kernel {
	struct stream *s;
	struct cpu *cpus;
	uint64_t seed;
	uint32_t nr_cpus, nr_threads;
};

static void switch_thread(struct kernel *k, uint32_t cpu, ns_t t)
{
	struct cpu *c = &k->cpus[cpu];
	uint32_t busy = 3 + cpu % 4;
	uint64_t r = next_random(&k->seed);
	uint32_t thread = r % 16 ? cpu + k->nr_cpus * (uint32_t)(r / 16 % busy)
				 : (uint32_t)(r / 16 % k->nr_threads);

	thread %= k->nr_threads;
	add(k->s, t, k->nr_cpus + c->thread * 2, 4);
	add(k->s, t, k->nr_cpus + thread * 2, 2);
	add(k->s, t, k->nr_cpus + thread * 2 + 1, cpu + 1);
	c->thread = thread;
	c->phase = 0;
	c->left = 1 + (unsigned)(next_random(&k->seed) % 6);
	add(k->s, t, cpu, context_of(thread, 0));
}

static void step_cpu(struct kernel *k, uint32_t cpu)
{
	struct cpu *c = &k->cpus[cpu];
	uint64_t r = next_random(&k->seed);
	ns_t t = c->next;

	c->next += 10000 + (ns_t)(next_random(&k->seed) % 40000);
	if (c->phase != 2 && r % 10 == 0) {
		add(k->s, t, cpu, context_of(c->thread, 3));
		c->next = t + 1500 + (ns_t)(r >> 8 & 2047);
		c->phase = 2;
	} else if (c->phase == 0 && !c->left--) {
		switch_thread(k, cpu, t);
	} else {
		c->phase = !c->phase;
		add(k->s, t, cpu, context_of(c->thread, c->phase));
	}
}

int stream_kernel(struct stream *s, size_t nr, uint32_t nr_cpus, uint32_t nr_threads)
{
	struct kernel k = {.s = s,
			   .cpus = calloc(nr_cpus, sizeof(*k.cpus)),
			   .seed = 1181783497276652981ull,
			   .nr_cpus = nr_cpus,
			   .nr_threads = nr_threads};
	int ret = k.cpus ? stream_init(s, nr + 8, nr_cpus + 2 * nr_threads) : -ENOMEM;

	for (uint32_t i = 0; i < nr_cpus && !ret; i++) {
		k.cpus[i].next = NS_PER_SEC + (ns_t)(next_random(&k.seed) % 40000);
		k.cpus[i].thread = i;
	}
	while (!ret && s->nr < nr) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < nr_cpus; i++)
			first = k.cpus[i].next < k.cpus[first].next ? i : first;
		step_cpu(&k, first);
	}
	if (!ret)
		s->end = s->list[s->nr - 1].t + 1000;
	free(k.cpus);
	return ret;
}
