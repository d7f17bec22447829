/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_IVSHMEM_H
#define SONDE_GUEST_IVSHMEM_H

#include <linux/types.h>

/*
 * The memory of an ivshmem device (QEMU's ivshmem-plain; PCI 1af4:1110, BAR 2), which the host has as
 * a file.  Taken is the first device, or the one that the parameter ivshmem= names, that has no
 * driver, that nobody else uses, and whose memory is empty or held a region of ours.
 *
 * One at a time.  -errno, and *why in words.
 */
int ivshmem_take(void **memory, size_t *bytes, const char **why);
void ivshmem_give_back(void);

#endif
