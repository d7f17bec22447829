/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_USER_H
#define LIBSONDE_INPUTS_INPUTS_USER_H

#include "libsonde/inputs/inputs.h"

/*
 * LTTng traces a kernel and its processes separately, by one clock: same host name and same clock
 * UUID mean the same boot of the same machine.  That UUID is the kernel's boot_id, which `sonde
 * record` writes, too: so the kernel may as well have been traced by ftrace, with the same clock
 * (mono).  User space's traces are no machines of their own.
 *
 * They are kept from the search for machines and clocks, for an event of theirs is no proof of when
 * and where something ran: a thread may be moved between looking at its CPU and taking the time.
 * When the machines are known, their streams become streams of their machine's trace.
 */

/* Moves to in->users what has its machine's kernel among in->traces, or other traces of user space
 * there.  -ENOMEM. */
int inputs_set_users_apart(struct inputs *in);

/* Gives in->users to the topology's machines.  Those whose machine was left out are left out, too.
 * -ENOMEM. */
int inputs_attach_users(struct inputs *in, const struct sonde_watcher *watcher);

#endif
