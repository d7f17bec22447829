/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What grows faster than the machine: bench_made [-c CPUS] [-m VMS] [-s STEPS] [-w WITH] [-o FILE]
 * [ANALYSIS...]
 *
 * Makes histories (made_world.h) of a machine of CPUS CPUs and VMS VMs, of one half as large and of
 * one of a quarter, and asks for every analysis, or those named, on a history that was opened anew.
 * Prints a line for each: its name, rows, CPU time in ms, beginning with the smallest, and by how
 * much more than twice as long, in percent, the largest took than the one half as large.
 *
 * -o: only makes the history, in FILE; -w: what there is in it, a sum of enum made_with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/rows_time.h"
#include "bench/made_world.h"
#include "cmd/common/heap.h"

#define SIZES 3

static void make(const char *path, struct made_options o)
{
	struct error err = {0};

	if (!made_history(path, &o, &err))
		return;
	fprintf(stderr, "bench_made: %s\n", err.text);
	exit(1);
}

static void measure(const char *analysis, char paths[SIZES][64])
{
	double ms[SIZES];
	size_t rows = 0;

	for (unsigned size = SIZES; size--;)
		ms[size] = rows_time(paths[size], analysis, &rows);
	printf("%s %zu %.1f %.1f %.1f %+.0f%%\n", analysis, rows, ms[2], ms[1], ms[0],
	       (ms[0] / (2 * ms[1]) - 1) * 100);
	fflush(stdout);
}

static void measure_all(char paths[SIZES][64])
{
	const struct sonde_table *const *list;
	unsigned nr;

	list = sonde_tables(&nr);
	for (unsigned i = 0; i < nr; i++)
		measure(list[i]->name, paths);
}

int main(int argc, char **argv)
{
	struct made_options o = {.cpus = 4096, .vms = 1000, .steps = 100, .with = MADE_ALL};
	char paths[SIZES][64];
	const char *out = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "c:m:s:w:o:")) != -1) {
		unsigned number = optarg ? (unsigned)strtoul(optarg, NULL, 0) : 0;

		if (opt == 'c')
			o.cpus = number;
		else if (opt == 'm')
			o.vms = number;
		else if (opt == 's')
			o.steps = number;
		else if (opt == 'w')
			o.with = number;
		else if (opt == 'o')
			out = optarg;
		else
			return 2;
	}
	if (!o.cpus || !o.vms || o.cpus > 1 << 20 || o.vms > 1 << 20)
		return 2;
	if (out) {
		make(out, o);
		return 0;
	}
	heap_settle();
	for (unsigned i = 0; i < SIZES; i++) {
		struct made_options part = o;

		snprintf(paths[i], sizeof(paths[i]), "/tmp/bench_made.%d.%u", getpid(), i);
		part.cpus = (o.cpus >> i) + !(o.cpus >> i);
		part.vms = (o.vms >> i) + !(o.vms >> i);
		make(paths[i], part);
	}
	printf("# %u CPUs, %u VMs, and half and a quarter of them; %u steps\n", o.cpus, o.vms,
	       o.steps);
	if (optind == argc)
		measure_all(paths);
	for (int i = optind; i < argc; i++)
		measure(argv[i], paths);
	for (unsigned i = 0; i < SIZES; i++)
		unlink(paths[i]);
	return 0;
}
