/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The one thing a signal handler may change. */
static volatile sig_atomic_t interrupted;

/* Gives the screen back; set once, before there can be a signal that needs it. */
static void (*give_screen_back)(void);

static void on_bus_error(int signal)
{
	static const char text[] = "sonde: an input file became shorter while it was being read; "
				   "is it still being written?\n";

	(void)signal;
	if (give_screen_back)
		give_screen_back();
	/* Only calls that are safe in a handler; nothing can be done when stderr is gone. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

/* The work may take seconds to come to where it can stop: say at once that it will. */
static void on_interrupt(int signal)
{
	static const char text[] = "\nsonde: stopping; once more ends the program at once\n";

	(void)signal;
	interrupted = 1;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		return;
}

/* The terminal is gone.  This comes more than once (from its shell and from the kernel), and who
 * read our output has gone, too. */
static void on_hangup(int number)
{
	(void)number;
	interrupted = 1;
	signal(SIGPIPE, SIG_IGN);
}

void signals_install(void)
{
	struct sigaction action = {.sa_handler = on_bus_error};

	sigaction(SIGBUS, &action, NULL);
}

/* nohup, for one, starts a program so. */
bool signals_ignores(int number)
{
	struct sigaction now;

	return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

void signals_catch_interrupt(void)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!signals_ignores(SIGHUP)) {
		action = (struct sigaction){.sa_handler = on_hangup};
		sigaction(SIGHUP, &action, NULL);
	}
}

static void on_quiet_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

void signals_catch_silently(void (*give_back)(void))
{
	struct sigaction action = {.sa_handler = on_quiet_interrupt};

	give_screen_back = give_back;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!signals_ignores(SIGHUP)) {
		action.sa_handler = on_hangup;
		sigaction(SIGHUP, &action, NULL);
	}
}

bool signals_interrupted(void)
{
	return interrupted;
}
