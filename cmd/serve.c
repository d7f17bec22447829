/* SPDX-License-Identifier: Apache-2.0 */
/* sonde serve: runs as pages in a browser of this machine, and in trace viewers. */
#define _GNU_SOURCE /* ppoll */
#include "cmd/common/command.h"
#include "cmd/common/signals.h"
#include "serve/workers/guard.h"
#include "serve/api/page.h"
#include "serve/serve.h"
#include "serve/tsp/tsp.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

struct serve_options {
	uint64_t port;
	bool tsp, no_cache;
	struct text_list origins;
};

#define FIELD(field) offsetof(struct serve_options, field)

static const struct option_row option_rows[] = {
	{0, "port", OPTION_NUMBER, FIELD(port), "N", NULL,
	 "listen on this port (default: any that is free)", 0},
	{0, "tsp", OPTION_FLAG, FIELD(tsp), NULL, NULL,
	 "answer trace viewers at /tsp/api without the key, too: any user of this machine", 0},
	{0, "tsp-origin", OPTION_LIST, FIELD(origins), "ORIGIN", NULL,
	 "let in a viewer that is a page of ORIGIN; may be repeated", 0},
	{0, "no-cache", OPTION_FLAG, FIELD(no_cache), NULL, NULL,
	 "neither keep for the next start what took long, nor use what was kept", 0},
};

/* Until ^C.  The signals are let in while it waits only: none comes between the look at the flag
 * and the wait, and none goes to another thread. */
static void wait_for_end(const sigset_t *usual)
{
	while (!signals_interrupted())
		ppoll(NULL, 0, NULL, usual);
}

static void print_urls(const struct invocation *inv, const struct server *s, unsigned nr)
{
	FILE *out = inv->screen.out;
	struct json j = {.out = out};

	if (!is_json(inv)) {
		for (unsigned i = 0; i < nr; i++)
			fprintf(out, "%s\n", server_url(s, i));
		if (server_tsp_url(s))
			fprintf(out, "%s\n", server_tsp_url(s));
		return;
	}
	json_begin_object(&j, NULL);
	json_str(&j, "url", server_url(s, 0));
	json_begin_array(&j, "urls");
	for (unsigned i = 0; i < nr; i++)
		json_str(&j, NULL, server_url(s, i));
	json_end(&j);
	if (server_tsp_url(s))
		json_str(&j, "tsp", server_tsp_url(s));
	json_end(&j);
}

static enum exit_code serve(const struct invocation *inv, struct sonde_history *const *histories,
			    unsigned nr)
{
	const struct serve_options *opt = inv->values;
	struct server_options options = {
		.histories = histories,
		.nr_histories = nr,
		.port = (unsigned)opt->port,
		.cache = !opt->no_cache,
		.tsp = opt->tsp,
		.origins = opt->origins.items,
		.nr_origins = opt->origins.nr,
	};
	struct error err = {0};
	sigset_t ends, usual;
	struct server *s;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &usual);
	if (server_start(&s, &options, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	print_urls(inv, s, nr);
	if (fflush(inv->screen.out)) {
		server_stop(s);
		return complain(inv, EXIT_FAILED, "cannot print the URL");
	}
	if (!page_is_built())
		complain(inv, EXIT_FAILED,
			 "this sonde was built without its page (npm was missing); "
			 "only its answers are served");
	else if (!inv->common.quiet)
		complain(inv, EXIT_DONE, "open this URL in a browser of this machine; ^C ends");
	wait_for_end(&usual);
	server_stop(s);
	return EXIT_DONE;
}

static enum exit_code check_options(const struct invocation *inv)
{
	const struct serve_options *opt = inv->values;

	if (opt->port > 65535)
		return complain(inv, EXIT_USAGE, "--port: there is no port above 65535");
	for (unsigned i = 0; i < opt->origins.nr; i++) {
		if (!guard_origin_valid(opt->origins.items[i]))
			return complain(inv, EXIT_USAGE,
					"--tsp-origin: \"%s\" is no origin as browsers send it: "
					"http://localhost:3000, vscode-webview://",
					opt->origins.items[i]);
	}
	return EXIT_DONE;
}

/* Whether @history's is one of the files before it, by whatever name: served twice, a history would
 * have two pages, and trace viewers would be told of two. */
static bool is_there(struct sonde_history *const *histories, unsigned nr,
		     const struct sonde_history *history)
{
	struct stat a, b;

	if (stat(sonde_history_path(history), &a))
		return false;
	for (unsigned i = 0; i < nr; i++) {
		if (!stat(sonde_history_path(histories[i]), &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return true;
	}
	return false;
}

/* One of several: told, and the others are served.  The caller's to close; NULL: told why not. */
static struct sonde_history *open_one(const struct invocation *inv, int operand,
				      enum exit_code *code)
{
	struct sonde_history *history = NULL;
	struct invocation one = *inv;
	enum exit_code failed;

	if (inv->nr_operands > 1) {
		one.operands = inv->operands + operand;
		one.nr_operands = 1;
	}
	failed = open_input(&one, &history);
	if (failed)
		*code = failed;
	return failed ? NULL : history;
}

/* Errors of a file are told as everywhere; @code: of the last that cannot be opened. */
static unsigned open_all(const struct invocation *inv, unsigned nr,
			 struct sonde_history **histories, enum exit_code *code)
{
	unsigned nr_histories = 0;

	for (unsigned i = 0; i < nr; i++) {
		struct sonde_history *history = open_one(inv, (int)i, code);

		if (!history)
			continue;
		if (!is_there(histories, nr_histories, history)) {
			histories[nr_histories++] = history;
			continue;
		}
		if (!inv->common.quiet)
			complain(inv, EXIT_DONE, "%s is named twice: served once",
				 sonde_history_path(history));
		sonde_history_close(history);
	}
	return nr_histories;
}

static enum exit_code run_serve(const struct invocation *inv)
{
	unsigned nr = inv->nr_operands > 1 ? (unsigned)inv->nr_operands : 1;
	struct sonde_history *histories[TSP_HISTORIES_MAX] = {0};
	enum exit_code code = check_options(inv), failed = EXIT_DONE;
	unsigned nr_histories = 0;

	if (!code && nr > TSP_HISTORIES_MAX)
		code = complain(inv, EXIT_USAGE, "more than %d histories at a time",
				TSP_HISTORIES_MAX);
	if (!code)
		nr_histories = open_all(inv, nr, histories, &failed);
	if (nr_histories && failed)
		complain(inv, EXIT_DONE, "what cannot be opened is not served; the rest is");
	if (nr_histories) {
		signals_catch_interrupt();
		code = serve(inv, histories, nr_histories);
	}
	for (unsigned i = 0; i < nr_histories; i++)
		sonde_history_close(histories[i]);
	return code ? code : failed;
}

const struct command serve_command = {
	.name = "serve",
	.summary =
		"histories as a page, and in trace viewers: prints a URL for a browser of this machine",
	.operands = "[FILE...]",
	.about =
		"Prints one URL per run, and serves until ^C.  Only this machine can reach it, and\n"
		"only who has a URL is answered: it holds a key that is new each time.  For a\n"
		"browser on another machine: ssh -L 8080:127.0.0.1:PORT, and 8080 for PORT.\n"
		"Trace viewers (VS Code, Theia) ask at tsp/api behind the URL, or, with --tsp, at\n"
		"http://127.0.0.1:PORT/tsp/api.\n",
	.common = COMMON_INPUT | COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct serve_options),
	.run = run_serve,
};
