/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_REMOTE_TARGETS_H
#define RECORD_REMOTE_REMOTE_TARGETS_H

#include "record/remote/remote.h"

/* Which guests to record: those the user named, and those that are found. */
struct remote_targets {
	struct remote_target list[REMOTE_TARGETS_MAX];
	unsigned nr;
};

/*
 * What a user may say of a guest:
 *	all                    every VM that is found here
 *	NAME                   the VM of that name, or UUID
 *	NAME=vsock:CID[:PORT]  NAME=unix:PATH  NAME=tcp:ADDRESS:PORT
 * @resolve turns a host's name into a numeric address (NULL: only numeric ones).
 */
typedef int (*remote_resolve_fn)(const char *name, char *address, size_t room, struct error *err);

/* 0, or -EINVAL: no guest can be meant by that, whatever is found here. */
int remote_spec_check(const char *spec, struct error *err);

int remote_targets_add(struct remote_targets *t, const char *spec, remote_resolve_fn resolve,
		       struct error *err);

#endif
