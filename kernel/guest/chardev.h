/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_CHARDEV_H
#define SONDE_GUEST_CHARDEV_H

/*
 * /dev/sonde_guest, of channels in memory.  From chardev_add() on the module may be in use, so
 * nothing that can fail comes after it when the module is loaded.
 */
int chardev_add(void);
void chardev_remove(void);

#endif
