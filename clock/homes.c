/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/homes.h"

#include <errno.h>
#include <stdlib.h>
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

/* A machine's word that a vCPU of its is that thread of its parent. */
struct claim {
	const struct placed *by;
	int32_t tid;
};

struct claims {
	struct claim *list; /* owned */
	size_t nr;
};

static int by_thread(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->by->parent != y->by->parent)
		return x->by->parent < y->by->parent ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->by > y->by) - (x->by < y->by);
}

static bool may_contest(const struct placed *p)
{
	return p->parent && p->candidate->sample->trace->format != TRACE_HYPER;
}

static int claims_collect(struct claims *out, const struct placed *list, unsigned nr)
{
	size_t room = 0;

	for (unsigned i = 0; i < nr; i++)
		room += list[i].machine->nr_vcpus;
	out->list = calloc(room + 1, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (unsigned i = 0; i < nr; i++) {
		for (unsigned v = 0; v < list[i].machine->nr_vcpus && may_contest(&list[i]); v++)
			out->list[out->nr++] =
				(struct claim){&list[i], list[i].machine->vcpus[v].host_tid};
	}
	qsort(out->list, out->nr, sizeof(*out->list), by_thread);
	return 0;
}

static bool is_known(const struct claim *c)
{
	return is_known_there(c->by, c->tid);
}

/* The first of @nr claims to one thread that is of another kernel than one before it, with
 * @known of those only that the recorder knows of.  NULL: they are all of one. */
static const struct claim *of_another(const struct claim *c, size_t nr, bool known)
{
	for (size_t i = 1; i < nr; i++) {
		for (size_t j = 0; j < i && (!known || is_known(&c[i])); j++) {
			if (c[i].by != c[j].by && (!known || is_known(&c[j])) &&
			    !same_kernel(c[i].by->candidate, c[j].by->candidate))
				return &c[i];
		}
	}
	return NULL;
}

static void give_up(struct machine *m, int32_t tid)
{
	for (unsigned i = m->nr_vcpus; i--;) {
		if (m->vcpus[i].host_tid == tid)
			leave_out(m, i);
	}
}

/* @nr claims to one thread: all are looked at before any of them goes. */
static void settle_thread(struct topology *t, const struct claim *c, size_t nr)
{
	const struct claim *other = of_another(c, nr, false);
	size_t nr_known = 0;
	bool settled;

	if (!other)
		return;
	for (size_t i = 0; i < nr; i++)
		nr_known += is_known(&c[i]);
	settled = nr_known && !of_another(c, nr, true);
	problems_add(&t->problems, "%s and %s both claim what thread %d of %s ran: %s",
		     c->by->machine->name, other->by->machine->name, c->tid,
		     c->by->parent->machine->name,
		     settled ? "who was recorded through its process counts"
			     : "whose vCPU it is, nobody knows");
	for (size_t i = 0; i < nr; i++) {
		if (!settled || !is_known(&c[i]))
			give_up(c[i].by->machine, c[i].tid);
	}
}

int homes_settle(struct topology *t, const struct placed *list, unsigned nr)
{
	struct claims claims = {0};
	int ret = claims_collect(&claims, list, nr);

	for (size_t i = 0, end; ret == 0 && i < claims.nr; i = end) {
		const struct claim *c = &claims.list[i];

		end = i + 1;
		while (end < claims.nr && claims.list[end].tid == c->tid &&
		       claims.list[end].by->parent == c->by->parent)
			end++;
		settle_thread(t, c, end - i);
	}
	free(claims.list);
	return ret;
}
