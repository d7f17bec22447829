/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the rows cost: bench_tables FILE
 *
 * Every analysis over the whole of a history, each on a history that was opened anew.  Prints one
 * line for each: name, rows and CPU time in ms; then the sum of all, and what all of them cost one
 * after the other on a history that was opened once, as sonde report and sonde serve have it.  The
 * heap is the program's, too.
 */
#include <stdio.h>

#include "bench/rows_time.h"
#include "cmd/common/heap.h"

int main(int argc, char **argv)
{
	const struct sonde_table *const *list;
	size_t rows, all_rows = 0;
	double ms, sum = 0;
	unsigned nr;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_tables FILE\n");
		return 2;
	}
	heap_settle();
	list = sonde_tables(&nr);
	for (unsigned i = 0; i < nr; i++) {
		ms = rows_time(argv[1], list[i]->name, &rows);
		printf("%s %zu %.1f\n", list[i]->name, rows, ms);
		all_rows += rows;
		sum += ms;
	}
	printf("all %zu %.1f\n", all_rows, sum);
	ms = rows_time_together(argv[1], &rows);
	printf("together %zu %.1f\n", rows, ms);
	return 0;
}
