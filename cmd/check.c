/* SPDX-License-Identifier: Apache-2.0 */
/* sonde check: is this trace, or this history, sound? */
#include "cmd/common/command.h"
#include "report/safe.h"
#include "base/units.h"
#include "sonde/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct invocation *inv;
	struct json json;
	const char *path;
	unsigned faults; /* of this path */
	char **notes;	 /* owned, each owned: of this path; JSON has them behind the faults */
	unsigned nr_notes;
	bool unsound;  /* any path had faults */
	int nr_failed; /* paths of which nothing could be read */
};

static void keep_note(struct check *c, const char *text)
{
	char **grown = reallocarray(c->notes, c->nr_notes + 1, sizeof(*grown));

	if (!grown)
		return;
	c->notes = grown;
	c->notes[c->nr_notes] = strdup(text);
	c->nr_notes += c->notes[c->nr_notes] != NULL;
}

static void on_finding(enum sonde_finding kind, const char *text, void *data)
{
	struct check *c = data;
	size_t len = strlen(c->path);
	char safe[640];

	ticker_hide(c->inv->ticker);
	c->faults += kind == SONDE_FAULT;
	if (!is_json(c->inv)) {
		/* Of one file both begin with its name. */
		if (!strncmp(text, c->path, len) && !strncmp(text + len, ": ", 2))
			text += len + 2;
		/* A sentence that has the name as its subject has it once, too. */
		if (kind == SONDE_FAULT && !strncmp(text, c->path, len) &&
		    (text[len] == ',' || text[len] == ' '))
			fprintf(c->inv->screen.out, "%s\n", safe_text(safe, sizeof(safe), text));
		else if (kind == SONDE_FAULT || !c->inv->common.quiet)
			fprintf(c->inv->screen.out, "%s: %s%s\n", c->path,
				kind == SONDE_NOTE ? "note: " : "",
				safe_text(safe, sizeof(safe), text));
	} else if (kind == SONDE_FAULT) {
		json_str(&c->json, NULL, text);
	} else {
		keep_note(c, text);
	}
	ticker_say(c->inv->ticker, c->path);
}

static void end_json(struct check *c, bool failed, const struct sonde_check_result *result,
		     const struct sonde_error *err)
{
	json_end(&c->json);
	json_begin_array(&c->json, "notes");
	for (unsigned i = 0; i < c->nr_notes; i++) {
		json_str(&c->json, NULL, c->notes[i]);
		free(c->notes[i]);
	}
	c->nr_notes = 0;
	json_end(&c->json);
	json_bool(&c->json, "sound", !failed && !c->faults);
	json_str(&c->json, "error", failed ? err->text : "");
	json_str(&c->json, "kind", failed ? "" : result->kind);
	json_uint(&c->json, "items", failed ? 0 : result->items);
	json_end(&c->json);
}

static void check_path(struct check *c, const char *path)
{
	struct sonde_check_result result;
	struct sonde_error err = {0};
	int ret;

	c->path = path;
	c->faults = 0;
	if (is_json(c->inv)) {
		json_begin_object(&c->json, NULL);
		json_str(&c->json, "path", path);
		json_begin_array(&c->json, "findings");
	}
	ticker_say(c->inv->ticker, path);
	ret = sonde_check(path, on_finding, c, NULL, &result, &err);
	ticker_hide(c->inv->ticker);
	if (is_json(c->inv)) {
		end_json(c, ret, &result, &err);
	} else if (!ret && !c->faults && !c->inv->common.quiet) {
		char count[UNIT_TEXT];

		fprintf(c->inv->screen.out, "%s: sound: %s, %s %s\n", path, result.kind,
			unit_count(count, (int64_t)result.items), result.unit);
	}
	if (ret) {
		complain(c->inv, EXIT_FAILED, "%s", err.text);
		c->nr_failed++;
	}
	c->unsound |= c->faults > 0;
}

static enum exit_code run_check(const struct invocation *inv)
{
	struct check c = {.inv = inv, .json = {.out = inv->screen.out, .flat = 2}};

	if (!inv->nr_operands)
		return complain(inv, EXIT_USAGE, "which trace or history? see sonde check --help");
	if (is_json(inv))
		json_begin_array(&c.json, NULL);
	for (int i = 0; i < inv->nr_operands; i++)
		check_path(&c, inv->operands[i]);
	if (is_json(inv))
		json_end(&c.json);
	free(c.notes);
	if (c.nr_failed == inv->nr_operands)
		return EXIT_FAILED;
	return c.nr_failed || c.unsound ? EXIT_UNSOUND : EXIT_DONE;
}

const struct command check_command = {
	.name = "check",
	.summary = "is a trace or a history sound? the exit code says",
	.operands = "PATH...",
	.about =
		"A trace is decoded from begin to end: what is broken or lost is listed.\n"
		"A history is read whole, checksums and all; its physical CPUs must be accounted\n"
		"for to the nanosecond.  What begins with \"note:\" is good to know and no fault.\n"
		"Exit codes: 0 sound, 3 not sound, 1 nothing could be read at all.\n",
	.common = COMMON_FORMAT,
	.run = run_check,
};
