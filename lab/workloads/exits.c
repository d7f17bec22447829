/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exits: leaves guest mode --count times, by CPUID, which every hypervisor emulates, and that
 * --repeat times.  The last line says what each repetition took on the TSC: what a host adds to
 * each of its guest's exits is in it.
 */
#include "workload.h"

#include <cpuid.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t play(uint64_t count)
{
	uint64_t begin = tsc_now();
	unsigned a, b, c, d;

	for (uint64_t i = 0; i < count; i++)
		__cpuid(0, a, b, c, d);
	return tsc_now() - begin;
}

int main(int argc, char **argv)
{
	uint64_t count = 1000, repeat = 5, cpu = 0, *tsc;
	struct workload w = {.kind = "exits"};
	const struct option_spec specs[] = {
		{"count", "exits per repetition (1000)", &count, NULL},
		{"repeat", "repetitions (5)", &repeat, NULL},
		{"cpu", "the CPU that it runs on (0)", &cpu, NULL},
		{NULL, NULL, NULL, NULL},
	};

	workload_options(&w, argc, argv, specs);
	pin_to_cpu(cpu);
	tsc = calloc(repeat + 1, sizeof(*tsc));
	if (!tsc)
		die("calloc");
	workload_begin(&w, specs);
	for (uint64_t i = 0; i < repeat; i++)
		tsc[i] = play(count);
	printf("{\"rounds\":%" PRIu64 ",", count);
	print_numbers("tsc", tsc, repeat);
	printf("}\n");
	free(tsc);
	workload_end(&w, "exits", count * repeat, NULL);
	return 0;
}
