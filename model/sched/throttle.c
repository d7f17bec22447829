/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/throttle.h"
#include "model/identity/cgroup.h"
#include "model/state/peers.h"
#include "source/trace.h"

#define CPU_BITS 16
#define DEPTH_MAX 64 /* of cgroups in each other */

static uint64_t throttle_key(uint32_t cgroup, int cpu)
{
	return (uint64_t)cgroup << CPU_BITS | (uint16_t)cpu;
}

static bool is_cpu(int64_t cpu)
{
	return cpu >= 0 && cpu < 1 << CPU_BITS;
}

bool throttle_holds(const struct thread *th, int cpu)
{
	struct machine_state *mc = th->machine;
	uint32_t cgroup = th->cgroup;

	if (!mc->throttled.nr || !is_cpu(cpu))
		return false;
	/* One without a share of its own counts as the one that it is in. */
	for (unsigned depth = 0; cgroup && depth < DEPTH_MAX; depth++) {
		if (map_get(&mc->throttled, throttle_key(cgroup, cpu)))
			return true;
		cgroup = cgroup_above(mc->model, cgroup);
	}
	return false;
}

static void set_why(struct cpu *vcpu, enum why_off why)
{
	vcpu->lost_for = why;
	model_set(vcpu->machine->model, vcpu->why_off, why);
}

void throttle_why(struct thread *th, enum why_off why)
{
	struct machine_state *mc = th->machine;
	struct cpu *vcpu = th->vcpu;

	set_why(vcpu, why);
	if (why != OFF_THROTTLED || vcpu->was_throttled)
		return;
	vcpu->was_throttled = true;
	vcpu->next_throttled = mc->vcpus_throttled;
	mc->vcpus_throttled = vcpu;
}

/* Sets why a thread that can run does not, as far as quotas go. */
static void show(struct thread *th)
{
	bool held = throttle_holds(th, th->queued_on);

	if (held && th->vcpu->lost_for != OFF_THROTTLED)
		throttle_why(th, OFF_THROTTLED);
	else if (!held && th->vcpu->lost_for == OFF_THROTTLED)
		throttle_why(th, OFF_READY);
}

void throttle_queued(struct thread *th, int64_t cpu)
{
	th->queued_on = is_cpu(cpu) ? (int32_t)cpu : -1;
	if (!th->vcpu)
		return;
	peers_put(th, PEERS_QUEUE, th->queued_on);
	show(th);
}

/* How often it was said to be throttled on that CPU: it may be so itself and in another.  CFS
 * bandwidth control hands out a cgroup's quota CPU by CPU, so one of its run queues may be
 * throttled while others go on. */
static void count(struct machine_state *mc, uint32_t cgroup, int cpu, bool throttled)
{
	struct map *map = &mc->throttled;
	uint64_t key = throttle_key(cgroup, cpu);
	const uint32_t *now = map_get(map, key);

	if (!throttled && !now)
		return; /* it was so before the trace began */
	if (throttled && now && *now == UINT32_MAX)
		return;
	if (!throttled && *now == 1)
		map_del(map, key);
	else
		model_put(mc->model, map, key, throttled ? (now ? *now + 1 : 1) : *now - 1);
}

bool throttle_is_told(const struct trace *trace)
{
	for (unsigned i = 0; trace && i < trace->nr_types; i++) {
		if (trace->types[i].kind == EV_CPU_THROTTLE)
			return true;
	}
	return false;
}

void throttles_open(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++)
		m->machines[i]->sees_throttles = throttle_is_told(m->machines[i]->trace);
}

void throttle_event(struct machine_state *mc, const struct event *e)
{
	uint32_t cgroup = cgroup_get(mc, (uint64_t)e->arg[0]);

	if (!cgroup || !is_cpu(e->arg[1]))
		return;
	/* The other one alone may be what a recorder was left with. */
	mc->sees_throttles |= e->kind == EV_CPU_THROTTLE;
	count(mc, cgroup, (int)e->arg[1], e->kind == EV_CPU_THROTTLE);
	for (struct thread *th = peers_first(mc, PEERS_QUEUE, (int32_t)e->arg[1]); th;
	     th = th->peers[PEERS_QUEUE].next) {
		if (!th->on && th->state == THREAD_RUNNABLE)
			show(th);
	}
}

void throttle_forget(struct machine_state *mc)
{
	if (!mc->throttled.nr)
		return;
	map_release(&mc->throttled);
	for (struct cpu *vcpu; (vcpu = mc->vcpus_throttled);) {
		mc->vcpus_throttled = vcpu->next_throttled;
		vcpu->was_throttled = false;
		if (vcpu->vcpu.host && vcpu->lost_for == OFF_THROTTLED)
			set_why(vcpu, OFF_UNKNOWN);
	}
}
