/* SPDX-License-Identifier: Apache-2.0 */
/* sonde vms: what the VMs of any number of histories are like, and which are alike. */
#include "cmd/common/command.h"
#include "report/csv.h"
#include "report/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vms_options {
	uint64_t top;
};

static const struct option_row option_rows[] = {
	{'n', "top", OPTION_NUMBER, offsetof(struct vms_options, top), "N", NULL,
	 "how many VMs (default: all)", 0},
};

static enum exit_code open_all(const struct invocation *inv, struct sonde_history **histories)
{
	for (int i = 0; i < inv->nr_operands; i++) {
		struct invocation one = *inv;
		enum exit_code code;

		one.operands = inv->operands + i;
		one.nr_operands = 1;
		ticker_say(inv->ticker, inv->operands[i]);
		code = open_input(&one, &histories[i]);
		ticker_hide(inv->ticker);
		if (code)
			return code;
	}
	return EXIT_DONE;
}

static enum exit_code print(const struct invocation *inv, struct sonde_history *history,
			    const struct sonde_rows *rows)
{
	const struct vms_options *opt = inv->values;
	struct rows_view view = {.rows_max = opt->top};
	struct json j = {.out = inv->screen.out};

	if (is_json(inv)) {
		rows_json(&j, NULL, history, rows);
		return EXIT_DONE;
	}
	if (is_csv(inv)) {
		rows_csv(inv->screen.out, history, rows);
		return EXIT_DONE;
	}
	if (!sonde_rows_nr(rows)) {
		fprintf(inv->screen.out, "there was no VM in %s\n",
			inv->nr_operands == 1 ? "this history" : "these histories");
		return EXIT_DONE;
	}
	return rows_print(&inv->screen, history, rows, &view)
		       ? complain(inv, EXIT_FAILED, "out of memory")
		       : EXIT_DONE;
}

/* The history whose unit is that of the lengths: in ns if there is one, for the others have none
 * then.
 */
static struct sonde_history *run_of_units(const struct invocation *inv,
					  struct sonde_history *const *histories)
{
	for (int i = 0; i < inv->nr_operands; i++) {
		if (sonde_history_ticks_are_ns(histories[i]))
			return histories[i];
	}
	return histories[0];
}

static enum exit_code run_vms(const struct invocation *inv)
{
	struct sonde_history **histories;
	struct sonde_rows *rows = NULL;
	struct sonde_error err = {0};
	enum exit_code code;

	if (!inv->nr_operands)
		return complain(inv, EXIT_USAGE, "one history or more are expected");
	histories = calloc((size_t)inv->nr_operands, sizeof(*histories));
	if (!histories)
		return complain(inv, EXIT_FAILED, "out of memory");
	code = open_all(inv, histories);
	if (!code && sonde_vms(&rows, histories, (const char *const *)inv->operands,
			       (unsigned)inv->nr_operands, &err))
		code = complain(inv, EXIT_FAILED, "%s", err.text);
	if (!code)
		code = print(inv, run_of_units(inv, histories), rows);
	sonde_rows_free(rows);
	for (int i = 0; i < inv->nr_operands; i++)
		sonde_history_close(histories[i]);
	free(histories);
	return code;
}

const struct command vms_command = {
	.name = "vms",
	.summary = "what VMs are like, over any number of histories, and which are alike",
	.operands = "FILE...",
	.about = "The profile of each VM: what its vCPUs' time went into, how often it exits and\n"
		 "waits.  VMs of one group behave alike.\n",
	.common = COMMON_FORMAT_CSV,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct vms_options),
	.pages = true,
	.whole = true,
	.run = run_vms,
};
