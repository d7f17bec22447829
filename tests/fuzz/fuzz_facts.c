/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create() */
#include "sonde/sonde.h"
#include "tests/fuzz/mended_history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/*
 * All tables of damaged histories, over the whole and over a part; critical paths, a comparison of
 * the history with itself, and profiles.
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
static bool is_figure(const struct sonde_history *history, const struct sonde_column *c, int64_t i)
{
	__int128 each = (__int128)sonde_nr_threads(history) + sonde_nr_cpus(history) + 1;
	__int128 length = (__int128)sonde_history_end(history) - sonde_history_begin(history);

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
static void read_cells(const struct sonde_history *history, const struct sonde_rows *f)
{
	const struct sonde_table *a = sonde_rows_table(f);
	size_t sum = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		for (unsigned c = 0; c < a->nr_columns; c++) {
			union sonde_cell cell = sonde_rows_cell(f, row, c);

			if (!is_figure(history, &a->columns[c], cell.i)) {
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

static void take(const struct sonde_history *history, struct sonde_rows **f, int ret)
{
	if (ret)
		return;
	read_cells(history, *f);
	sonde_rows_free(*f);
}

static void ask(struct sonde_history *history, int64_t begin, int64_t end)
{
	const struct sonde_table *const *list;
	struct sonde_error err = {0};
	struct sonde_rows *f;
	unsigned nr;

	list = sonde_tables(&nr);
	for (unsigned i = 0; i < nr; i++)
		take(history, &f, sonde_rows_get(&f, history, list[i]->name, begin, end, &err));
	for (int64_t thread = 0; thread < sonde_nr_threads(history) && thread < PATHS_MAX; thread++)
		take(history, &f, sonde_critical_path(&f, history, thread, begin, end, &err));
}

static void ask_all(struct sonde_history *history)
{
	int64_t begin = sonde_history_begin(history), end = sonde_history_end(history);
	int64_t middle = begin + (int64_t)(((uint64_t)end - (uint64_t)begin) / 2);
	const char *name = "run";
	struct sonde_error err = {0};
	struct sonde_rows *f;

	if (sonde_nr_threads(history) > ROWS_MAX || sonde_nr_cpus(history) > ROWS_MAX ||
	    sonde_nr_contexts(history) > ROWS_MAX || sonde_nr_machines(history) > ROWS_MAX)
		return;
	ask(history, begin, end);
	if (begin < middle)
		ask(history, begin, middle);
	take(history, &f, sonde_compare(&f, history, begin, end, history, begin, end, &err));
	take(history, &f, sonde_vms(&f, &history, &name, 1, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct sonde_error err = {0};
	struct sonde_history *history;
	char path[64];
	int fd;

	if (!len_bytes || len_bytes > INPUT_MAX)
		return 0;
	fd = mended_history(data, len_bytes, path, sizeof(path));
	if (!sonde_history_open(&history, path, &err)) {
		ask_all(history);
		sonde_history_close(history);
	}
	close(fd);
	return 0;
}
