/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/homes.h"

#include <inttypes.h>
#include <string.h>

#include "clock/vcpu_runs.h"
#include "source/ticks.h"

/* Fewer events of a vCPU may be outside by chance. */
#define EVENTS_MIN 100
/* Of so many events of a vCPU that runs there, less than one is outside: by far. */
#define OUTSIDE_ONE_IN 10
/* When the thread ran no guest for longer, its host may not have recorded it. */
#define NEAR_US 1000000.0

static void leave_out(struct machine *m, unsigned i)
{
	m->nr_vcpus--;
	memmove(&m->vcpus[i], &m->vcpus[i + 1], (m->nr_vcpus - i) * sizeof(*m->vcpus));
}

/* ---- one machine --------------------------------------------------------------------------- */

static bool has_entries(const struct sample *host, int32_t tid)
{
	size_t nr;
	const struct stay *s = sample_stays(host, tid, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (!s[i].unsure)
			return true;
	}
	return false;
}

/* 1: too many of the vCPU's events are where its thread ran no guest. */
static int is_elsewhere(const struct placed *p, const struct vcpu_hint *v)
{
	const struct sample *s = p->candidate->sample, *host = p->parent->candidate->sample;
	uint64_t near = (uint64_t)(ticks_per_us(host->trace) * NEAR_US);
	struct contain_count sum = {0};
	struct ranges r = {0};
	int ret;

	if (v->vcpu < 0 || (unsigned)v->vcpu >= s->nr_cpus || !s->events ||
	    !has_entries(host, v->host_tid))
		return 0;
	ret = runs_in_parent(&r, p, v->host_tid);
	if (ret == 0) {
		contain_count(&sum, &p->machine->to_parent, &s->events[v->vcpu], &r, near);
		ret = sum.tested >= EVENTS_MIN && sum.outside > sum.tested / OUTSIDE_ONE_IN;
	}
	ranges_release(&r);
	return ret;
}

int homes_test(struct placed *p, bool *refuted)
{
	struct machine *m = p->machine;
	unsigned before = m->nr_vcpus;

	for (unsigned i = m->nr_vcpus; i--;) {
		int ret = is_elsewhere(p, &m->vcpus[i]);

		if (ret < 0)
			return ret;
		if (ret)
			leave_out(m, i);
	}
	*refuted = m->nr_vcpus < before && !m->nr_vcpus;
	return 0;
}

/* ---- several ------------------------------------------------------------------------------- */

/* By other clocks than can be compared, their word is all that there is. */
static bool same_kernel(const struct candidate *a, const struct candidate *b)
{
	return kin_share_clock(a->kin, a->index, b->index) ||
	       (!kin_comparable(a->in->trace, b->in->trace) &&
		kin_claims(a->in, a->declared, b->in, b->declared));
}

static bool is_known_there(const struct placed *p, int32_t tid)
{
	const struct candidate *c = p->candidate;
	const struct declared *host = p->parent->candidate->declared;
	const struct declared_vm *of_link =
		c->in->vm_pid > 0 ? declared_vm_of_process(host, c->in->vm_pid) : NULL;
	const struct declared_vm *of_thread = declared_vm_of_thread(host, tid);

	return of_link && of_thread && declared_same_vm(of_link, of_thread);
}

/* The machine's vCPU that runs there; nr_vcpus: it has none. */
static unsigned vcpu_of(const struct machine *m, int32_t tid)
{
	unsigned i = 0;

	while (i < m->nr_vcpus && m->vcpus[i].host_tid != tid)
		i++;
	return i;
}

/* @a's vCPU @i, which @b claims too; true: it is @a's no more. */
static bool settle_one(struct topology *t, const struct placed *a, unsigned i,
		       const struct placed *b)
{
	int32_t tid = a->machine->vcpus[i].host_tid;
	bool known_a = is_known_there(a, tid), known_b = is_known_there(b, tid);

	problems_add(&t->problems, "%s and %s both claim what thread %d of %s ran: %s",
		     a->machine->name, b->machine->name, tid, a->parent->machine->name,
		     known_a == known_b ? "whose vCPU it is, nobody knows"
					: "who was recorded through its process counts");
	if (!known_b || known_a)
		leave_out(b->machine, vcpu_of(b->machine, tid));
	if (!known_a || known_b)
		leave_out(a->machine, i);
	return !known_a || known_b;
}

static bool may_contest(const struct placed *a, const struct placed *b)
{
	return a->parent && a->parent == b->parent &&
	       a->candidate->sample->trace->format != TRACE_HYPER &&
	       b->candidate->sample->trace->format != TRACE_HYPER &&
	       !same_kernel(a->candidate, b->candidate);
}

void homes_settle(struct topology *t, const struct placed *list, unsigned nr)
{
	for (unsigned a = 0; a < nr; a++) {
		for (unsigned b = a + 1; b < nr; b++) {
			struct machine *m = list[a].machine;

			if (!may_contest(&list[a], &list[b]))
				continue;
			for (unsigned i = 0; i < m->nr_vcpus;) {
				int32_t tid = m->vcpus[i].host_tid;
				bool both =
					vcpu_of(list[b].machine, tid) < list[b].machine->nr_vcpus;

				if (!both || !settle_one(t, &list[a], i, &list[b]))
					i++;
			}
		}
	}
}
