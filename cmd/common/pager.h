/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_PAGER_H
#define CMD_COMMON_PAGER_H

#include <sys/types.h>

/*
 * Long answers go through $SONDE_PAGER, $PAGER or less, when stdout is a terminal.  pager_start()
 * puts the pager behind stdout; pager_wait() ends it.  Without a terminal, and with PAGER=cat or
 * empty, both do nothing.
 */
struct pager {
	pid_t pid;
};

void pager_start(struct pager *p);
void pager_wait(struct pager *p);

#endif
