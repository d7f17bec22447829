/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_SHARE_H
#define RECORD_STEAL_STOLEN_SHARE_H

#include "base/error.h"
#include "record/steal/stolen_rules.h"

/*
 * Tells each guest of this machine that asks for it when and by what its vCPUs were held up: a
 * guest's module announces memory (kernel/guest/stolen.h), and what happens to its own vCPUs is
 * written there, in its own time.  Of others it gets to know their class, nothing else: no names,
 * no numbers of processes or CPUs; and when in steps of time only (stolen_rules.h).  A VM that the
 * operator has not named is not listened to.
 *
 *	ret = stolen_share_open(&s, &options, &err);
 *	stolen_share_tick(s);                   some times a second
 *	stolen_share_close(s);                  takes leave of all guests
 *
 * One thread at a time.
 */
struct stolen_guest {
	int pid;	  /* of the VM */
	const char *name; /* "" unknown */
	uint64_t stretches;
	bool ended;
};

struct stolen_share_options {
	struct stolen_rules rules; /* what it points to lives as long */
	uint64_t least_ns; /* an exit as long as this is told by itself, shorter ones in sums */
	/* A guest began to listen, or ended; or something is good to know.  Either may be NULL. */
	void (*guest)(const struct stolen_guest *guest, void *data);
	void (*notice)(const char *text, void *data);
	void *data;
};

struct stolen_share;

/* Fails where the BPF program cannot be had: -ENOSYS, -EPERM and others. */
int stolen_share_open(struct stolen_share **out, const struct stolen_share_options *options,
		      struct error *err);
void stolen_share_tick(struct stolen_share *s);

/* Events of this machine that were lost: the guests are told, too. */
uint64_t stolen_share_lost(const struct stolen_share *s);
void stolen_share_close(struct stolen_share *s);

#endif
