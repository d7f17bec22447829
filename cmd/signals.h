/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

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

/* Whether signal @number is ignored now. */
bool signals_ignores(int number);

#endif
