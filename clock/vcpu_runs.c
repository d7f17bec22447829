/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/vcpu_runs.h"

#include <errno.h>
#include <stdlib.h>

int32_t runs_thread(const struct machine *m, int cpu)
{
	for (unsigned i = 0; i < m->nr_vcpus; i++) {
		if (m->vcpus[i].vcpu == cpu)
			return m->vcpus[i].host_tid;
	}
	return -1;
}

int runs_in_parent(struct ranges *out, const struct placed *p, int32_t tid)
{
	return ranges_of_thread(out, p->parent->candidate->sample, tid, false);
}

/* A host whose trace has no events of nesting (arm64, or they were not recorded) does not say that
 * its guest's guest never ran: it may have, whenever the guest did. */
static bool shows_nested(const struct sample *host, int32_t tid)
{
	size_t nr;
	const struct stay *s = sample_stays(host, tid, &nr);

	return stays_show_nested(s, nr);
}

/* A time of @p's clock in L0's ticks, moved by the bound: to the @later side or the earlier. */
static uint64_t l0_tick(const struct placed *p, uint64_t x, bool later)
{
	ns_t bound = clock_bound(&p->to_l0, (ticks_t){x});
	__int128 y = clock_to_l0(&p->to_l0, (ticks_t){x});

	if (bound == CLOCK_NO_BOUND)
		return later ? UINT64_MAX : 0;
	return clamp_tick(later ? y + bound : y - bound);
}

/* The stays of thread @tid on vCPU @cpu of @host, in L0's ticks.  @nested: those count in which a
 * guest of the guest may have run; else those in which the guest itself may. */
static int stays_in_l0(struct ranges *out, const struct placed *host, int32_t tid, int cpu,
		       bool nested)
{
	const struct sample *s = host->candidate->sample;
	struct ranges mapped = {0};
	size_t nr;
	const struct stay *stays = sample_stays(s, tid, &nr);
	int ret = 0;

	nested &= shows_nested(s, tid);
	for (size_t i = 0; i < nr && ret == 0; i++) {
		struct range *r;

		if (stays[i].nested == (nested ? NESTED_NO : NESTED_YES) ||
		    (stays[i].cpu >= 0 && stays[i].cpu != cpu))
			continue;
		r = sample_add(&mapped);
		if (!r)
			ret = -ENOMEM;
		else
			*r = (struct range){l0_tick(host, stays[i].begin, false),
					    l0_tick(host, stays[i].end, true)};
	}
	*out = (struct ranges){.from = l0_tick(host, s->begin, true),
			       .to = l0_tick(host, s->end, false)};
	if (ret == 0)
		ret = ranges_join(out, &(struct ranges){.list = mapped.list,
							.nr = mapped.nr,
							.from = out->from,
							.to = out->to});
	free(mapped.list);
	return ret;
}

static int guest_runs(struct ranges *out, const struct placed *p, int cpu, bool nested);

/* On one vCPU of the parent; where nobody knows its thread, that may run at any time. */
static int runs_on(struct ranges *out, const struct placed *p, int32_t tid, int parent_cpu,
		   bool nested)
{
	struct ranges below;
	int ret = stays_in_l0(out, p->parent, tid, parent_cpu, nested);

	if (ret || runs_thread(p->parent->machine, parent_cpu) < 0)
		return ret;
	ret = guest_runs(&below, p->parent, parent_cpu, true);
	if (ret == 0)
		ret = ranges_intersect(out, &below);
	ranges_release(&below);
	return ret;
}

/* When vCPU @cpu of @p runs in L0's time, or, @nested, a guest of it may. */
static int guest_runs(struct ranges *out, const struct placed *p, int cpu, bool nested)
{
	int32_t tid = runs_thread(p->machine, cpu);
	unsigned nr_cpus = p->parent->candidate->sample->nr_cpus;
	const struct sample *l0 = p->l0->candidate->sample;
	int ret = 0;

	if (p->parent == p->l0)
		return ranges_of_thread(out, l0, tid, nested && shows_nested(l0, tid));
	*out = (struct ranges){.to = UINT64_MAX};
	for (unsigned cpu_of_parent = 0; cpu_of_parent < nr_cpus && ret == 0; cpu_of_parent++) {
		struct ranges one = {0};

		ret = runs_on(&one, p, tid, (int)cpu_of_parent, nested);
		if (ret == 0)
			ret = ranges_join(out, &one);
		ranges_release(&one);
	}
	return ret;
}

int runs_in_l0(struct ranges *out, const struct placed *p, int cpu)
{
	return guest_runs(out, p, cpu, false);
}
