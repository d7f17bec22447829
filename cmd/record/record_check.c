/* SPDX-License-Identifier: Apache-2.0 */
/* sonde record --check: can this machine be recorded, and what would help? */
#include "cmd/record/record_options.h"
#include "record/tracers/check.h"

#include <stdio.h>

static const char *const state_names[] = {
	[CHECK_GOOD] = "ok", [CHECK_NOTE] = "note", [CHECK_MISSING] = "MISSING"};
static const char *const json_names[] = {
	[CHECK_GOOD] = "ok", [CHECK_NOTE] = "note", [CHECK_MISSING] = "missing"};

static void print_row(FILE *out, const struct check_row *row, bool all)
{
	fprintf(out, "%-8s %-12s %s\n", state_names[row->state], row->name, row->what);
	if (row->state == CHECK_GOOD && !all)
		return;
	fprintf(out, "%-21s why: %s\n", "", row->why);
	if (*row->mend)
		fprintf(out, "%-21s do:  %s\n", "", row->mend);
}

static void print_json(FILE *out, const struct check_row *rows, unsigned nr)
{
	struct json j = {.out = out, .flat = 2};

	json_begin_array(&j, NULL);
	for (unsigned i = 0; i < nr; i++) {
		json_begin_object(&j, NULL);
		json_str(&j, "name", rows[i].name);
		json_str(&j, "state", json_names[rows[i].state]);
		json_str(&j, "what", rows[i].what);
		json_str(&j, "why", rows[i].why);
		json_str(&j, "mend", rows[i].mend);
		json_end(&j);
	}
	json_end(&j);
}

enum exit_code record_check(const struct invocation *inv)
{
	struct check_row rows[CHECK_ROWS_MAX];
	unsigned nr = check_machine(rows);
	enum exit_code code = EXIT_DONE;

	if (is_json(inv))
		print_json(inv->screen.out, rows, nr);
	for (unsigned i = 0; i < nr; i++) {
		if (!is_json(inv) && (!inv->common.quiet || rows[i].state == CHECK_MISSING))
			print_row(inv->screen.out, &rows[i], inv->common.verbose);
		if (rows[i].state == CHECK_MISSING)
			code = EXIT_UNSOUND;
	}
	return code;
}
