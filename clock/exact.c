/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/compose.h"
#include "clock/vcpu_runs.h"
#include "clock/bounds/tsc.h"

/* Relations of one VM that are tried. */
#define RELATIONS_MAX 8
/* More broken than this share is a contradiction. */
#define BROKEN_ONE_IN 100
/* A scaled counter's line is off by one tick after some 2^32 of them: so long is a piece, or longer
 * when there would be more than so many. */
#define PIECE_SHIFT 32
#define PIECES_MAX 1024

/* ---- arithmetic -------------------------------------------------------------------------------
 */

__int128 exact_to_host(const struct tsc_relation *r, uint64_t x)
{
	__int128 d = (__int128)x - r->offset;

	/* 66 bits, shifted by TSC_BITS_MAX at most. */
	return r->ratio ? d * ((__int128)1 << r->bits) / (__int128)r->ratio : d;
}

__int128 exact_to_guest(const struct tsc_relation *r, uint64_t y)
{
	if (!r->ratio)
		return (__int128)y + r->offset;
	return (__int128)(((unsigned __int128)y * r->ratio) >> r->bits) + r->offset;
}

uint64_t exact_mult(const struct tsc_relation *r)
{
	unsigned __int128 mult = (unsigned __int128)1 << CLOCK_SHIFT;

	if (r->ratio)
		mult = ((mult << r->bits) + r->ratio / 2) / r->ratio;
	return mult > INT64_MAX ? INT64_MAX : (uint64_t)mult;
}

/* Ticks of the host in one of the guest, rounded up. */
static uint64_t ticks_in_one(const struct tsc_relation *r)
{
	return r->ratio ? ((UINT64_C(1) << r->bits) - 1) / r->ratio + 1 : 0;
}

static int scaled_model(struct clock_model *out, const struct tsc_relation *r, uint64_t first,
			uint64_t last, struct error *err)
{
	uint64_t len = UINT64_C(1) << PIECE_SHIFT, x = first;

	if ((last - first) / len >= PIECES_MAX)
		len = (last - first) / PIECES_MAX + 1;
	memset(out, 0, sizeof(*out));
	out->pieces = calloc((last - first) / len + 1, sizeof(*out->pieces));
	if (!out->pieces)
		return fail(err, -ENOMEM, "out of memory");
	do {
		__int128 at = exact_to_host(r, x);

		if (at < 0 || at > INT64_MAX) {
			clock_model_release(out);
			return fail(err, -ERANGE, "a TSC relation leaves the range of clocks");
		}
		out->pieces[out->nr_pieces++] = (struct clock_piece){
			.from = x,
			.at_ns = (ns_t)at,
			.mult = exact_mult(r),
			.bound_ns = (ns_t)(ticks_in_one(r) + (len >> PIECE_SHIFT) + 1),
		};
		x += len;
	} while (x <= last && x >= len);
	out->method = CLOCK_METHOD_TSC;
	return 0;
}

int exact_model(struct clock_model *out, const struct tsc_relation *r, uint64_t first,
		uint64_t last, struct error *err)
{
	struct clock_piece piece;
	__int128 at = exact_to_host(r, first);

	if (r->ratio)
		return scaled_model(out, r, first, last, err);
	if (at > INT64_MAX || !tsc_piece(&piece, r->offset, at < 0 ? 0 : (uint64_t)at))
		return fail(err, -ERANGE, "a TSC offset is beyond all clocks");
	return clock_one_line(out, piece, CLOCK_METHOD_TSC, err);
}

int exact_changed_model(struct clock_model *out, const struct tsc_relation *before,
			const struct tsc_relation *after, uint64_t at, uint64_t first,
			uint64_t last, struct error *err)
{
	__int128 left = exact_to_guest(before, at), from = exact_to_guest(after, at);
	struct clock_model second;
	struct clock_piece *more;
	int ret;

	if (from < left || left <= first || from > last)
		return fail(err, -ERANGE,
			    "a change of a TSC offset is outside the trace, or sets the "
			    "counter back");
	ret = exact_model(out, before, first, (uint64_t)left, err);
	if (ret)
		return ret;
	ret = exact_model(&second, after, (uint64_t)from, last, err);
	more = ret ? NULL
		   : realloc(out->pieces, (out->nr_pieces + second.nr_pieces) * sizeof(*more));
	if (more) {
		out->pieces = more;
		memcpy(more + out->nr_pieces, second.pieces, second.nr_pieces * sizeof(*more));
		out->nr_pieces += second.nr_pieces;
	}
	if (!ret)
		clock_model_release(&second);
	if (more)
		return 0;
	clock_model_release(out);
	return ret ? ret : fail(err, -ENOMEM, "out of memory");
}

/* ---- the test ---------------------------------------------------------------------------------
 */

struct test {
	uint64_t tested, broken;
	ns_t worst;
};

static void test_events(struct test *t, const struct clock_model *m, const struct tick_list *events,
			const struct ranges *r)
{
	size_t k = 0;

	if (r->nr == 1 && !r->list->begin && r->list->end == UINT64_MAX) /* any time will do */
		return;
	for (size_t i = 0; i < events->nr; i++) {
		ns_t y = clock_to_l0(m, (ticks_t){events->list[i]});
		ns_t b = clock_bound(m, (ticks_t){events->list[i]}), off = 0;

		if (y < 0 || (uint64_t)(y - b < 0 ? 0 : y - b) < r->from ||
		    (uint64_t)(y + b) > r->to)
			continue;
		while (k < r->nr && r->list[k].end < (uint64_t)(y - b < 0 ? 0 : y - b))
			k++;
		if (k == r->nr || r->list[k].begin > (uint64_t)(y + b)) {
			off = k ? y - b - (ns_t)r->list[k - 1].end : INT64_MAX;
			if (k < r->nr && (ns_t)r->list[k].begin - y - b < off)
				off = (ns_t)r->list[k].begin - y - b;
		}
		t->tested++;
		t->broken += off > 0;
		t->worst = off > t->worst && off != INT64_MAX ? off : t->worst;
	}
}

static int test_model(struct test *t, struct clock_model *m, const struct placed *p,
		      const struct constraints *pairs)
{
	const struct sample *s = p->candidate->sample;

	fit_count_violations(m, pairs, 0);
	*t = (struct test){pairs->nr, m->nr_violations, m->worst_violation_ns};
	for (unsigned i = 0; i < p->machine->nr_vcpus; i++) {
		const struct vcpu_hint *v = &p->machine->vcpus[i];
		struct ranges r = {0};
		int ret = 0;

		if (v->vcpu < 0 || (unsigned)v->vcpu >= s->nr_cpus || !s->events)
			continue;
		ret = runs_in_parent(&r, p, v->host_tid);
		if (ret == 0)
			test_events(t, m, &s->events[v->vcpu], &r);
		ranges_release(&r);
		if (ret)
			return ret;
	}
	m->nr_violations = t->broken;
	m->worst_violation_ns = t->worst;
	return 0;
}

static bool passes(const struct test *t)
{
	return t->broken <= t->tested / BROKEN_ONE_IN;
}

/* ---- choosing ---------------------------------------------------------------------------------
 */

static bool is_in(const struct relation_votes *list, unsigned nr, int64_t offset)
{
	for (unsigned i = 0; i < nr; i++) {
		if (!list[i].relation.ratio && list[i].relation.offset == offset)
			return true;
	}
	return false;
}

/* What was listed may be the sum of the guest's offset and the one that the guest gave its own
 * guest: then it is the rest. */
static unsigned add_rests(const struct declared *guest, struct relation_votes *out, unsigned nr)
{
	unsigned listed = nr;

	for (unsigned i = 0; i < listed; i++) {
		for (size_t k = 0; k < guest->vcpus.nr; k++) {
			const struct tsc_relation *inner = &guest->vcpus.list[k].relation;
			struct relation_votes rest = out[i];

			if (!guest->vcpus.list[k].has_relation || inner->ratio ||
			    rest.relation.ratio || nr == RELATIONS_MAX ||
			    __builtin_sub_overflow(rest.relation.offset, inner->offset,
						   &rest.relation.offset) ||
			    is_in(out, nr, rest.relation.offset))
				continue;
			out[nr++] = rest;
		}
	}
	return nr;
}

/*
 * What trace-cmd noted in the guest's trace: its host's time is the guest's + offset.  That is
 * exact when it is KVM's own figure, and an estimate else; but estimates differ from sample to
 * sample.
 */
static bool noted(const struct candidate *guest, const struct candidate *host,
		  struct relation_votes *out)
{
	const struct trace *t = guest->sample->trace;
	const struct trace_shift *s = t->shifts;

	if (t->nr_shifts < 2 || t->peer_trace_id != host->sample->trace->trace_id ||
	    s->offset == INT64_MIN)
		return false;
	for (unsigned i = 0; i < t->nr_shifts; i++) {
		if (s[i].offset != s->offset || s[i].fraction_bits > TSC_BITS_MAX ||
		    s[i].scaling != UINT64_C(1) << s[i].fraction_bits)
			return false;
	}
	*out = (struct relation_votes){
		.relation = {.offset = -s->offset},
		.votes = t->nr_shifts,
		.at_start = true,
		.at_end = true,
	};
	return true;
}

/* *@nr_rests: how many of them, the last ones, are not listed but rests. */
static unsigned listed(const struct candidate *guest, const struct candidate *host,
		       struct relation_votes *out, unsigned *nr_rests)
{
	unsigned nr, all;

	*nr_rests = 0;
	if (!guest->vm || !tsc_comparable(guest->sample, host->sample))
		return 0;
	nr = declared_relations(host->declared, guest->vm, out, RELATIONS_MAX);
	if (!nr)
		nr = noted(guest, host, out);
	all = add_rests(guest->declared, out, nr);
	*nr_rests = all - nr;
	return all;
}

bool exact_listed(const struct candidate *guest, const struct candidate *host,
		  struct tsc_relation *out)
{
	struct relation_votes list[RELATIONS_MAX];
	unsigned nr_rests;

	if (!listed(guest, host, list, &nr_rests))
		return false;
	*out = list[0].relation;
	return true;
}

static void append(char *text, size_t room, const char *more)
{
	size_t len = strlen(text);

	snprintf(text + len, room - len, "%s", more);
}

/* What the bound of the model rests on. */
static void explain(struct placed *p, const struct relation_votes *v, const struct test *t)
{
	const char *when = v->at_start && v->at_end ? "listed at begin and end"
			   : v->at_start	    ? "listed at the start only"
						    : "listed at the end";
	char text[200];

	p->candidate->untested = !t->tested;
	if (t->tested)
		snprintf(text, sizeof(text),
			 "; its TSC offset %" PRId64 "%s, %s, agrees with %" PRIu64 " of %" PRIu64
			 " events and calls",
			 v->relation.offset, v->relation.ratio ? " (scaled)" : "", when,
			 t->tested - t->broken, t->tested);
	else
		snprintf(text, sizeof(text),
			 "; its TSC offset %" PRId64 "%s, %s; nothing in the traces puts it to the "
			 "test",
			 v->relation.offset, v->relation.ratio ? " (scaled)" : "", when);
	append(p->machine->evidence, sizeof(p->machine->evidence), text);
}

static void refute(struct candidate *c, unsigned nr, const struct test *best)
{
	if (!best->tested)
		snprintf(c->refuted, sizeof(c->refuted),
			 "%.60s: %u different TSC offsets are listed for it, and nothing tells "
			 "which "
			 "is right: bounds are used instead",
			 c->name, nr);
	else
		snprintf(c->refuted, sizeof(c->refuted),
			 "%.60s: the TSC offset that is listed for it contradicts %" PRIu64
			 " of %" PRIu64 " of its events and calls: bounds are used instead",
			 c->name, best->broken, best->tested);
}

static void keep(struct placed *p, struct clock_model *model)
{
	model->nr_pairs = p->machine->to_parent.nr_pairs;
	clock_model_release(&p->machine->to_parent);
	p->machine->to_parent = *model;
	memset(model, 0, sizeof(*model));
}

/* Takes the model if it stands the test: 1; 0 not.  It is released in any case. */
static int try_model(struct placed *p, struct clock_model *model, const struct relation_votes *v,
		     bool untested_will_do, const struct constraints *pairs, struct test *t,
		     struct error *err)
{
	int ret = test_model(t, model, p, pairs);

	if (ret)
		fail(err, ret, "out of memory aligning %s", p->machine->name);
	else if (passes(t) && (t->tested || untested_will_do))
		ret = 1;
	if (ret > 0) {
		explain(p, v, t);
		keep(p, model);
	}
	clock_model_release(model);
	return ret;
}

static int try_relation(struct placed *p, const struct relation_votes *v, bool untested_will_do,
			const struct constraints *pairs, struct test *t, struct error *err)
{
	const struct sample *s = p->candidate->sample;
	struct clock_model model;
	int ret = exact_model(&model, &v->relation, s->first, s->last, err);

	*t = (struct test){0};
	if (ret)
		return ret == -ERANGE ? 0 : ret;
	return try_model(p, &model, v, untested_will_do, pairs, t, err);
}

/* The offset was changed once, and the host recorded when. */
static int try_change(struct placed *p, const struct relation_votes *list, unsigned nr,
		      bool untested_will_do, const struct constraints *pairs, struct error *err)
{
	const struct declared *host = p->parent->candidate->declared;
	const struct sample *s = p->candidate->sample;
	const struct relation_votes *before, *after;
	struct clock_model model;
	struct test t = {0};
	uint64_t at;
	int ret;

	if (!declared_change(list, nr, &before, &after) ||
	    !declared_written_at(host, p->candidate->vm, after->relation.offset, &at))
		return 0;
	ret = exact_changed_model(&model, &before->relation, &after->relation, at, s->first,
				  s->last, err);
	if (ret)
		return ret == -ERANGE ? 0 : ret;
	return try_model(p, &model, after, untested_will_do, pairs, &t, err);
}

int exact_align(struct placed *p, const struct constraints *pairs, bool rough, struct error *err)
{
	static const struct constraints none;
	struct relation_votes list[RELATIONS_MAX];
	unsigned nr_rests, untested = 0;
	unsigned nr = listed(p->candidate, p->parent->candidate, list, &nr_rests);
	struct test best = {0}, t;
	int ret = try_change(p, list, nr, rough, rough ? &none : pairs, err);

	for (unsigned i = 0; i < nr && ret == 0; i++) {
		ret = try_relation(p, &list[i], rough || nr == 1, rough ? &none : pairs, &t, err);
		if (!best.tested || (t.tested && t.broken < best.broken))
			best = t;
		untested += !t.tested;
	}
	/* One is listed, and what it may stand for else was put to the test, and failed. */
	if (ret == 0 && untested == 1 && nr == nr_rests + 1)
		ret = try_relation(p, &list[0], true, rough ? &none : pairs, &t, err);
	if (ret == 0 && nr)
		refute(p->candidate, nr, &best);
	return ret;
}
