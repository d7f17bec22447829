/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_IVSHMEM_H
#define SONDE_GUEST_IVSHMEM_H

#include <linux/types.h>

/*
 * The memory of an ivshmem device (QEMU's ivshmem-plain; PCI 1af4:1110, BAR 2), which the host has
 * as a file, and other VMs may have, too.  Taken is the first device that has no driver, that
 * nobody else uses, and all of whose memory is zero; or the one that the parameter ivshmem= names,
 * which may also hold a region of ours, whoever wrote it: of a load before, or another VM's.
 *
 * The module is the device's driver while it has it, and lets go of it when the device is removed.
 * Both functions may sleep, and are called with the device locked.
 */
struct ivshmem_user {
	/* Gets all of the device's memory; -errno: it does not do, and *why in words. */
	int (*take)(void *memory, size_t bytes, const char **why);
	/* The memory goes: after it nobody may touch it. */
	void (*lose)(void);
};

/* One at a time.  -errno, and *why in words. */
int ivshmem_take(const struct ivshmem_user *user, const char **why);
/* Calls lose(), unless the device was removed before. */
void ivshmem_give_back(void);

#endif
