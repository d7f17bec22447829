/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_STOLEN_H
#define SONDE_GUEST_STOLEN_H

/*
 * Memory in which the host tells when this guest's vCPUs were held up (docs/formats/stolen.md), and
 * /dev/sonde_stolen, which shows it read only.  The host gets to know of it when somebody opens the
 * device, and may write while it is open: where nobody looks nothing is done.
 */

/* Are the parameters good?  0 or -EINVAL. */
int stolen_check(void);

/* Where there can be none, there is no such device.  Never fails: other devices may be open by now.
 */
void stolen_add(void);

/* Takes the memory back from the host: may take seconds, when it does not answer. */
void stolen_remove(void);

/* The kernel ends, and the memory will be another's: the host must not write any more. */
void stolen_end(void);

#endif
