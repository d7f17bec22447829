/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/align.h"
#include "clock/wall.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/compose.h"
#include "clock/exact.h"
#include "clock/homes.h"
#include "clock/bounds/rates.h"
#include "clock/readings.h"
#include "clock/vcpu_runs.h"
#include "clock/bounds/tighten.h"
#include "clock/bounds/timers.h"
#include "clock/given_offset.h"
#include "clock/bounds/tsc.h"
#include "clock/violations.h"

/* A better model shows more timers; after so many rounds hardly any. */
#define TIMER_ROUNDS 2

/* What is gathered on the way about one machine. */
struct evidence {
	bool rough; /* pairs only */
	double spacing_ns;
	struct stop *stop;
	struct constraints pairs; /* in the parent's ticks; of readings and timers, too */
	struct vcpu_vote_list votes;
};

static const struct sample *sample_of(const struct placed *p)
{
	return p->candidate->sample;
}

/* Known by nothing: both clocks count from their machine's boot; wall clocks, where the traces have
 * them, are better, but good to a second at best. */
static int align_blindly(struct topology *t, struct placed *p, const struct fit_options *o,
			 struct error *err)
{
	const struct sample *guest = sample_of(p), *host = sample_of(p->parent);
	const struct trace_clock *g = &guest->trace->clock, *h = &host->trace->clock;
	struct clock_piece piece = {guest->first, 0, o->mult, CLOCK_NO_BOUND};
	bool by_wall = g->offset_known && h->offset_known;
	__int128 at = host->first;

	if (by_wall)
		at = (__int128)guest->first + g->offset_ns - h->offset_ns;
	if (at < 0) { /* before its host had booted: these clocks are of no use */
		by_wall = false;
		at = host->first;
	}
	piece.at_ns = (ns_t)(at > NS_MAX ? NS_MAX : at);
	problems_add(
		&t->problems,
		"the clock of %s is placed by %s only: nothing bounds how wrong its times are%s",
		p->machine->name, by_wall ? "the wall clocks" : "its first event",
		wall_apart(p->candidate, p->parent->candidate)
			? ". By the wall clocks it was not recorded while its host was"
			: "");
	return clock_one_line(&p->machine->to_parent, piece, CLOCK_METHOD_NONE, err);
}

static int align_same(struct machine *m, struct error *err)
{
	struct clock_piece p = {.mult = UINT64_C(1) << CLOCK_SHIFT};

	return clock_one_line(&m->to_parent, p, CLOCK_METHOD_SAME, err);
}

/* Guest's counter = parent's + offset, exactly. */
static int align_offset(struct placed *p, int64_t offset, enum clock_method method,
			struct error *err)
{
	struct machine *m = p->machine;
	struct clock_piece piece;
	uint64_t pairs = m->to_parent.nr_pairs;
	int ret;

	if (!tsc_piece(&piece, offset, p->parent->machine->clock.pieces[0].from))
		return fail(err, -ERANGE, "the TSC offset of %s is beyond all clocks", m->name);
	clock_model_release(&m->to_parent);
	ret = clock_one_line(&m->to_parent, piece, method, err);
	m->to_parent.nr_pairs = pairs;
	return ret;
}

/* The offset that all vCPU threads were given, when the parent's trace has it. */
static bool written_offset(const struct placed *p, int64_t *offset)
{
	const struct machine *m = p->machine;
	bool found = false;

	if (!tsc_comparable(sample_of(p), sample_of(p->parent)))
		return false;
	for (unsigned i = 0; i < m->nr_vcpus; i++) {
		int64_t one;

		if (!tsc_offset_of(sample_of(p->parent), m->vcpus[i].host_tid, &one))
			continue;
		if (found && one != *offset)
			return false;
		*offset = one;
		found = true;
	}
	return found && tsc_offset_fits(*offset, &m->to_parent, sample_of(p));
}

static int by_vcpu(const void *a, const void *b)
{
	const struct vcpu_hint *p = a, *q = b;

	return (p->vcpu > q->vcpu) - (p->vcpu < q->vcpu);
}

/* Each vCPU goes to the thread with most votes. */
static int choose_vcpus(struct machine *m, const struct vcpu_vote_list *votes)
{
	m->vcpus = calloc(votes->nr ? votes->nr : 1, sizeof(*m->vcpus));
	if (!m->vcpus)
		return -ENOMEM;
	for (size_t i = 0; i < votes->nr; i++) {
		const struct vcpu_vote *v = &votes->list[i];
		unsigned k = 0;

		while (k < m->nr_vcpus && m->vcpus[k].vcpu != v->cpu)
			k++;
		if (k == m->nr_vcpus)
			m->vcpus[m->nr_vcpus++].vcpu = v->cpu;
		if (v->votes > m->vcpus[k].evidence) {
			m->vcpus[k].evidence = v->votes;
			m->vcpus[k].host_tid = v->tid;
		}
	}
	qsort(m->vcpus, m->nr_vcpus, sizeof(*m->vcpus), by_vcpu);
	return 0;
}

static int add_vcpu(struct machine *m, struct vcpu_hint v)
{
	struct vcpu_hint *more = realloc(m->vcpus, (m->nr_vcpus + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->vcpus = more;
	m->vcpus[m->nr_vcpus++] = v;
	return 0;
}

static void sort_vcpus(struct machine *m)
{
	if (m->nr_vcpus)
		qsort(m->vcpus, m->nr_vcpus, sizeof(*m->vcpus), by_vcpu);
}

/* vCPUs that made no calls: what the parent lists. */
static int list_vcpus(struct topology *t, struct placed *p)
{
	struct machine *m = p->machine;
	const struct candidate *c = p->candidate;
	int ret = 0;

	for (unsigned i = 0; c->vm && i < m->trace->nr_cpus && ret == 0; i++) {
		struct vcpu_hint v = {.vcpu = (int)i, .evidence = 1};
		int32_t known = runs_thread(m, (int)i);

		v.host_tid = declared_thread(p->parent->candidate->declared, c->vm, (int)i);
		if (v.host_tid >= 0 && known < 0)
			ret = add_vcpu(m, v);
		else if (v.host_tid >= 0 && known != v.host_tid)
			problems_add(&t->problems,
				     "%s: thread %d is listed as vCPU %u, but thread %d made that "
				     "one's hypercalls; they count",
				     m->name, v.host_tid, i, known);
	}
	sort_vcpus(m);
	return ret;
}

/* What was read of both machines' clocks, where not both traces count cycles. */
static int add_readings(const struct placed *p, struct constraints *out)
{
	const struct candidate *c = p->candidate, *host = p->parent->candidate;
	struct tsc_relation r;

	if (!c->vm || tsc_comparable(c->sample, host->sample) ||
	    !declared_relation(host->declared, c->vm, &r))
		return 0;
	return readings_constraints(out, c->declared, host->declared, &r);
}

static int by_pairs(struct placed *p, struct evidence *e, const struct fit_options *o,
		    struct error *err)
{
	const struct candidate *parent = p->parent->candidate;
	const struct pair_guest guest = {sample_of(p), parent->declared, p->candidate->vm};
	struct machine *m = p->machine;
	uint64_t pairs, readings, before;
	int ret = pairs_constraints(parent->calls, &guest, &e->pairs, &e->votes, &pairs);

	if (ret == 0)
		ret = choose_vcpus(m, &e->votes);
	before = e->pairs.nr;
	if (ret == 0)
		ret = add_readings(p, &e->pairs);
	if (ret)
		return fail(err, ret, "out of memory aligning %s", m->name);
	readings = e->pairs.nr - before;
	constraints_sort(&e->pairs);
	ret = fit_constraints(&m->to_parent, &e->pairs, o, err);
	if (ret == 0) {
		m->to_parent.method = pairs ? CLOCK_METHOD_PAIRS : CLOCK_METHOD_READINGS;
		m->to_parent.nr_pairs = pairs;
		m->to_parent.nr_readings = readings;
		fit_count_violations(&m->to_parent, &e->pairs, o->slack);
	}
	return ret;
}

/* The vCPUs whose threads are known, with when they may have run. */
static int list_contained(struct contained_list *out, const struct placed *p, bool in_l0)
{
	const struct machine *m = p->machine;

	for (unsigned i = 0; i < m->nr_vcpus; i++) {
		const struct vcpu_hint *v = &m->vcpus[i];
		struct contained *c;
		int ret;

		if (v->vcpu < 0 || (unsigned)v->vcpu >= sample_of(p)->nr_cpus)
			continue;
		c = sample_add(out);
		if (!c)
			return -ENOMEM;
		*c = (struct contained){.events = &sample_of(p)->events[v->vcpu]};
		ret = in_l0 ? runs_in_l0(&c->ranges, p, v->vcpu)
			    : runs_in_parent(&c->ranges, p, v->host_tid);
		if (ret)
			return ret;
	}
	return 0;
}

static int contain(struct placed *p, struct clock_model *model, const struct constraints *base,
		   bool in_l0, const struct fit_options *o, struct error *err)
{
	struct contained_list c = {0};
	int ret = list_contained(&c, p, in_l0);

	if (ret)
		fail(err, ret, "out of memory aligning %s", p->machine->name);
	else
		ret = tighten(model, base, &c, o, err);
	contained_release(&c);
	return ret;
}

static int add_timers(struct timers *found, const struct placed *p, struct constraints *out)
{
	const struct machine *m = p->machine;
	int ret = 0;

	*found = (struct timers){0};
	for (unsigned i = 0; i < m->nr_vcpus && ret == 0; i++) {
		const struct vcpu_hint *v = &m->vcpus[i];

		if (v->vcpu >= 0)
			ret = timers_constraints(out, &m->to_parent, sample_of(p),
						 (unsigned)v->vcpu, sample_of(p->parent),
						 v->host_tid, found);
	}
	constraints_sort(out);
	return ret;
}

static void tell_timers(struct machine *m, uint64_t nr)
{
	size_t len = strlen(m->evidence);

	snprintf(m->evidence + len, sizeof(m->evidence) - len,
		 "%s%" PRIu64 " timers that it programmed bound its clock", len ? "; " : "", nr);
}

/* What its timers say, once the model holds without them. */
static int by_timers(struct topology *t, struct placed *p, struct evidence *e,
		     const struct fit_options *o, struct error *err)
{
	struct machine *m = p->machine;
	struct timers found = {0};
	int ret = 0;

	if (!timers_apply(sample_of(p), sample_of(p->parent)))
		return 0;
	for (unsigned i = 0; i < TIMER_ROUNDS && ret == 0; i++) {
		if (add_timers(&found, p, &e->pairs))
			return fail(err, -ENOMEM, "out of memory aligning %s", m->name);
		if (!found.used)
			break;
		m->to_parent.nr_timers = found.used;
		ret = contain(p, &m->to_parent, &e->pairs, false, o, err);
	}
	if (m->to_parent.nr_timers && ret == 0)
		tell_timers(m, m->to_parent.nr_timers);
	if (found.refuted)
		problems_add(&t->problems,
			     "%" PRIu64 " timers of %s contradict what else is known of its clock: "
			     "its timers do not count",
			     found.refuted, m->name);
	return ret;
}

/* vCPUs that made no calls: the thread in whose stays all they did falls. */
static int find_vcpus(struct placed *p)
{
	struct machine *m = p->machine;
	const struct sample *s = sample_of(p);

	for (unsigned i = 0; i < s->nr_cpus; i++) {
		struct vcpu_hint v = {.vcpu = (int)i};

		if (runs_thread(m, (int)i) >= 0)
			continue;
		v.host_tid = coincide_thread(&m->to_parent, &s->events[i], sample_of(p->parent),
					     &v.evidence);
		if (v.host_tid >= 0 && add_vcpu(m, v))
			return -ENOMEM;
	}
	sort_vcpus(m);
	return 0;
}

/* What coincidence found becomes the model.  It is the candidate's no more. */
static int by_coincidence(struct placed *p, struct error *err)
{
	struct candidate *c = p->candidate;
	struct machine *m = p->machine;

	m->to_parent = c->fit.model;
	memset(&c->fit.model, 0, sizeof(c->fit.model));
	if (find_vcpus(p))
		return fail(err, -ENOMEM, "out of memory aligning %s", m->name);
	return 0;
}

static bool is_exact(enum clock_method m)
{
	return m != CLOCK_METHOD_PAIRS && m != CLOCK_METHOD_PAIRS_CONTAINMENT &&
	       m != CLOCK_METHOD_CONTAINMENT && m != CLOCK_METHOD_READINGS &&
	       m != CLOCK_METHOD_READINGS_CONTAINMENT;
}

/* By what the parent lists; 1 when that is exact. */
static int by_list(struct topology *t, struct placed *p, const struct evidence *e,
		   struct error *err)
{
	int ret = list_vcpus(t, p);

	if (ret)
		return fail(err, ret, "out of memory aligning %s", p->machine->name);
	ret = exact_align(p, &e->pairs, e->rough, err);
	if (ret > 0 && !e->rough && find_vcpus(p))
		return fail(err, -ENOMEM, "out of memory aligning %s", p->machine->name);
	if (ret == 0 && *p->candidate->refuted)
		problems_add(&t->problems, "%s", p->candidate->refuted);
	return ret;
}

/* A clock, and threads, that what the parent saw does not bear out, are none. */
static int test_homes(struct topology *t, struct placed *p, const struct fit_options *o,
		      struct error *err)
{
	struct machine *m = p->machine;
	bool refuted;

	if (homes_test(p, &refuted))
		return fail(err, -ENOMEM, "out of memory aligning %s", m->name);
	if (!refuted)
		return 0;
	problems_add(
		&t->problems,
		"%s: its events are not where the threads of %s ran a guest that its calls, or "
		"its UUID, lead to: neither those threads nor that clock count",
		m->name, p->parent->machine->name);
	clock_model_release(&m->to_parent);
	return align_blindly(t, p, o, err);
}

/* The clock to the parent's, by the best evidence there is. */
static int by_evidence(struct topology *t, struct placed *p, struct evidence *e, struct error *err)
{
	struct fit_options o =
		rates_options(sample_of(p), sample_of(p->parent), t->tsc_khz, e->spacing_ns);
	struct candidate *c = p->candidate;
	struct tsc_relation relation;
	int64_t offset = 0;
	int ret, listed;

	o.stop = e->stop;
	if (c->same_clock)
		return align_same(p->machine, err);
	if (exact_listed(c, p->parent->candidate, &relation) && relation.ratio) {
		o.mult = exact_mult(&relation);
		o.slack = 1;
	}
	ret = by_pairs(p, e, &o, err);
	if (ret && ret != -ENODATA)
		return ret;
	listed = by_list(t, p, e, err);
	if (listed)
		return listed > 0 ? 0 : listed;
	if (ret && !c->fit.agreeing)
		return c->in->has_tsc_offset ? 0 : align_blindly(t, p, &o, err);
	if (ret)
		ret = by_coincidence(p, err);
	else if (!e->rough && find_vcpus(p))
		ret = fail(err, -ENOMEM, "out of memory aligning %s", p->machine->name);
	if (ret == 0 && !e->rough && !is_exact(p->machine->to_parent.method))
		ret = test_homes(t, p, &o, err);
	if (ret == 0 && !e->rough && !is_exact(p->machine->to_parent.method))
		ret = contain(p, &p->machine->to_parent, &e->pairs, false, &o, err);
	if (ret == 0 && !e->rough && !is_exact(p->machine->to_parent.method))
		ret = by_timers(t, p, e, &o, err);
	if (ret == 0 && written_offset(p, &offset))
		ret = align_offset(p, offset, CLOCK_METHOD_TSC, err);
	return ret;
}

/* What an offset breaks that was not found by fitting. */
static int count_violations(struct placed *p, const struct evidence *e, struct error *err)
{
	struct contained_list c = {0};
	int ret = list_contained(&c, p, false);

	if (ret)
		fail(err, ret, "out of memory aligning %s", p->machine->name);
	else
		contained_violations(&p->machine->to_parent, &e->pairs, &c, 0);
	contained_release(&c);
	return ret;
}

static int to_parent(struct topology *t, struct placed *p, struct evidence *e, struct error *err)
{
	const struct clock_model *m = &p->machine->to_parent;
	int ret = by_evidence(t, p, e, err);

	if (ret || e->rough)
		return ret;
	if (p->candidate->in->has_tsc_offset)
		ret = told_apply(t, p, err);
	if (ret == 0 && (m->method == CLOCK_METHOD_TSC || m->method == CLOCK_METHOD_TOLD))
		ret = count_violations(p, e, err);
	return ret;
}

/* The pairs' constraints in L0's ticks. */
static int lift_pairs(struct constraints *out, const struct placed *p, const struct evidence *e)
{
	for (size_t i = 0; i < e->pairs.nr; i++) {
		const struct constraint *c = &e->pairs.list[i];
		ns_t bound = clock_bound(&p->parent->to_l0, (ticks_t){c->y});
		__int128 y = clock_to_l0(&p->parent->to_l0, (ticks_t){c->y});
		int ret;

		y += c->upper ? bound : -bound;
		if (bound == CLOCK_NO_BOUND || y < 0 || y > INT64_MAX)
			continue;
		ret = constraints_add(out, c->x, (uint64_t)y, c->upper);
		if (ret)
			return ret;
	}
	constraints_sort(out);
	return 0;
}

/* The clock to L0's ticks: chained, then tightened by what L0 itself saw. */
static int to_l0(struct topology *t, struct placed *p, const struct evidence *e, struct error *err)
{
	static const struct clock_piece same = {.mult = UINT64_C(1) << CLOCK_SHIFT};
	const struct clock_model identity = {.pieces = (struct clock_piece *)&same, .nr_pieces = 1};
	bool direct = p->parent == p->l0;
	struct fit_options o =
		rates_options(sample_of(p), sample_of(p->l0), t->tsc_khz, e->spacing_ns);
	struct constraints lifted = {0};
	int ret = clock_compose(&p->to_l0, &p->machine->to_parent,
				direct ? &identity : &p->parent->to_l0, sample_of(p)->last, err);

	/* Those of the clock to the parent, which are counted there. */
	p->to_l0.nr_violations = 0;
	p->to_l0.worst_violation_ns = 0;
	if (ret || direct || e->rough || is_exact(p->to_l0.method))
		return ret;
	o.stop = e->stop;
	ret = lift_pairs(&lifted, p, e);
	if (ret)
		fail(err, ret, "out of memory aligning %s", p->machine->name);
	else
		ret = contain(p, &p->to_l0, &lifted, true, &o, err);
	constraints_release(&lifted);
	return ret;
}

/* Traces too long to be read whole, with nothing to go by from one place to another: what was not
 * read is not bounded. */
static int end_knowledge(struct topology *t, struct placed *p)
{
	struct clock_model *c = &p->machine->clock;
	const struct sample *host = sample_of(p->parent);
	uint64_t until = sample_of(p)->known_until;
	struct clock_piece *more, end;

	if (is_exact(c->method))
		return 0;
	if (host->known_until < INT64_MAX) {
		uint64_t x = clock_from_l0(&p->machine->to_parent, (ns_t)host->known_until).v;

		until = x < until ? x : until;
	}
	if (until >= sample_of(p)->last)
		return 0;
	while (c->nr_pieces > 1 && c->pieces[c->nr_pieces - 1].from >= until)
		c->nr_pieces--;
	more = realloc(c->pieces, (c->nr_pieces + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->pieces = more;
	end = c->pieces[c->nr_pieces - 1];
	end.at_ns = clock_to_l0(c, (ticks_t){until});
	end.from = until;
	end.bound_ns = CLOCK_NO_BOUND;
	c->pieces[c->nr_pieces++] = end;
	problems_add(&t->problems,
		     "the trace of %s or its host is too long to be searched whole, and has no "
		     "hypercalls to go by: its later times have no bound",
		     p->machine->name);
	return 0;
}

int align_machine(struct topology *t, struct placed *p, bool rough, double spacing_ns,
		  struct stop *stop, struct error *err)
{
	struct evidence e = {.rough = rough, .spacing_ns = spacing_ns, .stop = stop};
	int ret = to_parent(t, p, &e, err);

	if (ret == 0)
		ret = to_l0(t, p, &e, err);
	if (ret == 0)
		ret = clock_compose(&p->machine->clock, &p->to_l0, &p->l0->machine->clock,
				    sample_of(p)->last, err);
	if (ret == 0 && !rough)
		violations_settle(t, p);
	if (ret == 0 && !rough && end_knowledge(t, p))
		ret = fail(err, -ENOMEM, "out of memory aligning %s", p->machine->name);
	constraints_release(&e.pairs);
	free(e.votes.list);
	return ret;
}
