/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/align.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock/compose.h"

/* Two clocks in ns, each slewed by at most 500 ppm. */
#define NS_LIMIT_PPM 1000
/* Between cycles and ns the nominal rate is only measured. */
#define MIXED_LIMIT_PPM 2000
#define SLACK_NS 50
#define MAX_PIECE_NS (20 * NS_PER_SEC)

/* ns per tick, 0 unknown. */
static double tick_ns(const struct topology *t, const struct trace_clock *c)
{
	if (c->freq_hz)
		return 1e9 / (double)c->freq_hz;
	switch (c->kind) {
	case CLOCK_MONO:
	case CLOCK_BOOT:
	case CLOCK_REAL:
	case CLOCK_LOCAL:
		return 1;
	case CLOCK_TSC:
		return t->tsc_khz ? 1e6 / (double)t->tsc_khz : 0;
	default:
		return 0;
	}
}

/* Whether both count the cycles of one counter, so that only the offset differs. */
static bool same_counter(const struct trace_clock *a, const struct trace_clock *b)
{
	return a->kind == CLOCK_TSC && b->kind == CLOCK_TSC;
}

static struct fit_options options_for(const struct topology *t, const struct sample *guest,
				      const struct sample *host)
{
	const struct trace_clock *g = &guest->trace->clock, *h = &host->trace->clock;
	double g_ns = tick_ns(t, g), h_ns = tick_ns(t, h);
	struct fit_options o = {.mult = UINT64_C(1) << CLOCK_SHIFT,
				.limit_ppm = NS_LIMIT_PPM,
				.x_begin = guest->first,
				.x_end = guest->last};

	if (same_counter(g, h)) {
		o.limit_ppm = 0;
		return o;
	}
	if (g_ns > 0 && h_ns > 0 && g_ns != h_ns) {
		o.mult = (uint64_t)llround(g_ns / h_ns * (double)o.mult);
		o.limit_ppm = MIXED_LIMIT_PPM;
	}
	o.slack = (uint64_t)ceil(SLACK_NS / (h_ns > 0 ? h_ns : 1));
	o.max_piece = (uint64_t)((double)MAX_PIECE_NS / (g_ns > 0 ? g_ns : 1));
	return o;
}

/* Known by nothing: both clocks count from their machine's boot; wall clocks, where the traces have
 * them, are better, but good to a second at best. */
static int align_blindly(struct topology *t, struct machine *m, const struct candidate *guest,
			 const struct candidate *host, struct error *err)
{
	const struct trace_clock *g = &guest->sample->trace->clock;
	const struct trace_clock *h = &host->sample->trace->clock;
	struct fit_options o = options_for(t, guest->sample, host->sample);
	struct clock_piece p = {guest->sample->first, 0, o.mult, CLOCK_NO_BOUND};
	__int128 at = host->sample->first;

	if (g->offset_known && h->offset_known)
		at = (__int128)guest->sample->first + g->offset_ns - h->offset_ns;
	p.at_ns = at < 0 ? 0 : (ns_t)(at > NS_MAX ? NS_MAX : at);
	problems_add(&t->problems,
		     "the clock of %s is placed by %s only: nothing bounds how wrong its times are",
		     m->name,
		     g->offset_known && h->offset_known ? "the wall clocks" : "its first event");
	return clock_one_line(&m->to_parent, p, CLOCK_METHOD_NONE, err);
}

static int align_same(struct machine *m, struct error *err)
{
	struct clock_piece p = {.mult = UINT64_C(1) << CLOCK_SHIFT};

	return clock_one_line(&m->to_parent, p, CLOCK_METHOD_SAME, err);
}

/* Guest's counter = parent's + offset, exactly. */
static int align_offset(struct machine *m, int64_t offset, const struct machine *parent,
			enum clock_method method, struct error *err)
{
	__int128 from = (__int128)parent->clock.pieces[0].from + offset, at;
	struct clock_piece p = {.mult = UINT64_C(1) << CLOCK_SHIFT};

	if (from < 0)
		from = 0;
	if (from > INT64_MAX)
		from = INT64_MAX;
	at = from - offset;
	if (at < NS_MIN || at > NS_MAX)
		return fail(err, -ERANGE, "the TSC offset of %s is beyond all clocks", m->name);
	p.from = (uint64_t)from;
	p.at_ns = (ns_t)at;
	return clock_one_line(&m->to_parent, p, method, err);
}

static int align_by_pairs(struct topology *t, struct machine *m, const struct candidate *guest,
			  const struct candidate *host, struct vcpu_vote_list *votes,
			  struct error *err)
{
	struct fit_options o = options_for(t, guest->sample, host->sample);
	struct constraints c = {0};
	uint64_t pairs;
	int ret = pairs_constraints(host->calls, guest->sample, &c, votes, &pairs);

	constraints_sort(&c);
	if (ret == 0)
		ret = fit_constraints(&m->to_parent, &c, &o, err);
	else
		fail(err, ret, "out of memory aligning %s", m->name);
	if (ret == 0) {
		m->to_parent.method = CLOCK_METHOD_PAIRS;
		m->to_parent.nr_pairs = pairs;
		fit_count_violations(&m->to_parent, &c, o.slack);
	}
	constraints_release(&c);
	return ret;
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

static int align_to_parent(struct topology *t, struct machine *m, const struct candidate *guest,
			   const struct machine *parent, const struct candidate *host,
			   struct vcpu_vote_list *votes, struct error *err)
{
	int ret;

	if (guest->same_clock)
		return align_same(m, err);
	ret = align_by_pairs(t, m, guest, host, votes, err);
	if (ret && ret != -ENODATA)
		return ret;
	if (guest->in->has_tsc_offset) {
		clock_model_release(&m->to_parent);
		return align_offset(m, guest->in->tsc_offset, parent, CLOCK_METHOD_TOLD, err);
	}
	return ret ? align_blindly(t, m, guest, host, err) : 0;
}

int align_machine(struct topology *t, struct machine *m, const struct candidate *guest,
		  const struct machine *parent, const struct candidate *host, struct error *err)
{
	struct vcpu_vote_list votes = {0};
	int ret = align_to_parent(t, m, guest, parent, host, &votes, err);

	if (ret == 0 && choose_vcpus(m, &votes))
		ret = fail(err, -ENOMEM, "out of memory aligning %s", m->name);
	free(votes.list);
	if (ret)
		return ret;
	return clock_compose(&m->clock, &m->to_parent, &parent->clock, guest->sample->last, err);
}
