/* SPDX-License-Identifier: Apache-2.0 */
#include "model/dump/statedump.h"

#include <string.h>

#include "model/identity/namespace.h"
#include "model/state/peers.h"
#include "model/sched/thread.h"
#include "model/sched/thread_life.h"
#include "model/identity/tid.h"

/* Values of the field "status". */
enum {
	STATUS_WAIT_FORK = 1,
	STATUS_WAIT_CPU,
	STATUS_EXIT,
	STATUS_ZOMBIE,
	STATUS_WAIT,
	STATUS_RUN,
	STATUS_DEAD
};

/* The field "type": 1 is a kernel thread. */
#define TYPE_KERNEL 1

static enum thread_state state_of(int64_t status)
{
	switch (status) {
	case STATUS_WAIT_FORK:
	case STATUS_WAIT_CPU:
		return THREAD_RUNNABLE;
	case STATUS_ZOMBIE:
	case STATUS_DEAD:
		return THREAD_DEAD;
	case STATUS_WAIT:
		return THREAD_SLEEPING;
	default:
		return THREAD_UNKNOWN;
	}
}

static int64_t field(const struct model *m, const struct event *e, const char *name,
		     int64_t otherwise)
{
	struct field_value value;

	return trace_event_field(m->stream, e, name, &value) ? otherwise : value.i;
}

/* Of the event itself: in the context of all events there may be a vtid, too, that of the thread
 * that wrote the dump. */
static bool has_field(const struct model *m, const struct event *e, const char *name)
{
	const struct event_type *type = &m->stream->trace->types[e->type];

	for (unsigned i = 0; i < type->nr_fields; i++) {
		if (!strcmp(type->fields[i].name, name))
			return true;
	}
	return false;
}

static void old_namespace(struct thread *th, const struct event *e)
{
	const struct model *m = th->machine->model;
	int64_t vtid = has_field(m, e, "vtid") ? field(m, e, "vtid", -1) : -1;

	if (vtid >= 0)
		namespace_add(th, (int32_t)field(m, e, "ns_level", 0), field(m, e, "ns_inum", -1),
			      (int32_t)vtid);
}

/* "Waits for a CPU" is said of all that can run: of one that has its CPU, too.  So it does where
 * another has that one. */
static bool may_run(const struct machine_state *mc, const struct event *e)
{
	int64_t number = field(mc->model, e, "cpu", -1);

	return number < 0 || number >= mc->nr_cpus || !mc->cpus[number] ||
	       !mc->cpus[number]->thread;
}

/* What our own events have shown since the trace began is fresher than the dump. */
void statedump_process(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[0], NULL);

	if (!th)
		return;
	thread_set_comm(th, event_str(e, 3));
	if (th->pid < 0)
		peers_set_process(th, (int32_t)e->arg[1]);
	thread_set_parent(th, e->arg[2]);
	if (th->kind == KIND_UNKNOWN && field(mc->model, e, "type", 0) == TYPE_KERNEL)
		th->kind = KIND_KERNEL;
	if (th->state == THREAD_UNKNOWN && !th->on &&
	    (e->arg[4] != STATUS_WAIT_CPU || !may_run(mc, e)))
		thread_set_state(th, state_of(e->arg[4]));
	old_namespace(th, e);
}

void statedump_pid_ns(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_get(mc, (int32_t)e->arg[0], NULL);

	if (th)
		namespace_add(th, (int32_t)e->arg[3], e->arg[4], (int32_t)e->arg[1]);
}
