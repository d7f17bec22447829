/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create() */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "history/history.h"
#include "tests/fuzz/mended_history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/*
 * Opens damaged histories and asks them everything.  Checksums are made right first: what they
 * find is known, what a file with right checksums and wrong content does is the question.
 */
#define INPUT_MAX (1u << 20)
#define ASK 8
#define LIST_MAX 5000

static bool take_interval(const struct interval *i, void *data)
{
	unsigned *left = data;

	(void)i;
	return --*left;
}

static void take_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	unsigned pixels = *(unsigned *)data;

	(void)row;
	for (unsigned i = 0; i < nr; i++) {
		if (runs[i].first + runs[i].nr > pixels)
			abort();
	}
}

/* In memory for no more than was asked for. */
static void take_list(struct history *h, attr_t attr, ns_t t, unsigned room)
{
	ns_t *begins = malloc((room + 1) * sizeof(*begins));
	uint32_t *values = malloc(room * sizeof(*values));
	uint64_t most = history_list_most(h, attr, t, history_end(h));
	unsigned nr;

	if (begins && values &&
	    !history_list(h, attr, t, history_end(h), begins, values, room, &nr)) {
		if (nr > room || (most && nr > most))
			abort();
		for (unsigned i = 0; i < nr; i++) {
			if (begins[i] >= begins[i + 1])
				abort();
		}
	}
	free(begins);
	free(values);
}

static void ask_about(struct history *h, attr_t attr, ns_t t)
{
	ns_t begin = history_begin(h), end = history_end(h);
	struct value_time *list = NULL;
	struct interval i;
	unsigned left = 5000, nr, pixels = 300;
	ns_t out;

	history_at(h, attr, t, &i);
	history_next_change(h, attr, t, &out);
	history_prev_change(h, attr, t, &out);
	history_walk(h, attr, t, end, take_interval, &left);
	for (unsigned room = 1; room <= LIST_MAX; room *= 5)
		take_list(h, attr, t, room);
	if (!history_sum(h, attr, begin, t, &list, &nr))
		free(list);
	history_pixels(h, &attr, 1, begin, end, pixels, take_runs, &pixels);
	if (t < end)
		history_pixels(h, &attr, 1, t, end, pixels, take_runs, &pixels);
}

static void ask_all(struct history *h)
{
	uint32_t nr = history_nr_attrs(h);
	uint32_t *values = calloc(nr, sizeof(*values));
	uint64_t span = (uint64_t)history_end(h) - (uint64_t)history_begin(h);

	for (unsigned i = 0; i < ASK; i++) {
		ns_t t = (ns_t)((uint64_t)history_begin(h) + span / ASK * i);

		if (values)
			history_state(h, t, values, NULL);
		ask_about(h, (attr_t)((uint64_t)nr * i / ASK), t);
	}
	for (int table = 0; table < (int)history_nr_tables(h); table++) {
		unsigned nr_columns;

		history_table_columns(h, table, &nr_columns);
		history_cell(h, table, history_nr_rows(h, table) - 1, nr_columns - 1);
	}
	history_find(h, "row1/row2");
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	char path[64];
	struct history *h;
	int fd;

	if (!len_bytes || len_bytes > INPUT_MAX)
		return 0;
	fd = mended_history(data, len_bytes, path, sizeof(path));
	if (!history_open(&h, path, NULL)) {
		ask_all(h);
		history_close(h);
	}
	close(fd);
	return 0;
}
