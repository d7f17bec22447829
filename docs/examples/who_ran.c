/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was physical CPU 0 doing at ten moments of a run, and who used most of its machine's CPU
 * time?
 *
 *	cc who_ran.c $(pkg-config --cflags --libs libsonde) -o who_ran
 *	./who_ran run.sonde
 */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/sonde.h>

#define MOMENTS 10

static void print_stack(const struct sonde_run *run, const struct sonde_stack *stack)
{
	for (unsigned i = 0; i < stack->nr; i++) {
		struct sonde_machine machine;
		char thread[100];

		sonde_machine_get(run, stack->frames[i].machine, &machine);
		sonde_thread_label(run, stack->frames[i].thread, thread, sizeof(thread));
		printf("%s%s: %s", i ? " > " : "", machine.name, thread);
	}
	printf(" (%s%s%s)\n", sonde_mode_name(stack->mode), *stack->detail_text ? " " : "",
	       stack->detail_text);
}

static int print_moments(struct sonde_run *run)
{
	int64_t begin = sonde_run_begin(run);
	int64_t length = sonde_run_end(run) - begin;

	for (int i = 0; i < MOMENTS; i++) {
		int64_t t = begin + length * (2 * i + 1) / (2 * MOMENTS);
		struct sonde_stack stack;
		int ret = sonde_stack_at(run, 0, t, &stack);

		if (ret)
			return ret;
		printf("+%" PRId64 " ns  ", t - begin);
		print_stack(run, &stack);
	}
	return 0;
}

static int print_users(struct sonde_run *run, struct sonde_error *err)
{
	struct sonde_facts *facts;
	int ret = sonde_facts_get(&facts, run, "machine_time", sonde_run_begin(run),
				  sonde_run_end(run), err);
	int total;

	if (ret)
		return ret;
	total = sonde_facts_column(facts, "total");
	for (size_t row = 0; row < sonde_facts_nr_rows(facts); row++) {
		struct sonde_machine machine;

		sonde_machine_get(run, sonde_facts_cell(facts, row, 0).i, &machine);
		printf("%s used %" PRId64 " ns\n", machine.name,
		       sonde_facts_cell(facts, row, (unsigned)total).i);
	}
	sonde_facts_free(facts);
	return 0;
}

int main(int argc, char **argv)
{
	struct sonde_error err = {0};
	struct sonde_run *run;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: who_ran RUN.sonde\n");
		return 2;
	}
	ret = sonde_run_open(&run, argv[1], &err);
	if (!ret) {
		ret = print_moments(run);
		if (!ret)
			ret = print_users(run, &err);
		sonde_run_close(run);
	}
	if (ret)
		fprintf(stderr, "who_ran: %s\n", *err.text ? err.text : "cannot read the history");
	return ret ? 1 : 0;
}
