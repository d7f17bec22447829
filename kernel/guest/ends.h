/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_ENDS_H
#define SONDE_GUEST_ENDS_H

/* How a guest ends: in panic, or by shutting down step by step, to the last instruction. */
int panic_watch(void);
void panic_unwatch(void);
int shutdown_watch(void);
void shutdown_unwatch(void);

#endif
