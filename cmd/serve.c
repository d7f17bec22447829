/* SPDX-License-Identifier: Apache-2.0 */
/* sonde serve: a run as a page in a browser of this machine. */
#define _GNU_SOURCE /* ppoll */
#include "cmd/command.h"
#include "cmd/signals.h"
#include "serve/page.h"
#include "serve/serve.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

struct serve_options {
	uint64_t port;
};

static const struct option_row option_rows[] = {
	{0, "port", OPTION_NUMBER, offsetof(struct serve_options, port), "N", NULL,
	 "listen on this port (default: any that is free)", 0},
};

/* Until ^C.  The signals are let in while it waits only: none comes between the look at the flag
 * and the wait, and none goes to another thread. */
static void wait_for_end(const sigset_t *usual)
{
	while (!signals_interrupted())
		ppoll(NULL, 0, NULL, usual);
}

static enum exit_code serve(const struct invocation *inv, const char *path)
{
	const struct serve_options *opt = inv->values;
	struct server_options options = {.path = path, .port = (unsigned)opt->port};
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
	if (is_json(inv)) {
		struct json j = {.out = inv->screen.out};

		json_begin_object(&j, NULL);
		json_str(&j, "url", server_url(s));
		json_end(&j);
	} else {
		fprintf(inv->screen.out, "%s\n", server_url(s));
	}
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

static enum exit_code run_serve(const struct invocation *inv)
{
	const struct serve_options *opt = inv->values;
	struct sonde_run *run;
	enum exit_code code;
	const char *path;

	if (opt->port > 65535)
		return complain(inv, EXIT_USAGE, "--port: there is no port above 65535");
	/* Errors of the file are told as everywhere; the server's workers open it for themselves.
	 */
	code = open_input(inv, &run);
	if (code)
		return code;
	path = sonde_run_path(run);
	signals_catch_interrupt();
	code = serve(inv, path);
	sonde_run_close(run);
	return code;
}

const struct command serve_command = {
	.name = "serve",
	.summary = "the run as a page: prints a URL for a browser of this machine",
	.operands = "[FILE]",
	.about =
		"Prints one URL, and serves until ^C.  Only this machine can reach it, and only "
		"who\n"
		"has the URL is answered: it holds a key that is new each time.  For a browser on\n"
		"another machine: ssh -L 8080:127.0.0.1:PORT, and 8080 for PORT in the URL.\n",
	.common = COMMON_INPUT | COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct serve_options),
	.run = run_serve,
};
