/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/facts_time.h"

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

size_t facts_rows(struct sonde_run *run, const char *analysis)
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

double facts_time(const char *path, const char *analysis, size_t *rows)
{
	struct sonde_error err = {0};
	struct sonde_run *run;
	double begin = cpu_ms();

	must(sonde_run_open(&run, path, &err), &err);
	*rows = facts_rows(run, analysis);
	sonde_run_close(run);
	return cpu_ms() - begin;
}

double facts_time_together(const char *path, size_t *rows)
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
		*rows += facts_rows(run, list[i]->name);
	sonde_run_close(run);
	return cpu_ms() - begin;
}
