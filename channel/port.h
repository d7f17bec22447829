/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_PORT_H
#define CHANNEL_PORT_H

/* What the files shared by kernel and user space need of either. */
#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>

#ifndef UINT32_C
#define UINT32_C(v) v##U
#define UINT64_C(v) v##ULL
#endif
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

#endif
