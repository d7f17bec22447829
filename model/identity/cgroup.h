/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_CGROUP_H
#define MODEL_IDENTITY_CGROUP_H

#include "model/state/state.h"

/*
 * Cgroups: which there are, and which container a path belongs to.
 *
 * A container is a PID namespace; the cgroup of its first process says which engine made it and
 * what that engine calls it.
 */

uint32_t cgroup_get(struct machine_state *mc, uint64_t id); /* index + 1; 0 for id 0 */
void cgroup_name(struct machine_state *mc, const struct state_line *l);
/* What happened to cgroups: EV_CGROUP_MKDIR, EV_CGROUP_ATTACH. */
void cgroup_made(struct machine_state *mc, const struct event *e);
void cgroup_attached(struct machine_state *mc, const struct event *e);
/* The cgroup that this one (index + 1) is in, by their paths; 0 none, or none known. */
uint32_t cgroup_above(struct model *m, uint32_t cgroup);
/* The container that a cgroup's path names; false when it names none. */
bool cgroup_container(const char *path, char *out, size_t room);

#endif
