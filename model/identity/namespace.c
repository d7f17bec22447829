/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/namespace.h"

#include "model/identity/cgroup.h"

/* Linux nests no deeper. */
#define LEVELS_MAX 33

/* @exact: that is its level; else it is at least so deep. */
static int64_t ns_get(struct machine_state *mc, uint32_t inum, int level, bool exact)
{
	struct model *m = mc->model;
	uint32_t *known = map_get(&m->by_inum, pair_key(mc, inum));

	if (known) {
		struct pid_ns *ns = &m->namespaces[*known];

		if (exact && !ns->level_known && level >= ns->level) {
			ns->level = level;
			ns->level_known = true;
		}
		return *known;
	}
	if (model_grow(m, (void **)&m->namespaces, m->nr_namespaces, &m->namespaces_room,
		       sizeof(*m->namespaces)))
		return -1;
	if (map_put(&m->by_inum, pair_key(mc, inum), m->nr_namespaces)) {
		model_no_memory(m);
		return -1;
	}
	m->namespaces[m->nr_namespaces] = (struct pid_ns){
		.machine = mc, .inum = inum, .parent = -1, .level = level, .level_known = exact};
	return m->nr_namespaces++;
}

int32_t namespace_level(const struct model *m, const struct vtid *v)
{
	return v->innermost ? m->namespaces[v->ns].level : v->level;
}

static struct vtid *vtid_at(const struct thread *th, int32_t level)
{
	struct model *m = th->machine->model;

	for (uint32_t i = th->vtids; i; i = m->vtids[i - 1].next) {
		struct vtid *v = &m->vtids[i - 1];

		if (namespace_level(m, v) == level &&
		    (!v->innermost || m->namespaces[v->ns].level_known))
			return v;
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

static void add_vtid(struct thread *th, struct vtid v)
{
	struct model *m = th->machine->model;

	if (model_grow(m, (void **)&m->vtids, m->nr_vtids, &m->vtids_room, sizeof(*m->vtids)))
		return;
	v.thread = th->row;
	v.next = th->vtids;
	m->vtids[m->nr_vtids] = v;
	th->vtids = ++m->nr_vtids;
}

void namespace_add(struct thread *th, int32_t level, int64_t inum, int32_t vtid)
{
	int64_t ns = inum > 0 ? ns_get(th->machine, (uint32_t)inum, level, true) : -1;
	struct vtid *known = vtid_at(th, level);

	if (known && known->ns < 0)
		known->ns = ns;
	if (known && known->ns == ns && known->vtid < 0)
		known->vtid = vtid;
	if (level < 0 || level >= LEVELS_MAX)
		return;
	if (!known)
		add_vtid(th, (struct vtid){.level = level, .ns = ns, .vtid = vtid});
	link_to_parent(th, level);
	link_to_parent(th, level + 1);
}

void namespace_declare(struct machine_state *mc, uint32_t inum, uint32_t outer, int level)
{
	struct model *m = mc->model;
	int64_t ns, around;

	if (!inum || level < 0 || level >= LEVELS_MAX)
		return;
	ns = ns_get(mc, inum, level, true);
	around = outer && level ? ns_get(mc, outer, level - 1, true) : -1;
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
		if (m->vtids[i - 1].innermost)
			return &m->vtids[i - 1];
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

	return innermost && innermost->vtid >= 0 ? innermost->vtid : th->tid;
}

/* The number that every kernel since Linux 3.8 gives its first PID namespace. */
#define FIRST_INUM 4026531836u

/* It is in this one, and in none inside it.  @vtid: -1 not told. */
static void add_innermost(struct thread *th, uint32_t inum, int32_t vtid)
{
	const struct model *m = th->machine->model;
	int64_t ns;

	namespace_add(th, 0, FIRST_INUM, th->tid);
	if (inum == FIRST_INUM)
		return;
	ns = ns_get(th->machine, inum, 1, false);
	if (ns >= 0 && m->namespaces[ns].level_known)
		namespace_add(th, m->namespaces[ns].level, inum, vtid);
	else if (ns >= 0)
		add_vtid(th, (struct vtid){.innermost = true, .ns = ns, .vtid = vtid});
}

/* What events say themselves has the names of what their context says: a dump's are of other
 * threads. */
static bool is_of_another(const struct stream *s, const struct event *e)
{
	return e->kind == EV_STATEDUMP_PROCESS || e->kind == EV_STATEDUMP_PID_NS ||
	       s->trace->user_space || !s->trace->lttng;
}

static bool read_context(const struct stream *s, const struct event *e, uint32_t *inum,
			 int32_t *vtid)
{
	struct field_value value;

	if (trace_event_field(s, e, "pid_ns", &value) || value.cls != FIELD_UINT || !value.u ||
	    value.u > UINT32_MAX)
		return false;
	*inum = (uint32_t)value.u;
	*vtid = trace_event_field(s, e, "vtid", &value) || value.cls != FIELD_INT || value.i <= 0
			? -1
			: (int32_t)value.i;
	return true;
}

void namespace_ask(struct thread *runs, const struct event *e)
{
	struct machine_state *mc = runs->machine;
	const struct stream *s = mc->model->stream;
	uint32_t inum;
	int32_t vtid;

	if (runs->tid <= 0 || namespace_of(runs) >= 0 ||
	    (!mc->sees_namespaces && mc->namespace_misses >= NAMESPACE_MISSES_MAX)) {
		runs->asked = NAMESPACE_ASKED_MAX;
		return;
	}
	runs->asked++;
	if (is_of_another(s, e) || (e->kind == EV_SCHED_SWITCH && e->arg[0] != runs->tid))
		return;
	if (!read_context(s, e, &inum, &vtid)) {
		mc->namespace_misses++;
		return;
	}
	mc->sees_namespaces = true;
	/* In the first one it has the TID that all know it by: else it is not who runs. */
	if (vtid > 0 && (inum == FIRST_INUM) != (vtid == runs->tid))
		return;
	add_innermost(runs, inum, vtid);
}

/* A fork names its maker's, too. */
static void namespace_of_maker(struct thread *parent, const struct event *e, int32_t levels)
{
	const struct stream *s = parent->machine->model->stream;
	struct field_value own, child;

	if (trace_event_field(s, e, "parent_ns_inum", &own) || own.cls != FIELD_UINT || !own.u ||
	    trace_event_field(s, e, "child_ns_inum", &child) || child.cls != FIELD_UINT)
		return;
	if (own.u == child.u)
		namespace_add(parent, levels - 1, own.i, levels == 1 ? parent->tid : -1);
	else if (namespace_of(parent) < 0)
		add_innermost(parent, (uint32_t)own.u, -1);
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
	if (parent)
		namespace_of_maker(parent, e, levels);
	for (int32_t i = 0; i < levels; i++) {
		const struct vtid *outer = parent ? vtid_at(parent, i) : NULL;
		int64_t inum =
			outer && outer->ns >= 0 ? (int64_t)m->namespaces[outer->ns].inum : -1;

		namespace_add(child, i, i == levels - 1 ? e->arg[4] : inum, (int32_t)tids[i]);
	}
}

#define AMBIGUOUS UINT32_MAX
#define NOT_KNOWN LEVELS_MAX

/* The only namespace of a machine at a level, by pair_key(machine, level); or AMBIGUOUS.  There is
 * one at NOT_KNOWN where that of some is not: these may be at any level but the first. */
static void index_levels(struct model *m, struct map *only)
{
	for (uint32_t i = 0; i < m->nr_namespaces; i++) {
		const struct pid_ns *ns = &m->namespaces[i];
		uint32_t level = ns->level_known ? (uint32_t)ns->level : NOT_KNOWN;
		uint32_t *other = map_get(only, pair_key(ns->machine, level));

		if (other)
			*other = AMBIGUOUS;
		else if (map_put(only, pair_key(ns->machine, level), i))
			model_no_memory(m);
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

		if (level < 1 || m->namespaces[i].parent >= 0 || !m->namespaces[i].level_known ||
		    (level > 1 && map_get(&only, pair_key(mc, NOT_KNOWN))))
			continue;
		outer = map_get(&only, pair_key(mc, (uint32_t)level - 1));
		if (outer && *outer != AMBIGUOUS)
			parent = *outer;
		else if (!outer && level == 1)
			parent = ns_get(mc, FIRST_INUM, 0, true);
		m->namespaces[i].parent = parent;
	}
	map_release(&only);
	name_containers(m);
}
