/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_SIGNALS_H
#define CMD_COMMON_SIGNALS_H

#include <stdbool.h>

/*
 * Signals.  SIGBUS: a mapped trace was cut short by somebody while we read it; says so and ends
 * with exit code 1.  A history that was being written stays behind as FILE.part.
 */
void signals_install(void);

/*
 * From now on the first ^C (or SIGTERM) only sets a flag; the second ends the program.  SIGHUP,
 * when the terminal's connection breaks, sets it too, every time, unless it is ignored (nohup).
 */
void signals_catch_interrupt(void);
bool signals_interrupted(void);

/* The same for what has the whole screen: nothing is written there, and before the program is ended
 * by a signal, @give_back (safe in a handler) is called. */
void signals_catch_silently(void (*give_back)(void));

/* Whether signal @number is ignored now. */
bool signals_ignores(int number);

#endif
