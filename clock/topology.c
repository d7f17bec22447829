/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "clock/align.h"
#include "clock/given_offset.h"
#include "clock/homes.h"
#include "clock/names.h"
#include "clock/parents.h"
#include "clock/reference.h"
#include "clock/survey.h"
#include "clock/trees.h"
#include "clock/wall.h"

/* Windows are added where the clock changed this often at most. */
#define ROUNDS_MAX 6

/* Tastes, each of more than the one before, until all parents are known. */
#define EFFORTS 2

/* One way through: samples read by a plan, and all that follows from them. */
struct pass {
	unsigned nr;
	struct sample *samples; /* owned, [nr] */
	struct plan *plans;	/* owned, [nr] */
	struct candidate *list; /* owned, [nr] */
	unsigned *order;	/* owned, [nr]: candidate of each machine */
	struct placed *placed;	/* owned, [nr]: machines in their order */
	struct topology t;
	bool complete; /* parents_complete() */
};

/* What all passes are about. */
struct search {
	const struct topology_input *in;
	const struct topology_options *opt;
	struct stop *stop;
	unsigned nr, threads;
	struct declared *declared; /* owned, [nr] */
	struct kin kin;
	bool *carries_blocks; /* owned, [nr] */
	bool *makes_calls;    /* owned, [nr] */
	struct moments moments;
	struct topology_input *called; /* owned, [nr]: @in with names that are settled */
	char (*names)[MACHINE_NAME];   /* owned, [nr]: in the order of the machines then */
};

static void release_apart(struct topology *t)
{
	for (unsigned i = 0; i < t->nr_apart; i++)
		clock_model_release(&t->apart[i].to_l0);
	free(t->apart);
	t->apart = NULL;
	t->nr_apart = 0;
}

static void pass_release(struct pass *p)
{
	topology_release(&p->t);
	if (p->list)
		parents_release(p->list, p->nr);
	for (unsigned i = 0; p->plans && i < p->nr; i++)
		plan_release(&p->plans[i]);
	for (unsigned i = 0; p->samples && i < p->nr; i++)
		sample_release(&p->samples[i]);
	for (unsigned i = 0; p->placed && i < p->nr; i++)
		clock_model_release(&p->placed[i].to_l0);
	free(p->placed);
	free(p->samples);
	free(p->plans);
	free(p->list);
	free(p->order);
	memset(p, 0, sizeof(*p));
}

static int pass_init(struct pass *p, const struct search *s, struct error *err)
{
	memset(p, 0, sizeof(*p));
	p->nr = s->nr;
	p->samples = calloc(s->nr, sizeof(*p->samples));
	p->plans = calloc(s->nr, sizeof(*p->plans));
	p->list = calloc(s->nr, sizeof(*p->list));
	p->order = calloc(s->nr, sizeof(*p->order));
	p->placed = calloc(s->nr, sizeof(*p->placed));
	if (!p->samples || !p->plans || !p->list || !p->order || !p->placed)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < s->nr; i++)
		p->samples[i].trace = s->in[i].trace;
	if (s->nr == 1)
		p->samples[0].purpose = SAMPLE_HOST;
	return 0;
}

static unsigned threads_wanted(const struct topology_options *opt)
{
	long n = opt && opt->threads ? (long)opt->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned)n;
}

static void make_machine(struct pass *p, unsigned i)
{
	struct candidate *c = &p->list[p->order[i]];
	struct machine *m = &p->t.machines[i];

	memcpy(m->name, c->name, sizeof(m->name));
	memcpy(m->evidence, c->evidence, sizeof(m->evidence));
	m->trace = c->in->trace;
	m->parent = -1;
	for (unsigned k = 0; k < i; k++) {
		if (c->parent == (int)p->order[k])
			m->parent = (int)k;
	}
	m->level = m->parent < 0 ? 0 : p->t.machines[m->parent].level + 1;
	p->placed[i] = (struct placed){.machine = m,
				       .candidate = c,
				       .parent = m->parent < 0 ? NULL : &p->placed[m->parent],
				       .l0 = &p->placed[0]};
}

static bool one_kind_of_clock(const struct search *s)
{
	for (unsigned i = 1; i < s->nr; i++) {
		if (s->in[i].trace->clock.kind != s->in[0].trace->clock.kind)
			return false;
	}
	return s->nr > 1;
}

/* Machines of one level need nothing of each other: they are aligned side by side. */
struct level {
	struct pass *p;
	const struct search *s;
	bool rough;
	unsigned level;
	struct aligned {
		struct topology t; /* the pass's, but for the problems */
		struct error err;
		int ret;
	} * machines; /* owned, [p->nr] */
};

static void align_one(void *data, unsigned i)
{
	struct level *l = data;
	struct aligned *a = &l->machines[i];

	if (l->p->t.machines[i].level != l->level)
		return;
	a->t = l->p->t;
	memset(&a->t.problems, 0, sizeof(a->t.problems));
	a->ret = align_machine(&a->t, &l->p->placed[i], l->rough, l->s->moments.spacing_ns,
			       l->s->stop, &a->err);
}

/* Problems, and the first error, in the order of the machines. */
static int gather_aligned(struct level *l, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < l->p->nr; i++) {
		struct aligned *a = &l->machines[i];

		for (unsigned k = 0; k < a->t.problems.nr; k++)
			problems_add(&l->p->t.problems, "%s", a->t.problems.list[k].text);
		problems_release(&a->t.problems);
		if (a->ret && !ret)
			ret = fail(err, a->ret, "%s", a->err.text);
	}
	return ret;
}

static int align_machines(struct pass *p, const struct search *s, bool rough, struct error *err)
{
	struct level l = {.p = p, .s = s, .rough = rough, .level = 1};
	bool more = p->nr > 1;
	int ret = 0;

	for (; more && ret == 0; l.level++) {
		l.machines = calloc(p->nr, sizeof(*l.machines));
		if (!l.machines)
			return fail(err, -ENOMEM, "out of memory");
		parallel(s->threads, p->nr, s->stop, align_one, &l);
		ret = gather_aligned(&l, err);
		ret = stop_asked(s->stop) ? -EINTR : ret;
		free(l.machines);
		more = false;
		for (unsigned i = 0; i < p->nr; i++)
			more |= p->t.machines[i].level > l.level;
	}
	return ret;
}

static int make_machines(struct pass *p, const struct search *s, bool rough, struct error *err)
{
	uint64_t told_khz = s->opt ? s->opt->tsc_khz : 0;
	int ret;

	p->t.machines = calloc(p->nr, sizeof(*p->t.machines));
	if (!p->t.machines)
		return fail(err, -ENOMEM, "out of memory");
	p->t.nr_machines = p->nr;
	for (unsigned i = 0; i < p->nr; i++)
		make_machine(p, i);
	ret = reference_find(&p->t, p->list[p->order[0]].sample, p->list[p->order[0]].declared,
			     told_khz, rough && one_kind_of_clock(s), err);
	if (ret == 0)
		ret = align_machines(p, s, rough, err);
	if (ret == 0)
		told_unused(&p->t, &p->placed[0]);
	if (ret == 0 && !rough && homes_settle(&p->t, p->placed, p->nr))
		ret = fail(err, -ENOMEM, "out of memory");
	return ret;
}

/* Reads by the pass's plans and finds parents; @whole: by all means. */
static int pass_parents(struct pass *p, const struct search *s, bool whole, struct error *err)
{
	int ret = sample_read(p->samples, p->plans, p->nr, s->threads, s->stop, err);

	for (unsigned i = 0; i < p->nr && ret == 0; i++) {
		s->carries_blocks[i] |= p->samples[i].carries_blocks;
		s->makes_calls[i] |= p->samples[i].requests.nr > 0;
	}
	if (ret == 0)
		ret = parents_find(p->list, s->in, p->samples, s->declared, &s->kin, p->nr,
				   &p->t.problems, err);
	if (ret)
		return ret;
	p->complete = parents_complete(p->list, p->nr);
	if (whole && !p->complete)
		ret = parents_search(p->list, p->nr, &p->t.problems, s->stop, err);
	if (ret == 0 && (whole || p->complete))
		parents_tell_unused(p->list, p->nr, &p->t.problems);
	return ret;
}

static int pass_finish(struct pass *p, const struct search *s, bool rough, struct error *err)
{
	struct topology_apart *apart = calloc(p->nr, sizeof(*apart));
	int ret = apart ? trees_order(p->list, p->nr, p->order, apart, err)
			: fail(err, -ENOMEM, "out of memory");

	p->t.apart = apart;
	p->t.nr_apart = apart ? p->nr : 0;
	if (ret != -EXDEV)
		release_apart(&p->t);
	return ret ? ret : make_machines(p, s, rough, err);
}

static int taste(struct pass *p, const struct search *s, unsigned effort, struct error *err)
{
	int ret = pass_init(p, s, err);

	for (unsigned i = 0; i < s->nr && ret == 0; i++) {
		if (s->nr > 1)
			p->samples[i].purpose = SAMPLE_CALLS;
		if (survey_taste(&p->plans[i], s->in[i].trace, effort))
			ret = fail(err, -ENOMEM, "out of memory");
	}
	if (ret == 0)
		ret = pass_parents(p, s, false, err);
	if (ret == 0 && p->complete)
		ret = pass_finish(p, s, true, err);
	return ret;
}

static int whole(struct pass *p, const struct search *s, struct error *err)
{
	int ret = pass_init(p, s, err);

	for (unsigned i = 0; i < s->nr && ret == 0; i++) {
		if (survey_whole(&p->plans[i], s->in[i].trace))
			ret = fail(err, -ENOMEM, "out of memory");
	}
	if (ret == 0)
		ret = pass_parents(p, s, true, err);
	return ret ? ret : pass_finish(p, s, false, err);
}

/* What was listed of a clock, and placed the windows, turned out to be wrong. */
static bool is_misled(const struct pass *p, const struct search *s)
{
	bool any = false;

	for (unsigned i = 0; i < p->nr; i++) {
		s->declared[i].misled = *p->list[i].refuted;
		any |= s->declared[i].misled;
	}
	return any;
}

/* The windows that @before's models place. */
static int windows(struct pass *p, const struct pass *before, const struct search *s,
		   struct error *err)
{
	struct plan *plans = calloc(s->nr, sizeof(*plans));
	int ret = pass_init(p, s, err);

	if (ret == 0 && (!plans || survey_windows(plans, &s->moments, before->placed, s->nr)))
		ret = fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; plans && i < s->nr; i++) {
		if (ret)
			plan_release(&plans[i]);
		else
			p->plans[before->order[i]] = plans[i];
	}
	free(plans);
	if (ret == 0) {
		p->samples[before->order[0]].purpose = SAMPLE_HOST;
		ret = pass_parents(p, s, false, err);
	}
	if (ret == 0 && p->complete)
		ret = pass_finish(p, s, false, err);
	if (ret == 0 && is_misled(p, s))
		p->complete = false;
	return ret;
}

static void replace(struct pass *p, struct pass *by)
{
	pass_release(p);
	*p = *by;
}

/* From rough models to good ones; p->complete becomes false when windows do not do. */
static int refine(struct pass *p, struct search *s, struct error *err)
{
	bool more = survey_moments(&s->moments, p->placed, s->nr) == 0;
	int ret = more ? 0 : fail(err, -ENOMEM, "out of memory");

	for (unsigned i = 0; i < ROUNDS_MAX && more && ret == 0; i++) {
		struct pass better;

		s->stop->done = 0.3 + 0.6 * i / ROUNDS_MAX;
		ret = windows(&better, p, s, err);
		replace(p, &better);
		if (ret || !p->complete)
			return ret;
		if (survey_doubts(&s->moments, p->placed, s->nr, &more))
			ret = fail(err, -ENOMEM, "out of memory");
	}
	return ret;
}

static int find(struct pass *p, struct search *s, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < EFFORTS && ret == 0 && !p->complete; i++) {
		pass_release(p);
		ret = taste(p, s, i, err);
	}
	if (ret == 0 && p->complete && s->nr > 1)
		ret = refine(p, s, err);
	if (ret || p->complete)
		return ret;
	pass_release(p);
	s->stop->done = 0.3;
	s->moments.spacing_ns = 0;
	return whole(p, s, err);
}

/* All names, and parents that were told by name, become what @p found. */
static void pin_names(struct search *s, const struct pass *p)
{
	for (unsigned i = 0; i < s->nr; i++) {
		const struct candidate *c = &p->list[p->order[i]];
		struct topology_input *in = &s->called[p->order[i]];

		*in = *c->in;
		in->name = s->names[i];
		in->named = true;
		if (c->told && c->parent >= 0)
			in->host = p->list[c->parent].in->trace;
	}
	s->in = s->called;
}

/* Where host names contradict the hosts' lists, begins anew with names that do not: they stand in
 * what was said of each other machine. */
static int settle_names(struct pass *p, struct search *s, struct error *err)
{
	struct problems found = {0};
	int ret;

	s->called = calloc(s->nr, sizeof(*s->called));
	s->names = calloc(s->nr, sizeof(*s->names));
	if (!s->called || !s->names)
		return fail(err, -ENOMEM, "out of memory");
	ret = names_settle(s->names, p->placed, s->nr, &found);
	if (ret > 0) {
		pin_names(s, p);
		moments_release(&s->moments);
		pass_release(p);
		ret = find(p, s, err);
	} else if (ret < 0) {
		fail(err, ret, "out of memory");
	}
	for (unsigned i = 0; i < found.nr; i++)
		problems_add(&p->t.problems, "%s", found.list[i].text);
	problems_release(&found);
	return ret;
}

/* A VM keeps its UUID from boot to boot.  Where nothing else led to its host, no event bears out its
 * clock, and by the wall clocks the host was not recorded then, it is of another one. */
static int settle_strangers(struct pass *p, struct search *s, struct error *err)
{
	bool any = false;

	for (unsigned i = 0; i < p->nr; i++) {
		const struct placed *q = &p->placed[i];
		const struct candidate *c = q->candidate;

		if (!q->parent || c->told || !c->proven || c->nr_pairs ||
		    (q->machine->to_parent.method != CLOCK_METHOD_NONE && !c->untested) ||
		    !wall_apart(c, q->parent->candidate))
			continue;
		s->declared[p->order[i]].of_another_time = true;
		any = true;
	}
	if (!any)
		return 0;
	moments_release(&s->moments);
	pass_release(p);
	return find(p, s, err);
}

static bool is_listed(const struct declared *list, unsigned nr, unsigned i)
{
	for (unsigned k = 0; k < nr; k++) {
		for (size_t v = 0; k != i && v < list[k].vms.nr; v++) {
			if (list[k].vms.list[v].has_uuid &&
			    !memcmp(list[k].vms.list[v].uuid, list[i].uuid, sizeof(list[i].uuid)))
				return true;
		}
	}
	return false;
}

/* What recorders wrote into the traces.  A VM that came and went is listed in the middle only, and
 * an offset that was changed was written there. */
static int read_declared(struct search *s, struct error *err)
{
	bool missing = false;
	int ret = 0;

	s->declared = calloc(s->nr, sizeof(*s->declared));
	if (!s->declared)
		return fail(err, -ENOMEM, "out of memory");
	s->carries_blocks = calloc(s->nr, sizeof(*s->carries_blocks));
	s->makes_calls = calloc(s->nr, sizeof(*s->makes_calls));
	if (!s->carries_blocks || !s->makes_calls)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < s->nr && ret == 0; i++)
		ret = declared_read(&s->declared[i], s->in[i].trace, err);
	for (unsigned i = 0; i < s->nr && ret == 0; i++)
		missing |= s->declared[i].has_uuid && !is_listed(s->declared, s->nr, i) &&
			   s->declared[i].hypervisor;
	for (unsigned i = 0; i < s->nr && ret == 0; i++) {
		if (declared_any_change(&s->declared[i]) || (missing && s->declared[i].any))
			ret = declared_read_all(&s->declared[i], err);
	}
	if (ret == 0 && kin_find(&s->kin, s->in, s->declared, s->nr))
		ret = fail(err, -ENOMEM, "out of memory");
	return ret;
}

static void release_declared(struct search *s)
{
	for (unsigned i = 0; s->declared && i < s->nr; i++)
		declared_release(&s->declared[i]);
	free(s->declared);
	kin_release(&s->kin);
}

int topology_find(struct topology *out, const struct topology_input *in, unsigned nr,
		  const struct topology_options *opt, struct error *err)
{
	struct stop stop;
	struct search s = {
		.in = in, .opt = opt, .stop = &stop, .nr = nr, .threads = threads_wanted(opt)};
	struct pass p = {0};
	int ret;

	stop_init(&stop, opt ? opt->progress : NULL, opt ? opt->progress_data : NULL);
	memset(out, 0, sizeof(*out));
	if (!nr)
		return fail(err, -EINVAL, "no traces");
	ret = read_declared(&s, err);
	if (ret == 0)
		ret = find(&p, &s, err);
	if (ret == 0)
		ret = settle_strangers(&p, &s, err);
	if (ret == 0 && nr > 1)
		ret = settle_names(&p, &s, err);
	out->apart = p.t.apart;
	out->nr_apart = p.t.nr_apart;
	p.t.apart = NULL;
	p.t.nr_apart = 0;
	if (ret == 0) {
		for (unsigned i = 0; i < nr; i++) {
			p.t.machines[i].carries_blocks = s.carries_blocks[p.order[i]];
			p.t.machines[i].makes_calls = s.makes_calls[p.order[i]];
			p.t.machines[i].vm_pid = in[p.order[i]].vm_pid;
		}
		*out = p.t;
		memset(&p.t, 0, sizeof(p.t));
		stop.done = 1;
		stop_asked(&stop);
	}
	if (ret && stop.stopped) /* whatever was said of it on the way */
		fail(err, ret = -EINTR, "interrupted while the clocks were being aligned");
	pass_release(&p);
	moments_release(&s.moments);
	release_declared(&s);
	free(s.called);
	free(s.names);
	free(s.carries_blocks);
	free(s.makes_calls);
	return ret;
}

void topology_release(struct topology *t)
{
	for (unsigned i = 0; i < t->nr_machines; i++) {
		clock_model_release(&t->machines[i].clock);
		clock_model_release(&t->machines[i].to_parent);
		free(t->machines[i].vcpus);
	}
	free(t->machines);
	release_apart(t);
	problems_release(&t->problems);
	memset(t, 0, sizeof(*t));
}
