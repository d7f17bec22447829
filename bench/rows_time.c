/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/rows_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void must(int ret, const struct sonde_error *err)
{
	if (!ret)
		return;
	fprintf(stderr, "cannot measure facts: %s\n", err->text);
	exit(1);
}

size_t rows_rows(struct sonde_history *history, const char *analysis)
{
	struct sonde_error err = {0};
	struct sonde_rows *rows;
	size_t nr_rows;

	must(sonde_rows_get(&rows, history, analysis, sonde_history_begin(history),
			    sonde_history_end(history), &err),
	     &err);
	nr_rows = sonde_rows_nr(rows);
	sonde_rows_free(rows);
	return nr_rows;
}

double rows_time(const char *path, const char *analysis, size_t *rows)
{
	struct sonde_error err = {0};
	struct sonde_history *history;
	double begin = cpu_ms();

	must(sonde_history_open(&history, path, &err), &err);
	*rows = rows_rows(history, analysis);
	sonde_history_close(history);
	return cpu_ms() - begin;
}

double rows_time_together(const char *path, size_t *rows)
{
	const struct sonde_table *const *list;
	struct sonde_error err = {0};
	struct sonde_history *history;
	double begin = cpu_ms();
	unsigned nr;

	must(sonde_history_open(&history, path, &err), &err);
	list = sonde_tables(&nr);
	*rows = 0;
	for (unsigned i = 0; i < nr; i++)
		*rows += rows_rows(history, list[i]->name);
	sonde_history_close(history);
	return cpu_ms() - begin;
}
