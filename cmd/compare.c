/* SPDX-License-Identifier: Apache-2.0 */
/* sonde compare: what changed from one history to another, beyond chance. */
#include "analysis/compare/compare.h"
#include "analysis/rows.h"
#include "cmd/answers/compare_text.h"
#include "cmd/common/missing.h"
#include "report/csv.h"
#include "report/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
	uint64_t top;
	const char *time2;
	struct text_list match;
};

#define FIELD(field) offsetof(struct compare_options, field)

static const struct option_row option_rows[] = {
	{'n', "top", OPTION_NUMBER, FIELD(top), "N", NULL,
	 "changes of each kind (default 15, and 5 that are not proven; JSON and CSV have all of them)",
	 0},
	{0, "match", OPTION_PAIRS, FIELD(match), "A=B", NULL,
	 "machine A of the first run is B of the second; may be repeated", 0},
	{0, "time2", OPTION_TEXT, FIELD(time2), "A,B", NULL,
	 "window in the second run (default: as --time in the first)", 0},
};

/* ---- JSON ---------------------------------------------------------------------------------- */

static const char *const match_names[] = {[MATCH_OUTERMOST] = "outermost",
					  [MATCH_TOLD] = "given",
					  [MATCH_NAME] = "name",
					  [MATCH_STRUCTURE] = "structure"};

static void print_json(const struct invocation *inv, const struct comparison *p)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	for (unsigned i = 0; i < 2; i++) {
		json_begin_object(&j, i ? "after" : "before");
		json_str(&j, "file", inv->operands[i]);
		json_int(&j, "begin", p->begin[i]);
		json_int(&j, "end", p->end[i]);
		missing_json(&j, p->histories[i], p->begin[i], p->end[i]);
		json_end(&j);
	}
	json_begin_array(&j, "matched");
	for (int64_t row = 0; row < sonde_nr_machines(p->match.after); row++) {
		if (p->match.by[row] == MATCH_NONE)
			continue;
		json_begin_object(&j, NULL);
		json_machine(&j, "before", p->histories[0], p->match.to_before[row]);
		json_machine(&j, "after", p->histories[1], row);
		json_str(&j, "by", match_names[p->match.by[row]]);
		json_end(&j);
	}
	json_end(&j);
	rows_json(&j, "compare", p->histories[0], p->rows);
	json_end(&j);
}

/* ---- the command --------------------------------------------------------------------------- */

static enum exit_code open_runs(const struct invocation *inv, struct comparison *p)
{
	const struct compare_options *opt = inv->values;

	for (unsigned i = 0; i < 2; i++) {
		const char *time = i && opt->time2 ? opt->time2 : inv->common.time;
		struct invocation one = *inv;
		enum exit_code code;

		one.operands = inv->operands + i;
		one.nr_operands = 1;
		code = open_input(&one, &p->histories[i]);
		if (code)
			return code;
		if (!get_window_of(inv, p->histories[i], i && opt->time2 ? "time2" : "time", time,
				   &p->begin[i], &p->end[i]))
			return EXIT_USAGE;
	}
	return EXIT_DONE;
}

#define MATCHES_MAX 64

/* "--match A=B" */
static enum exit_code take_matches(const struct invocation *inv, struct comparison *p)
{
	const struct compare_options *opt = inv->values;
	struct match_pair pairs[MATCHES_MAX];
	char names[MATCHES_MAX][160];
	struct error err = {0};

	if (opt->match.nr > MATCHES_MAX)
		return complain(inv, EXIT_USAGE, "--match: at most %d are possible", MATCHES_MAX);
	for (unsigned i = 0; i < opt->match.nr; i++) {
		char *equals;

		snprintf(names[i], sizeof(names[i]), "%s", opt->match.items[i]);
		equals = strchr(names[i], '=');
		if (!equals)
			return complain(inv, EXIT_USAGE, "--match: \"%s\" is not like A=B",
					opt->match.items[i]);
		*equals = '\0';
		pairs[i] = (struct match_pair){names[i], equals + 1};
	}
	switch (match_make(&p->match, p->histories[0], p->histories[1], pairs,
			   (unsigned)opt->match.nr, &err)) {
	case 0:
		return EXIT_DONE;
	case -ENOENT:
		return complain(inv, EXIT_USAGE, "--match: %s; sonde tree lists them", err.text);
	default:
		return complain(inv, EXIT_FAILED, "%s", err.text);
	}
}

static enum exit_code compare(const struct invocation *inv, struct comparison *p)
{
	const struct compare_window before = {p->histories[0], p->begin[0], p->end[0]};
	const struct compare_window after = {p->histories[1], p->begin[1], p->end[1]};
	struct error err = {0};
	int ret;

	ticker_say(inv->ticker, "comparing");
	ret = compare_windows(&p->rows, &before, &after, &p->match, &err);
	ticker_hide(inv->ticker);
	return ret ? complain(inv, EXIT_FAILED, "%s", err.text) : EXIT_DONE;
}

static enum exit_code run_compare(const struct invocation *inv)
{
	struct comparison p = {0};
	enum exit_code code;

	if (inv->nr_operands != 2)
		return complain(inv, EXIT_USAGE, "two histories are expected: before and after");
	code = open_runs(inv, &p);
	if (!code)
		code = take_matches(inv, &p);
	if (!code)
		code = compare(inv, &p);
	if (!code) {
		if (is_json(inv))
			print_json(inv, &p);
		else if (is_csv(inv))
			rows_csv(inv->screen.out, p.histories[0], p.rows);
		else
			code = comparison_print(inv, &p,
						((const struct compare_options *)inv->values)->top);
	}
	sonde_rows_free(p.rows);
	match_release(&p.match);
	sonde_history_close(p.histories[0]);
	sonde_history_close(p.histories[1]);
	return code;
}

const struct command compare_command = {
	.name = "compare",
	.summary = "what changed from one history to another, beyond chance",
	.operands = "BEFORE AFTER",
	.about =
		"Machines are matched by name, else by their place; vCPUs by number.\n"
		"Each measure is taken in 24 parts of each history; what differs by more than their\n"
		"scatter explains is listed, with limits.\n",
	.common = COMMON_FORMAT_CSV | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct compare_options),
	.pages = true,
	.whole = true,
	.run = run_compare,
};
