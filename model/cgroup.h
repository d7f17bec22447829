/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CGROUP_H
#define MODEL_CGROUP_H

#include "model/state.h"

/*
 * Cgroups: which there are, and which container a path belongs to.
 *
 * A container is a PID namespace; the cgroup of its first process says which engine made it and
 * what that engine calls it.
 */

uint32_t cgroup_get(struct machine_state *mc, uint64_t id); /* index + 1; 0 for id 0 */
void cgroup_name(struct machine_state *mc, const struct state_line *l);
/* The container that a cgroup's path names; false when it names none. */
bool cgroup_container(const char *path, char *out, size_t room);

#endif
