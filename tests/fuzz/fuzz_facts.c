/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create() */
#include "sonde/sonde.h"
#include "tests/fuzz/mended_history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/*
 * All facts of damaged histories, over the whole and over a part; critical paths, a comparison of
 * the run with itself, and profiles.
 */
#define INPUT_MAX (1u << 18)
#define PATHS_MAX 8
/* A file that claims a great many rows costs time, and shows nothing new. */
#define ROWS_MAX 4096

static bool is_count(const char *name)
{
	static const char *const counts[] = {"count",  "times", "exits",
					     "events", "pairs", "violations"};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		if (!strcmp(name, counts[i]))
			return true;
	}
	return false;
}

/* What no figure can be: negative, but for -1 (not known), or more than all threads and CPUs
 * together had. */
static bool is_figure(const struct sonde_run *run, const struct sonde_column *c, int64_t i)
{
	__int128 each = (__int128)sonde_nr_threads(run) + sonde_nr_cpus(run) + 1;
	__int128 length = (__int128)sonde_run_end(run) - sonde_run_begin(run);

	switch (c->type) {
	case SONDE_COL_PPM:
		return i >= -1000000 && i <= each * 1000000;
	case SONDE_COL_NS:
		return i >= -1 &&
		       (i <= each * length || (!strcmp(c->name, "bound") && i < INT64_MAX));
	case SONDE_COL_INT:
		return !is_count(c->name) || (i >= -1 && i < INT64_MAX);
	default:
		return true;
	}
}

/* Reads every cell: strings to their ends. */
static void read_cells(const struct sonde_run *run, const struct sonde_facts *f)
{
	const struct sonde_analysis *a = sonde_facts_analysis(f);
	size_t sum = 0;

	for (size_t row = 0; row < sonde_facts_nr_rows(f); row++) {
		for (unsigned c = 0; c < a->nr_columns; c++) {
			union sonde_cell cell = sonde_facts_cell(f, row, c);

			if (!is_figure(run, &a->columns[c], cell.i)) {
				fprintf(stderr, "%s.%s: %lld\n", a->name, a->columns[c].name,
					(long long)cell.i);
				abort();
			}
			sum += a->columns[c].type == SONDE_COL_STRING ? strlen(cell.s)
								      : (size_t)cell.i;
		}
	}
	if (sum == SIZE_MAX - 12345) /* so that it is not left out */
		fputs("unlikely", stderr);
}

static void take(const struct sonde_run *run, struct sonde_facts **f, int ret)
{
	if (ret)
		return;
	read_cells(run, *f);
	sonde_facts_free(*f);
}

static void ask(struct sonde_run *run, int64_t begin, int64_t end)
{
	const struct sonde_analysis *const *list;
	struct sonde_error err = {0};
	struct sonde_facts *f;
	unsigned nr;

	list = sonde_analyses(&nr);
	for (unsigned i = 0; i < nr; i++)
		take(run, &f, sonde_facts_get(&f, run, list[i]->name, begin, end, &err));
	for (int64_t thread = 0; thread < sonde_nr_threads(run) && thread < PATHS_MAX; thread++)
		take(run, &f, sonde_critical_path(&f, run, thread, begin, end, &err));
}

static void ask_all(struct sonde_run *run)
{
	int64_t begin = sonde_run_begin(run), end = sonde_run_end(run);
	int64_t middle = begin + (int64_t)(((uint64_t)end - (uint64_t)begin) / 2);
	const char *name = "run";
	struct sonde_error err = {0};
	struct sonde_facts *f;

	if (sonde_nr_threads(run) > ROWS_MAX || sonde_nr_cpus(run) > ROWS_MAX ||
	    sonde_nr_contexts(run) > ROWS_MAX || sonde_nr_machines(run) > ROWS_MAX)
		return;
	ask(run, begin, end);
	if (begin < middle)
		ask(run, begin, middle);
	take(run, &f, sonde_compare(&f, run, begin, end, run, begin, end, &err));
	take(run, &f, sonde_vms(&f, &run, &name, 1, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct sonde_error err = {0};
	struct sonde_run *run;
	char path[64];
	int fd;

	if (!len_bytes || len_bytes > INPUT_MAX)
		return 0;
	fd = mended_history(data, len_bytes, path, sizeof(path));
	if (!sonde_run_open(&run, path, &err)) {
		ask_all(run);
		sonde_run_close(run);
	}
	close(fd);
	return 0;
}
