/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_PROGRESS_H
#define CMD_COMMON_PROGRESS_H

#include "cmd/common/command.h"

/*
 * Progress on stderr for whatever takes longer than a second: a line that is drawn again on a
 * terminal; with -v and no terminal, a line per phase.
 */
struct progress {
	const struct invocation *inv;
	bool terminal;
	double start_s; /* of it all */
	double begin_s; /* of the phase */
	double drawn_s; /* when the line was drawn last; 0 = not at all */
	char phase[40];
};

void progress_init(struct progress *p, const struct invocation *inv);

/* For struct sonde_watcher, with a struct progress as data: progress and ^C, and notices. */
bool progress_report(const char *phase, double done, void *data);
void progress_notice(const char *text, void *data);

/* Takes the line away. */
void progress_end(struct progress *p);

#endif
