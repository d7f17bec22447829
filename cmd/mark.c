/* SPDX-License-Identifier: Apache-2.0 */
/* sonde mark: a mark in the trace of the host that this guest runs on. */
#include "cmd/common/command.h"
#include "cmd/common/signals.h"
#include "cmd/common/workload.h"
#include "sonde/mark.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct mark_options {
	bool begin, end, check;
	uint64_t id;
};

#define FIELD(field) offsetof(struct mark_options, field)

static const struct option_row option_rows[] = {
	{'b', "begin", OPTION_FLAG, FIELD(begin), NULL, NULL, "something begins here", 0},
	{'e', "end", OPTION_FLAG, FIELD(end), NULL, NULL, "... and ends here", 0},
	{0, "id", OPTION_NUMBER, FIELD(id), "N", NULL,
	 "joins a begin to its end, where several of one name go on at once", 0},
	{0, "check", OPTION_FLAG, FIELD(check), NULL, NULL,
	 "send nothing; exit code 0 says that a host would see marks, 3 that none would", 0},
};

/* Outside a KVM guest scripts go on as they would inside. */
static void tell_unheard(const struct invocation *inv)
{
	if (!sonde_mark_heard() && !inv->common.quiet)
		complain(inv, EXIT_DONE, "this is no KVM guest: nobody sees the mark");
}

static void tell_cut(const struct invocation *inv, const char *text)
{
	unsigned len = sonde_mark_length(text);

	if (text[len] && !inv->common.quiet)
		complain(inv, EXIT_DONE, "a mark has at most %d bytes: \"%.*s\" is sent",
			 SONDE_MARK_TEXT, (int)len, text);
}

/* The span of a command. */
static enum exit_code mark_workload(const struct invocation *inv, char **words)
{
	const struct mark_options *opt = inv->values;
	uint32_t id = opt->id ? (uint32_t)opt->id : (uint32_t)getpid();
	const char *text = *inv->operands;
	struct error err = {0};
	struct workload w;
	int ret;

	sonde_mark_begin(text, id);
	ret = workload_start(&w, words, &err);
	while (!ret && !signals_interrupted() && !workload_wait(&w, -1))
		;
	workload_stop(&w);
	sonde_mark_end(text, id);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (signals_interrupted())
		return EXIT_INTERRUPTED;
	if (WIFEXITED(w.status) && !WEXITSTATUS(w.status))
		return EXIT_DONE;
	if (WIFEXITED(w.status))
		return complain(inv, EXIT_FAILED, "%s ended with exit code %d", *words,
				WEXITSTATUS(w.status));
	return complain(inv, EXIT_FAILED, "%s was ended by signal %d", *words, WTERMSIG(w.status));
}

static enum exit_code run_mark(const struct invocation *inv)
{
	const struct mark_options *opt = inv->values;
	const char *text = inv->nr_operands ? *inv->operands : NULL;
	uint32_t id = (uint32_t)opt->id;

	if (opt->check)
		return sonde_mark_heard() ? EXIT_DONE : EXIT_UNSOUND;
	if (!text)
		return complain(inv, EXIT_USAGE, "what is to be marked? see sonde mark --help");
	if (opt->id > UINT32_MAX)
		return complain(inv, EXIT_USAGE, "--id: at most 4294967295");
	if (opt->begin && opt->end)
		return complain(inv, EXIT_USAGE, "--begin or --end, not both");
	if (inv->nr_operands > 1 && (opt->begin || opt->end))
		return complain(inv, EXIT_USAGE,
				"a command is a span of its own: it begins and ends");
	tell_unheard(inv);
	tell_cut(inv, text);
	if (inv->nr_operands > 1)
		return mark_workload(inv, inv->operands + 1);
	if (opt->begin)
		sonde_mark_begin(text, id);
	else if (opt->end)
		sonde_mark_end(text, id);
	else
		sonde_mark_point(text, id);
	return EXIT_DONE;
}

const struct command mark_command = {
	.name = "mark",
	.summary = "in a guest: a mark in its host's trace",
	.operands = "TEXT [-- COMMAND [ARG...]]",
	.about = "A process of a KVM guest, whoever's, says by one hypercall what happens now; the "
		 "trace\n"
		 "that its host records has it, with the guest's thread (sonde events, sonde "
		 "report\n"
		 "-t mark).  With a command the time that it takes is marked.  C programs do the "
		 "same\n"
		 "with <sonde/mark.h>, which needs nothing else.  A text has at most 32 bytes.\n"
		 "Outside a KVM guest nothing is sent, and nothing fails.\n",
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct mark_options),
	.run = run_mark,
};
