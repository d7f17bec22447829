/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding speed, of any trace format:
 *
 *	bench_decode [-t THREADS] [-r ROUNDS] [-k KIND] TRACE...
 *
 * Every event of every stream is decoded with all arguments of its kind (or only events of kind
 * KIND, to see what skipping costs) and summed up, so that no work can be left out.  Threads share
 * the packets: each takes a few of the next stream's at a time.  Prints a line for each trace and,
 * as the last one, EVENTS SECONDS: of all traces, the best of the rounds (1).  The first round
 * also maps the file's pages; what opening takes is shown beside.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "events/rows.h"
#include "base/now.h"
#include "source/trace.h"

#define BATCH 512
#define MAX_THREADS 64
#define SHARE_BYTES (1u << 20)

/* A range of packets of one stream: what a thread takes at a time. */
struct share {
	struct stream *stream;
	uint32_t first, nr;
};

struct job {
	struct share *shares;
	unsigned nr;
	kinds_t want;
	_Atomic unsigned next;
	_Atomic uint64_t events, sum;
};

static uint64_t decode_share(const struct share *s, kinds_t want, uint64_t *sum)
{
	struct event events[BATCH];
	struct error err = {0};
	uint64_t total = 0;
	struct cursor c;
	unsigned n;

	if (cursor_init(&c, s->stream, s->first, s->nr, want, &err)) {
		fprintf(stderr, "bench_decode: %s\n", err.text);
		exit(1);
	}
	while ((n = cursor_next(&c, events, BATCH)) > 0) {
		for (unsigned i = 0; i < n; i++)
			*sum += events[i].time.v ^ (uint64_t)events[i].arg[0] ^ events[i].kind;
		total += n;
	}
	cursor_release(&c);
	return total;
}

static void *work(void *data)
{
	struct job *job = data;
	uint64_t events = 0, sum = 0;
	unsigned i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->nr)
		events += decode_share(&job->shares[i], job->want, &sum);
	job->events += events;
	job->sum += sum;
	return NULL;
}

static void cut_shares(struct job *job, struct trace *t)
{
	unsigned room = 0;

	for (unsigned i = 0; i < t->nr_streams; i++)
		room += t->streams[i].nr_packets;
	job->shares = calloc(room + 1, sizeof(*job->shares));
	if (!job->shares)
		abort();
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct stream *s = &t->streams[i];
		uint64_t bytes = SHARE_BYTES;

		for (uint32_t p = 0; p < s->nr_packets; p++) {
			if (bytes >= SHARE_BYTES) {
				job->shares[job->nr++] = (struct share){.stream = s, .first = p};
				bytes = 0;
			}
			job->shares[job->nr - 1].nr++;
			bytes += s->packets[p].len_bytes;
		}
	}
}

static double run(struct trace *t, kinds_t want, unsigned threads, uint64_t *events)
{
	struct job job = {.want = want};
	pthread_t ids[MAX_THREADS];
	double begin;

	cut_shares(&job, t);
	begin = now_s();
	for (unsigned i = 1; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, work, &job))
			abort();
	}
	work(&job);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	*events = job.events;
	free(job.shares);
	return now_s() - begin;
}

static kinds_t parse_kind(const char *name)
{
	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++) {
		if (!strcmp(event_kind_name(kind), name))
			return KIND_BIT(kind);
	}
	fprintf(stderr, "bench_decode: there is no kind \"%s\"\n", name);
	exit(2);
}

static double bench(const char *path, kinds_t want, unsigned threads, unsigned rounds,
		    uint64_t *events)
{
	struct error err = {0};
	struct trace *t;
	double best = 0, begin = now_s(), open_s;

	if (trace_open(&t, path, &err)) {
		fprintf(stderr, "bench_decode: %s\n", err.text);
		exit(1);
	}
	open_s = now_s() - begin;
	for (unsigned i = 0; i < rounds; i++) {
		double s = run(t, want, threads, events);

		if (!i || s < best)
			best = s;
	}
	printf("%s: %llu events, %.6f s, %.2f M events/s, %.1f ns/event, open %.1f ms\n", path,
	       (unsigned long long)*events, best, (double)*events / best / 1e6,
	       1e9 * best / (double)*events, 1e3 * open_s);
	trace_release(t);
	return best;
}

int main(int argc, char **argv)
{
	unsigned threads = 1, rounds = 1;
	kinds_t want = 0;
	uint64_t events = 0;
	double seconds = 0;
	int opt;

	while ((opt = getopt(argc, argv, "t:r:k:")) != -1) {
		if (opt == 't')
			threads = (unsigned)atoi(optarg);
		else if (opt == 'r')
			rounds = (unsigned)atoi(optarg);
		else if (opt == 'k')
			want |= parse_kind(optarg);
		else
			return 2;
	}
	if (optind == argc || !threads || threads > MAX_THREADS || !rounds) {
		fprintf(stderr,
			"usage: bench_decode [-t THREADS] [-r ROUNDS] [-k KIND] TRACE...\n");
		return 2;
	}
	for (int i = optind; i < argc; i++) {
		uint64_t nr;

		seconds += bench(argv[i], want, threads, rounds, &nr);
		events += nr;
	}
	printf("%llu %.6f\n", (unsigned long long)events, seconds);
	return 0;
}
