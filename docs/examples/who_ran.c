/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was physical CPU 0 doing at ten moments of a history, and who used most of its machine's CPU
 * time?
 *
 *	cc who_ran.c $(pkg-config --cflags --libs libsonde) -o who_ran
 *	./who_ran run.sonde
 */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/sonde.h>

#define MOMENTS 10

static void print_stack(const struct sonde_history *history, const struct sonde_stack *stack)
{
	for (unsigned i = 0; i < stack->nr; i++) {
		struct sonde_machine machine;
		char thread[100];

		sonde_machine_get(history, stack->frames[i].machine, &machine);
		sonde_thread_label(history, stack->frames[i].thread, thread, sizeof(thread));
		printf("%s%s: %s", i ? " > " : "", machine.name, thread);
	}
	printf(" (%s%s%s)\n", sonde_mode_name(stack->mode), *stack->detail_text ? " " : "",
	       stack->detail_text);
}

static int print_moments(struct sonde_history *history)
{
	int64_t begin = sonde_history_begin(history);
	int64_t length = sonde_history_end(history) - begin;

	for (int i = 0; i < MOMENTS; i++) {
		int64_t t = begin + length * (2 * i + 1) / (2 * MOMENTS);
		struct sonde_stack stack;
		int ret = sonde_stack_at(history, 0, t, &stack);

		if (ret)
			return ret;
		printf("+%" PRId64 " ns  ", t - begin);
		print_stack(history, &stack);
	}
	return 0;
}

static int print_users(struct sonde_history *history, struct sonde_error *err)
{
	struct sonde_rows *rows;
	int ret = sonde_rows_get(&rows, history, "machine_time", sonde_history_begin(history),
				 sonde_history_end(history), err);
	int total;

	if (ret)
		return ret;
	total = sonde_rows_column(rows, "total");
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		struct sonde_machine machine;

		sonde_machine_get(history, sonde_rows_cell(rows, row, 0).i, &machine);
		printf("%s used %" PRId64 " ns\n", machine.name,
		       sonde_rows_cell(rows, row, (unsigned)total).i);
	}
	sonde_rows_free(rows);
	return 0;
}

int main(int argc, char **argv)
{
	struct sonde_error err = {0};
	struct sonde_history *history;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: who_ran RUN.sonde\n");
		return 2;
	}
	ret = sonde_history_open(&history, argv[1], &err);
	if (!ret) {
		ret = print_moments(history);
		if (!ret)
			ret = print_users(history, &err);
		sonde_history_close(history);
	}
	if (ret)
		fprintf(stderr, "who_ran: %s\n", *err.text ? err.text : "cannot read the history");
	return ret ? 1 : 0;
}
