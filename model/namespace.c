/* SPDX-License-Identifier: Apache-2.0 */
#include "model/namespace.h"

#include <errno.h>

#include "model/cgroup.h"

/* Linux nests no deeper. */
#define LEVELS_MAX 33

static int64_t ns_get(struct machine_state *mc, uint32_t inum, int level)
{
	struct model *m = mc->model;
	uint32_t *known = map_get(&m->by_inum, pair_key(mc, inum));

	if (known)
		return *known;
	if (model_grow(m, (void **)&m->namespaces, m->nr_namespaces, &m->namespaces_room,
		       sizeof(*m->namespaces)))
		return -1;
	if (map_put(&m->by_inum, pair_key(mc, inum), m->nr_namespaces)) {
		m->broken = -ENOMEM;
		return -1;
	}
	m->namespaces[m->nr_namespaces] =
		(struct pid_ns){.machine = mc, .inum = inum, .parent = -1, .level = level};
	return m->nr_namespaces++;
}

static struct vtid *vtid_at(const struct thread *th, int32_t level)
{
	struct model *m = th->machine->model;

	for (uint32_t i = th->vtids; i; i = m->vtids[i - 1].next) {
		if (m->vtids[i - 1].level == level)
			return &m->vtids[i - 1];
	}
	return NULL;
}

static void link_to_parent(const struct thread *th, int32_t level)
{
	struct model *m = th->machine->model;
	const struct vtid *inner = vtid_at(th, level), *outer = vtid_at(th, level - 1);

	if (inner && outer && inner->ns >= 0 && outer->ns >= 0 && inner->ns != outer->ns)
		m->namespaces[inner->ns].parent = outer->ns;
}

void namespace_add(struct thread *th, int32_t level, int64_t inum, int32_t vtid)
{
	struct model *m = th->machine->model;
	int64_t ns = inum > 0 ? ns_get(th->machine, (uint32_t)inum, level) : -1;
	struct vtid *known = vtid_at(th, level);

	if (known && known->ns < 0)
		known->ns = ns;
	if (level < 0 || level >= LEVELS_MAX || known ||
	    model_grow(m, (void **)&m->vtids, m->nr_vtids, &m->vtids_room, sizeof(*m->vtids)))
		return;
	m->vtids[m->nr_vtids] = (struct vtid){th->row, level, ns, vtid, th->vtids};
	th->vtids = ++m->nr_vtids;
	link_to_parent(th, level);
	link_to_parent(th, level + 1);
}

void namespace_declare(struct machine_state *mc, uint32_t inum, uint32_t outer, int level)
{
	struct model *m = mc->model;
	int64_t ns, around;

	if (!inum || level < 0 || level >= LEVELS_MAX)
		return;
	ns = ns_get(mc, inum, level);
	around = outer && level ? ns_get(mc, outer, level - 1) : -1;
	if (ns >= 0 && around >= 0 && m->namespaces[ns].parent < 0 &&
	    m->namespaces[around].level < m->namespaces[ns].level)
		m->namespaces[ns].parent = around;
}

uint32_t namespace_outer(struct machine_state *mc, uint32_t inum)
{
	const struct model *m = mc->model;
	const uint32_t *ns = map_get(&m->by_inum, pair_key(mc, inum));

	if (!ns || m->namespaces[*ns].parent < 0)
		return 0;
	return m->namespaces[m->namespaces[*ns].parent].inum;
}

static const struct vtid *innermost_of(const struct thread *th)
{
	const struct model *m = th->machine->model;
	const struct vtid *innermost = NULL;

	for (uint32_t i = th->vtids; i; i = m->vtids[i - 1].next) {
		if (!innermost || m->vtids[i - 1].level > innermost->level)
			innermost = &m->vtids[i - 1];
	}
	return innermost;
}

int64_t namespace_of(const struct thread *th)
{
	const struct vtid *innermost = innermost_of(th);

	return innermost ? innermost->ns : -1;
}

int32_t namespace_tid(const struct thread *th)
{
	const struct vtid *innermost = innermost_of(th);

	return innermost ? innermost->vtid : th->tid;
}

/* LTTng lists the child's TIDs from level 0 inwards. */
void namespace_fork(struct thread *parent, struct thread *child, const struct event *e)
{
	const struct model *m = child->machine->model;
	int64_t tids[LEVELS_MAX];
	struct field_value vtids;
	int32_t levels;

	if (trace_event_field(m->stream, e, "vtids", &vtids) || vtids.cls != FIELD_ARRAY ||
	    !vtids.elems || !vtids.len || vtids.len > LEVELS_MAX)
		return;
	levels = (int32_t)vtids.len;
	for (int32_t i = 0; i < levels; i++)
		tids[i] = vtids.elems[i];
	for (int32_t i = 0; i < levels; i++) {
		const struct vtid *outer = parent ? vtid_at(parent, i) : NULL;
		int64_t inum =
			outer && outer->ns >= 0 ? (int64_t)m->namespaces[outer->ns].inum : -1;

		namespace_add(child, i, i == levels - 1 ? e->arg[4] : inum, (int32_t)tids[i]);
	}
}

/* The number that every kernel since Linux 3.8 gives its first PID namespace. */
#define FIRST_INUM 4026531836u

#define AMBIGUOUS UINT32_MAX

/* The only namespace of a machine at a level, by pair_key(machine, level); or AMBIGUOUS. */
static void index_levels(struct model *m, struct map *only)
{
	for (uint32_t i = 0; i < m->nr_namespaces; i++) {
		const struct pid_ns *ns = &m->namespaces[i];
		uint32_t *other = map_get(only, pair_key(ns->machine, (uint32_t)ns->level));

		if (other)
			*other = AMBIGUOUS;
		else if (map_put(only, pair_key(ns->machine, (uint32_t)ns->level), i))
			m->broken = -ENOMEM;
	}
}

/* What a container is called: by the cgroup of its first process, else of any that is in it. */
static void name_containers(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_vtids; i++) {
		const struct thread *th = m->threads[m->vtids[i].thread];
		struct pid_ns *ns = &m->namespaces[m->vtids[i].ns < 0 ? 0 : m->vtids[i].ns];

		if (m->vtids[i].ns < 0 || !th->cgroup || namespace_of(th) != m->vtids[i].ns)
			continue;
		if (!ns->cgroup || m->vtids[i].vtid == 1)
			ns->cgroup = th->cgroup;
	}
	for (uint32_t i = 0; i < m->nr_namespaces; i++) {
		struct pid_ns *ns = &m->namespaces[i];

		if (ns->level > 0 && ns->cgroup)
			cgroup_container(m->cgroups[ns->cgroup - 1].path, ns->name,
					 sizeof(ns->name));
	}
}

/*
 * A state dump need not name the namespaces around one.  Where only one can be the one around, it
 * is; and around all of a machine's lies its first, whether or not an event has named it.
 */
void namespaces_settle(struct model *m)
{
	struct map only = {0};

	index_levels(m, &only);
	for (uint32_t i = 0; i < m->nr_namespaces; i++) {
		struct machine_state *mc = m->namespaces[i].machine;
		int level = m->namespaces[i].level;
		const uint32_t *outer;
		int64_t parent = -1;

		if (level < 1 || m->namespaces[i].parent >= 0)
			continue;
		outer = map_get(&only, pair_key(mc, (uint32_t)level - 1));
		if (outer && *outer != AMBIGUOUS)
			parent = *outer;
		else if (!outer && level == 1)
			parent = ns_get(mc, FIRST_INUM, 0);
		m->namespaces[i].parent = parent;
	}
	map_release(&only);
	name_containers(m);
}
