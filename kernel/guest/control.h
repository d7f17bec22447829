/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_CONTROL_H
#define SONDE_GUEST_CONTROL_H

/* /sys/kernel/sonde_guest: README.md says what is in it. */
int control_add(void);
void control_remove(void);

#endif
