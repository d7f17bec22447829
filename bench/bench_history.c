/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "bench/history_stream.h"

/*
 * Speed and size of a history alone.
 *
 *   bench_history [-n MILLIONS] [-k] [-t THREADS] [-r ROUNDS] [-d DIR] [-w ROWS] [-b] [-f FILE]
 *
 * Figures in brackets are the best that Trace Compass's State History Tree reached in a run of the
 * default size (10 M intervals, 2000 attributes, windows of 200 rows); it built 4.3 M/s and took
 * 22.9 bytes/interval.  They were measured elsewhere, so only ratios well above 1 say anything.
 *
 * -k takes the kernel-like stream instead of the skewed one, -b only builds; -f keeps the history
 * in FILE, or, when FILE is there already, only queries it.
 */
struct bench {
	struct stream s;
	struct history *h;
	char path[512];
	uint64_t seed;
	uint32_t nr_attrs; /* of the open history */
	uint32_t nr_rows;  /* of windows */
};

static int compare_doubles(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

static uint64_t pick(struct bench *b, uint64_t below)
{
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	return (b->seed * 0x2545f4914f6cdd1dull >> 11) % below;
}

static void die(const char *what, int ret)
{
	fprintf(stderr, "bench_history: %s: %s\n", what, strerror(-ret));
	exit(1);
}

static double build(struct bench *b, unsigned threads)
{
	const struct history_writer_options opt = {.threads = threads};
	struct history_writer *w;
	struct error err = {0};
	double start = now_s();
	int ret = history_writer_open(&w, b->path, &opt, &err);

	if (ret)
		die(err.text, ret);
	for (uint32_t i = 0; i < b->s.nr_attrs; i++) {
		char name[32];

		snprintf(name, sizeof(name), "row%u", i);
		history_writer_attr(w, ATTR_ROOT, name, ATTR_NUMBER, 0);
	}
	for (size_t i = 0; i < b->s.nr; i++) {
		const struct stream_change *c = &b->s.list[i];

		history_writer_set(w, c->attr + 1, c->t, c->value);
	}
	ret = history_writer_close(w, b->s.end, &err);
	if (ret)
		die(err.text, ret);
	return now_s() - start;
}

typedef void (*query_fn)(struct bench *b, double zoom);

static void query_open(struct bench *b, double zoom)
{
	struct history *h;
	int ret = history_open(&h, b->path, NULL);

	(void)zoom;
	if (ret)
		die("open", ret);
	history_close(h);
}

static ns_t pick_time(struct bench *b)
{
	ns_t begin = history_begin(b->h);

	return begin + (ns_t)pick(b, (uint64_t)(history_end(b->h) - begin));
}

static void query_state(struct bench *b, double zoom)
{
	static uint32_t values[1 << 20];
	static ns_t since[1 << 20];
	int ret = history_state(b->h, pick_time(b), values, since);

	(void)zoom;
	if (ret)
		die("state", ret);
}

static void query_at(struct bench *b, double zoom)
{
	struct interval i;
	int ret = history_at(b->h, 1 + (attr_t)pick(b, b->nr_attrs), pick_time(b), &i);

	(void)zoom;
	if (ret)
		die("at", ret);
}

static bool count_down(const struct interval *i, void *data)
{
	unsigned *left = data;

	(void)i;
	return --*left;
}

static void query_walk(struct bench *b, double zoom)
{
	unsigned left = 200;
	int ret = history_walk(b->h, 1 + (attr_t)pick(b, b->nr_attrs), pick_time(b),
			       history_end(b->h), count_down, &left);

	(void)zoom;
	if (ret)
		die("walk", ret);
}

static void ignore_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	unsigned *sum = data;

	(void)row;
	(void)runs;
	*sum += nr;
}

/* Rows spread over all attributes, or the ones that change most often. */
static void window(struct bench *b, double zoom, bool busiest)
{
	attr_t attrs[4096];
	unsigned sum = 0;
	ns_t begin = history_begin(b->h), span = history_end(b->h) - begin;
	ns_t width = (ns_t)((double)span * zoom);
	int ret;

	if (width < span)
		begin += (ns_t)pick(b, (uint64_t)(span - width));
	for (uint32_t i = 0; i < b->nr_rows; i++)
		attrs[i] = 1 + (busiest ? i : i * (b->nr_attrs / b->nr_rows));
	ret = history_pixels(b->h, attrs, b->nr_rows, begin, begin + width, 2000, ignore_runs,
			     &sum);
	if (ret)
		die("pixels", ret);
}

static void query_spread(struct bench *b, double zoom)
{
	window(b, zoom, false);
}

static void query_busiest(struct bench *b, double zoom)
{
	window(b, zoom, true);
}

static void measure(struct bench *b, const char *name, query_fn query, double zoom, unsigned nr,
		    const char *peer)
{
	double *times = malloc(nr * sizeof(*times));
	double first;

	if (!times)
		die(name, -ENOMEM);
	for (unsigned i = 0; i < nr; i++) {
		double start = now_s();

		query(b, zoom);
		times[i] = now_s() - start;
	}
	first = times[0];
	qsort(times, nr, sizeof(*times), compare_doubles);
	printf("%-44s p50 %9.1f us  p99 %9.1f us  first %9.1f us  %s\n", name, times[nr / 2] * 1e6,
	       times[nr * 99 / 100] * 1e6, first * 1e6, peer);
	free(times);
}

static void build_all(struct bench *b, unsigned threads, unsigned rounds)
{
	double times[64];
	struct rusage usage;
	struct stat st;

	rounds = rounds > 64 ? 64 : rounds;
	for (unsigned i = 0; i < rounds; i++)
		times[i] = build(b, threads);
	qsort(times, rounds, sizeof(*times), compare_doubles);
	getrusage(RUSAGE_SELF, &usage);
	if (stat(b->path, &st))
		die(b->path, -errno);
	printf("build, median of %u: %.2f M changes/s, %.2f bytes/change\n", rounds,
	       (double)b->s.nr / times[rounds / 2] / 1e6, (double)st.st_size / (double)b->s.nr);
	printf("memory: %.1f MiB at most, of which %.1f MiB are the stream\n",
	       (double)usage.ru_maxrss / 1024, (double)(b->s.nr * sizeof(*b->s.list)) / 1048576);
}

static const char *window_peer(double zoom)
{
	return zoom == 1 ? "(545 ms)" : zoom == 0.01 ? "(1.6 ms)" : "";
}

static void query_all(struct bench *b)
{
	static const double zooms[] = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001};
	int ret;

	measure(b, "open and close", query_open, 0, 20, "(104 ms)");
	ret = history_open(&b->h, b->path, NULL);
	if (ret)
		die("open", ret);
	b->nr_attrs = history_nr_attrs(b->h) - 1;
	measure(b, "full state", query_state, 0, 1000, "(0.6 ms, 1.3 ms)");
	measure(b, "one attribute", query_at, 0, 5000, "(190 us)");
	measure(b, "200 intervals in a row", query_walk, 0, 2000, "(17 ms)");
	for (unsigned i = 0; i < sizeof(zooms) / sizeof(zooms[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "2000 px, %u rows spread, zoom %g %%", b->nr_rows,
			 zooms[i] * 100);
		measure(b, name, query_spread, zooms[i], 20, window_peer(zooms[i]));
		snprintf(name, sizeof(name), "2000 px, %u rows busiest, zoom %g %%", b->nr_rows,
			 zooms[i] * 100);
		measure(b, name, query_busiest, zooms[i], 20, window_peer(zooms[i]));
	}
	history_close(b->h);
}

/* Makes the stream and from it the history, unless that is there already. */
static void make(struct bench *b, double millions, bool kernel, unsigned threads, unsigned rounds)
{
	size_t nr = (size_t)(millions * 1e6);
	int ret = kernel ? stream_kernel(&b->s, nr, 64, 4000) : stream_skewed(&b->s, nr, 2000);

	if (ret)
		die("stream", ret);
	build_all(b, threads, rounds ? rounds : 1);
}

int main(int argc, char **argv)
{
	struct bench b = {.seed = 123456789, .nr_rows = 200};
	unsigned threads = 1, rounds = 5;
	const char *dir = "/tmp", *keep = NULL;
	double millions = 10;
	bool kernel = false, queries = true;
	int opt;

	while ((opt = getopt(argc, argv, "n:kt:r:d:w:bf:")) != -1) {
		if (opt == 'n')
			millions = atof(optarg);
		else if (opt == 'k')
			kernel = true;
		else if (opt == 't')
			threads = (unsigned)atoi(optarg);
		else if (opt == 'r')
			rounds = (unsigned)atoi(optarg);
		else if (opt == 'd')
			dir = optarg;
		else if (opt == 'b')
			queries = false;
		else if (opt == 'w')
			b.nr_rows = (uint32_t)atoi(optarg);
		else if (opt == 'f')
			keep = optarg;
		else
			return 2;
	}
	snprintf(b.path, sizeof(b.path), "%s/bench_history.%d.sonde", dir, getpid());
	if (keep)
		snprintf(b.path, sizeof(b.path), "%s", keep);
	if (!keep || access(keep, F_OK))
		make(&b, millions, kernel, threads, rounds);
	if (queries)
		query_all(&b);
	if (!keep)
		unlink(b.path);
	stream_release(&b.s);
	return 0;
}
