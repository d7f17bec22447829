/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long a history takes to answer: bench_query FILE
 *
 * Full states at random times; and windows of 2000 pixels and 100 rows at every zoom level, from
 * the whole history down to some milliseconds, at random places.  The same queries in every
 * history. Prints one line per kind of query: name, number of queries, then median, 99th percentile
 * and largest time in microseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history/history.h"

#define STATES 2000
#define WINDOWS_PER_ZOOM 100
#define PIXELS 2000
#define ROWS 100
#define ZOOM_STEP 4
#define WINDOW_MIN_NS 2000000

struct timings {
	double us[STATES];
	unsigned nr;
};

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return limit ? *state % limit : 0;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_timings(const char *name, struct timings *t)
{
	qsort(t->us, t->nr, sizeof(t->us[0]), by_size);
	printf("%s %u %.1f %.1f %.1f\n", name, t->nr, t->us[t->nr / 2], t->us[t->nr * 99 / 100],
	       t->us[t->nr - 1]);
}

static bool is_row(const struct history *h, attr_t a, const char *name)
{
	return history_attr_type(h, a) != ATTR_DIR && !strcmp(history_attr_name(h, a), name);
}

/* What a time line shows: what every physical CPU runs, then states of vCPUs and threads, spread
 * evenly over all there are. */
static unsigned choose_rows(const struct history *h, attr_t rows[ROWS])
{
	uint32_t nr_attrs = history_nr_attrs(h), nr_states = 0, seen = 0;
	uint64_t random = 1;
	unsigned nr = 0;

	for (attr_t a = 0; a < nr_attrs; a++) {
		if (is_row(h, a, "runs") && nr < ROWS)
			rows[nr++] = a;
		nr_states += is_row(h, a, "state");
	}
	for (attr_t a = 0; a < nr_attrs && nr < ROWS; a++) {
		if (is_row(h, a, "state") && random_below(&random, nr_states - seen++) < ROWS - nr)
			rows[nr++] = a;
	}
	return nr;
}

static void count_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	(void)row;
	(void)runs;
	*(uint64_t *)data += nr;
}

static int time_states(struct history *h)
{
	ns_t begin = history_begin(h), span = history_end(h) - begin;
	uint32_t *values = malloc(history_nr_attrs(h) * sizeof(*values));
	struct timings *t = calloc(1, sizeof(*t));
	uint64_t random = 2;
	int ret = values && t ? 0 : -1;

	for (unsigned i = 0; i < STATES && !ret; i++) {
		ns_t at = begin + (ns_t)random_below(&random, (uint64_t)span);
		double from = now_us();

		ret = history_state(h, at, values, NULL);
		t->us[t->nr++] = now_us() - from;
	}
	if (!ret)
		print_timings("state", t);
	free(values);
	free(t);
	return ret;
}

static int time_windows(struct history *h, const attr_t *rows, unsigned nr, ns_t width)
{
	ns_t begin = history_begin(h), room = history_end(h) - begin - width;
	struct timings *t = calloc(1, sizeof(*t));
	uint64_t random = 3, runs = 0;
	int ret = t ? 0 : -1;
	char name[64];

	for (unsigned i = 0; i < WINDOWS_PER_ZOOM && !ret; i++) {
		ns_t at = begin + (ns_t)random_below(&random, (uint64_t)room + 1);
		double from = now_us();

		ret = history_pixels(h, rows, nr, at, at + width, PIXELS, count_runs, &runs);
		t->us[t->nr++] = now_us() - from;
	}
	snprintf(name, sizeof(name), "window_%.3f_s", (double)width / NS_PER_SEC);
	if (!ret)
		print_timings(name, t);
	free(t);
	return ret;
}

int main(int argc, char **argv)
{
	struct error err = {0};
	double from = now_us(), open_us;
	attr_t rows[ROWS];
	struct history *h;
	unsigned nr;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_query FILE\n");
		return 2;
	}
	if (history_open(&h, argv[1], &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	open_us = now_us() - from;
	nr = choose_rows(h, rows);
	printf("open 1 %.1f %.1f %.1f\n", open_us, open_us, open_us);
	printf("rows %u of %" PRIu32 " attributes\n", nr, history_nr_attrs(h));
	ret = time_states(h);
	for (ns_t width = history_end(h) - history_begin(h); !ret && width >= WINDOW_MIN_NS;
	     width /= ZOOM_STEP)
		ret = time_windows(h, rows, nr, width);
	history_close(h);
	if (ret)
		fprintf(stderr, "a query failed\n");
	return ret ? 1 : 0;
}
