/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_NAMESPACE_H
#define MODEL_IDENTITY_NAMESPACE_H

#include "model/state/state.h"

/*
 * PID namespaces: which there are, how they nest, and which TID a thread has in each.
 *
 * A thread is in one namespace per level, from 0 (the machine's own) to its innermost.  A state
 * dump names them all; a fork names only the child's innermost one, the maker's, and the child's
 * TID at every level: the namespaces around are the parent's.  A field in the context of events
 * (LTTng's pid_ns, vtid) names the innermost one of who runs, but not how deep it is: at least
 * level 1, until another event tells.
 */

void namespace_add(struct thread *th, int32_t level, int64_t inum, int32_t vtid);
void namespace_fork(struct thread *parent, struct thread *child, const struct event *e);
/* So many events of a thread, and, until one has told, of a machine, are asked for what their
 * context says. */
#define NAMESPACE_ASKED_MAX 16
#define NAMESPACE_MISSES_MAX 4096
void namespace_ask(struct thread *runs, const struct event *e);
/* The level of an entry, as far as it is known now. */
int32_t namespace_level(const struct model *m, const struct vtid *v);
int64_t namespace_of(const struct thread *th); /* innermost; -1 unknown */
/* Its TID in its innermost namespace, as it knows itself; when none is known, its machine's. */
int32_t namespace_tid(const struct thread *th);
/* A state line names it and the one around it, 0 for none. */
void namespace_declare(struct machine_state *mc, uint32_t inum, uint32_t outer, int level);
/* The one around it; 0 unknown or none. */
uint32_t namespace_outer(struct machine_state *mc, uint32_t inum);
void namespaces_settle(struct model *m); /* at the end: those whose parent no event told */

#endif
