/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the facts cost: bench_facts FILE
 *
 * Every analysis over the whole of a history, each on a history that was opened anew.  Prints one
 * line for each: name, rows and CPU time in ms; then the sum of all, and what all of them cost one
 * after the other on a history that was opened once, as sonde report and sonde serve have it.  The heap
 * is the program's, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/sonde.h>

#include "cmd/heap.h"

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
	fprintf(stderr, "bench_facts: %s\n", err->text);
	exit(1);
}

static size_t rows_of(struct sonde_run *run, const char *analysis)
{
	struct sonde_error err = {0};
	struct sonde_facts *facts;
	size_t rows;

	must(sonde_facts_get(&facts, run, analysis, sonde_run_begin(run), sonde_run_end(run), &err),
	     &err);
	rows = sonde_facts_nr_rows(facts);
	sonde_facts_free(facts);
	return rows;
}

static double time_of(const char *path, const char *analysis, size_t *rows)
{
	struct sonde_error err = {0};
	struct sonde_run *run;
	double begin = cpu_ms();

	must(sonde_run_open(&run, path, &err), &err);
	*rows = rows_of(run, analysis);
	sonde_run_close(run);
	return cpu_ms() - begin;
}

static double time_together(const char *path, size_t *rows)
{
	const struct sonde_analysis *const *list;
	struct sonde_error err = {0};
	struct sonde_run *run;
	double begin = cpu_ms();
	unsigned nr;

	must(sonde_run_open(&run, path, &err), &err);
	list = sonde_analyses(&nr);
	*rows = 0;
	for (unsigned i = 0; i < nr; i++)
		*rows += rows_of(run, list[i]->name);
	sonde_run_close(run);
	return cpu_ms() - begin;
}

int main(int argc, char **argv)
{
	const struct sonde_analysis *const *list;
	size_t rows, all_rows = 0;
	double ms, sum = 0;
	unsigned nr;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_facts FILE\n");
		return 2;
	}
	heap_settle();
	list = sonde_analyses(&nr);
	for (unsigned i = 0; i < nr; i++) {
		ms = time_of(argv[1], list[i]->name, &rows);
		printf("%s %zu %.1f\n", list[i]->name, rows, ms);
		all_rows += rows;
		sum += ms;
	}
	printf("all %zu %.1f\n", all_rows, sum);
	ms = time_together(argv[1], &rows);
	printf("together %zu %.1f\n", rows, ms);
	return 0;
}
