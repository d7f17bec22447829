/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/fit/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "clock/fit/hull.h"
#include "clock/fit/sort.h"

/* Hulls and bands live in a frame: x from the first constraint on, y as the difference from the
 * nominal line, so that the numbers are small and doubles exact enough. */
struct frame {
	uint64_t x0, y0, mult;
};

/* How many constraints after a conflict are asked whether it was a slip. */
#define LOOK_AHEAD 256
/* Segments a stretch is cut into, so that the bound follows the evidence; and each of them into so
 * many at most, where the bound at its ends is more than FINER times what it is inside. */
#define SEGMENTS 16
#define PARTS_MAX 8
#define FINER 1.03
/* Frame coordinates beyond this are hostile; see clock/fit/hull.h. */
#define FRAME_MAX (INT64_C(1) << 60)

/* One stretch in which one set of lines holds. */
struct stretch {
	struct hull hull;
	size_t begin, end; /* constraints */
	uint64_t from, to; /* guest ticks in which it holds */
	bool broke;	   /* the clock changed after it; else the next one joins at @to, where
			      the lines of both hold */
};

struct fit {
	struct constraints *c;
	const struct fit_options *opt;
	struct frame frame;
	double slope_limit;
	struct hull scratch;
	struct stretch *list; /* owned */
	unsigned nr, room;
};

struct knot {
	uint64_t x;
	double lo, hi; /* where the clock may be, in frame y */
};

int constraints_add(struct constraints *c, uint64_t x, uint64_t y, bool upper)
{
	if (!room_for_one(&c->list, c->nr, &c->room))
		return -ENOMEM;
	c->list[c->nr++] = (struct constraint){x, y, upper, false};
	return 0;
}

static int by_x(const void *a, const void *b)
{
	const struct constraint *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

void constraints_sort(struct constraints *c)
{
	sort_runs(c->list, c->nr, sizeof(*c->list), by_x);
}

void constraints_release(struct constraints *c)
{
	free(c->list);
	memset(c, 0, sizeof(*c));
}

static __int128 nominal(const struct frame *f, uint64_t x)
{
	__int128 d = (__int128)x - f->x0;

	return f->y0 + ((d * (__int128)f->mult) >> CLOCK_SHIFT);
}

static bool to_frame(const struct frame *f, const struct constraint *c, struct hull_point *out)
{
	__int128 x = (__int128)c->x - f->x0;
	__int128 y = (__int128)c->y - nominal(f, c->x);

	if (x > FRAME_MAX || x < -FRAME_MAX || y > FRAME_MAX || y < -FRAME_MAX)
		return false;
	*out = (struct hull_point){(int64_t)x, (int64_t)y};
	return true;
}

static int64_t frame_x(const struct frame *f, uint64_t x)
{
	__int128 d = (__int128)x - f->x0;

	if (d > FRAME_MAX)
		return FRAME_MAX;
	return d < -FRAME_MAX ? -FRAME_MAX : (int64_t)d;
}

/* 0 added, 1 conflict, negative error.  Constraints outside the frame conflict. */
static int add_to(const struct fit *fit, struct hull *h, const struct constraint *c)
{
	struct hull_point p;
	int64_t slack = (int64_t)fit->opt->slack;

	if (!to_frame(&fit->frame, c, &p))
		return 1;
	return hull_add(h, p.x, c->upper ? p.y + slack : p.y - slack, c->upper);
}

/* Whether some line of @h satisfies @c, wherever @c is. */
static bool agrees(const struct fit *fit, const struct hull *h, const struct constraint *c)
{
	double slack = (double)fit->opt->slack;
	struct hull_point p;
	double lo, hi;

	if (!to_frame(&fit->frame, c, &p))
		return false;
	hull_band(h, p.x, &lo, &hi);
	return c->upper ? lo <= (double)p.y + slack : hi >= (double)p.y - slack;
}

/*
 * Constraint @at does not fit the stretch so far.  It is a slip, not a change of the clock, when
 * the constraints after it contradict it too.  1 a slip, 0 a change, negative error.
 */
static int is_slip(struct fit *fit, size_t at)
{
	size_t end = fit->c->nr - at > LOOK_AHEAD ? at + LOOK_AHEAD : fit->c->nr;
	int ret = 0;

	hull_clear(&fit->scratch, fit->slope_limit);
	for (size_t i = at; i < end && ret == 0; i++) {
		if (!fit->c->list[i].slip)
			ret = add_to(fit, &fit->scratch, &fit->c->list[i]);
	}
	return ret;
}

static struct stretch *new_stretch(struct fit *fit, size_t begin)
{
	struct stretch *s;

	if (!room_for_one(&fit->list, fit->nr, &fit->room))
		return NULL;
	s = &fit->list[fit->nr++];
	memset(s, 0, sizeof(*s));
	hull_init(&s->hull, fit->slope_limit);
	s->begin = begin;
	s->from = s->to = fit->c->list[begin].x;
	return s;
}

/* Adds constraints to the stretch until the clock changes or it is long enough. */
static int grow(struct fit *fit, struct stretch *s)
{
	size_t i = s->begin;
	int ret;

	for (; i < fit->c->nr; i++) {
		struct constraint *c = &fit->c->list[i];

		if (c->slip)
			continue;
		if (fit->opt->max_piece && c->x - fit->c->list[s->begin].x > fit->opt->max_piece)
			break;
		ret = add_to(fit, &s->hull, c);
		if (ret == 1) {
			ret = is_slip(fit, i);
			s->broke = ret == 0;
			if (s->broke)
				break;
			c->slip = true;
		}
		if (ret < 0)
			return ret;
		s->to = c->x;
	}
	s->end = i;
	return 0;
}

/*
 * Where the next stretch begins.  After a change of the clock: at the constraint that showed it.
 * Else it takes half of the constraints along, so that it is not loose where the two join; the last
 * one as many as it may.
 */
static size_t next_begin(const struct fit *fit, const struct stretch *s)
{
	uint64_t most = fit->opt->max_piece, back = most / 2;
	size_t i = s->end;
	uint64_t x = fit->c->list[i].x, left = fit->c->list[fit->c->nr - 1].x - x;

	if (s->broke)
		return i;
	if (left < most - back)
		back = most - left;
	while (i > s->begin + 1 && x - fit->c->list[i - 1].x < back)
		i--;
	return i;
}

static int refill(const struct fit *fit, struct stretch *s)
{
	hull_clear(&s->hull, fit->slope_limit);
	for (size_t i = s->begin; i < s->end; i++) {
		int ret = fit->c->list[i].slip ? 0 : add_to(fit, &s->hull, &fit->c->list[i]);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * The clock changed somewhere before constraint young->begin, which only showed it: some before
 * that one may already belong to the new lines, and have bent the old ones without breaking them.
 * Going back, the last constraint that the new lines do not satisfy is surely an old one.  The old
 * stretch ends there, and is filled again.
 */
static int settle_break(const struct fit *fit, struct stretch *old, const struct stretch *young)
{
	size_t i = young->begin;

	while (i > old->begin &&
	       (fit->c->list[i - 1].slip || agrees(fit, &young->hull, &fit->c->list[i - 1])))
		i--;
	if (i == old->begin) /* nothing of it is surely old */
		i++;
	old->end = i;
	old->to = fit->c->list[i - 1].x;
	return refill(fit, old);
}

/* From the last stretch back, as each needs the one after it free of the other's constraints.  A
 * stretch that began by joining its predecessor and now ends before that goes. */
static int settle_breaks(struct fit *fit)
{
	for (unsigned i = fit->nr; i-- > 1;) {
		struct stretch *old = &fit->list[i - 1];
		int ret = old->broke ? settle_break(fit, old, &fit->list[i]) : 0;

		if (ret)
			return ret;
		if (i > 1 && old->broke && !old[-1].broke && old->to <= old->from) {
			old[-1].broke = true;
			hull_release(&old->hull);
			memmove(old, old + 1, (fit->nr - i) * sizeof(*old));
			fit->nr--;
		}
	}
	return 0;
}

/* Each is at its best where it has evidence on both sides. */
static void join(struct stretch *old, struct stretch *young)
{
	if (young->from < old->to)
		old->to = young->from + (old->to - young->from) / 2;
	if (old->to < old->from)
		old->to = old->from;
	young->from = old->to;
}

static int make_stretches(struct fit *fit)
{
	size_t begin = 0;
	int ret;

	for (;;) {
		struct stretch *s = new_stretch(fit, begin);

		ret = s ? grow(fit, s) : -ENOMEM;
		if (ret)
			return ret;
		if (fit->nr > 1 && !s[-1].broke)
			join(&s[-1], s);
		if (s->end == fit->c->nr)
			break;
		begin = next_begin(fit, s);
	}
	ret = settle_breaks(fit);
	if (fit->opt->x_begin < fit->list[0].from)
		fit->list[0].from = fit->opt->x_begin;
	if (fit->opt->x_end > fit->list[fit->nr - 1].to)
		fit->list[fit->nr - 1].to = fit->opt->x_end;
	return ret;
}

static void band_at(const struct fit *fit, const struct stretch *s, struct knot *k)
{
	hull_band(&s->hull, frame_x(&fit->frame, k->x), &k->lo, &k->hi);
}

/* Where two stretches join, both say where the clock is. */
static void narrow(const struct fit *fit, const struct stretch *s, struct knot *k)
{
	struct knot other = {.x = k->x};

	band_at(fit, s, &other);
	if (fmax(k->lo, other.lo) > fmin(k->hi, other.hi))
		return;
	k->lo = fmax(k->lo, other.lo);
	k->hi = fmin(k->hi, other.hi);
}

/* Somewhere between these two the clock leaves the lines of @old for those of the next stretch. */
static unsigned break_knots(const struct fit *fit, const struct stretch *old, struct knot *out)
{
	out[0] = (struct knot){.x = old->to};
	out[1] = (struct knot){.x = old[1].from};
	for (unsigned i = 0; i < 2; i++) {
		struct knot young = out[i];

		band_at(fit, old, &out[i]);
		band_at(fit, old + 1, &young);
		out[i].lo = fmin(out[i].lo, young.lo);
		out[i].hi = fmax(out[i].hi, young.hi);
	}
	return 2;
}

/* So many segments between two knots, that the bounds at their ends are close to those inside. */
static unsigned parts_between(const struct fit *fit, const struct stretch *s, uint64_t from,
			      uint64_t to)
{
	double least = INFINITY, most = 0;

	for (unsigned i = 0; i <= 2; i++) {
		struct knot k = {.x = from + (to - from) / 2 * i};
		double bound;

		band_at(fit, s, &k);
		bound = (k.hi - k.lo) / 2 + 2 + (double)fit->opt->slack;
		least = fmin(least, bound);
		most = fmax(most, bound);
	}
	if (!isfinite(most) || most <= least)
		return 1;
	return (unsigned)fmin(PARTS_MAX, ceil(log(most / least) / log(FINER)));
}

static uint64_t part_of(uint64_t from, uint64_t to, unsigned i, unsigned of)
{
	return from + (uint64_t)((unsigned __int128)(to - from) * i / of);
}

/* The knots of one stretch: its ends, and between, closer where the bound changes.  Returns how
 * many. */
static unsigned stretch_knots(const struct fit *fit, const struct stretch *s, struct knot *out)
{
	unsigned nr = 1;

	out[0] = (struct knot){.x = s->from};
	band_at(fit, s, &out[0]);
	for (unsigned i = 0; i < SEGMENTS; i++) {
		uint64_t from = part_of(s->from, s->to, i, SEGMENTS);
		uint64_t to = part_of(s->from, s->to, i + 1, SEGMENTS);
		unsigned parts = parts_between(fit, s, from, to);

		for (unsigned k = 1; k <= parts; k++) {
			out[nr] = (struct knot){.x = part_of(from, to, k, parts)};
			if (out[nr - 1].x == out[nr].x)
				continue;
			band_at(fit, s, &out[nr++]);
		}
	}
	if (s > fit->list && !s[-1].broke)
		narrow(fit, s - 1, &out[0]);
	if (s + 1 < fit->list + fit->nr && !s->broke)
		narrow(fit, s + 1, &out[nr - 1]);
	if (s->broke)
		nr += break_knots(fit, s, &out[nr]);
	return nr;
}

static double middle(const struct knot *k)
{
	if (isfinite(k->lo) && isfinite(k->hi))
		return k->lo + (k->hi - k->lo) / 2;
	if (isfinite(k->lo))
		return k->lo;
	return isfinite(k->hi) ? k->hi : 0;
}

static double away(const struct knot *k, double y)
{
	return fmax(k->hi - y, y - k->lo);
}

/* The bound of a segment that is at @y0 and @y1 at its ends. */
static ns_t segment_bound(const struct fit *fit, const struct knot *a, const struct knot *b,
			  double y0, double y1)
{
	double worst = ceil(fmax(away(a, y0), away(b, y1))) + 2 + (double)fit->opt->slack;

	return worst < 0x1p62 ? (ns_t)worst : CLOCK_NO_BOUND;
}

/* The segment from @at_ns at knot @a to the middle of the band at knot @b; time never runs back. */
static struct clock_piece segment(const struct fit *fit, const struct knot *a, const struct knot *b,
				  __int128 at, __int128 *end)
{
	__int128 dx = (__int128)b->x - a->x;
	__int128 y0 = at - nominal(&fit->frame, a->x);
	__int128 dy = (__int128)llround(middle(b)) - y0;
	__int128 mult = (__int128)fit->frame.mult + dy * (INT64_C(1) << CLOCK_SHIFT) / dx;
	struct clock_piece p;

	if (mult < 0)
		mult = 0;
	if (mult > UINT64_MAX)
		mult = UINT64_MAX;
	*end = at + ((dx * mult) >> CLOCK_SHIFT);
	p = (struct clock_piece){a->x, clamp_ns(at), (uint64_t)mult, 0};
	p.bound_ns =
		segment_bound(fit, a, b, (double)y0, (double)(*end - nominal(&fit->frame, b->x)));
	return p;
}

/* Drops a segment that only goes on with the one before. */
static void add_piece(struct clock_model *m, struct clock_piece p)
{
	struct clock_piece *last = m->nr_pieces ? &m->pieces[m->nr_pieces - 1] : NULL;

	if (last && last->mult == p.mult && last->bound_ns == p.bound_ns &&
	    clock_to_l0(m, (ticks_t){p.from}) == p.at_ns)
		return;
	m->pieces[m->nr_pieces++] = p;
}

static void join_knots(const struct fit *fit, const struct knot *k, unsigned nr,
		       struct clock_model *m)
{
	__int128 end = INT64_MIN;

	for (unsigned i = 0; i + 1 < nr; i++) {
		__int128 at = nominal(&fit->frame, k[i].x) + llround(middle(&k[i]));

		if (k[i].x < k[i + 1].x)
			add_piece(m, segment(fit, &k[i], &k[i + 1], at > end ? at : end, &end));
	}
}

static int make_model(const struct fit *fit, struct clock_model *m)
{
	unsigned room = fit->nr * (SEGMENTS * PARTS_MAX + 3), nr = 0;
	struct knot *knots = calloc(room, sizeof(*knots));

	m->pieces = calloc(room, sizeof(*m->pieces));
	if (!knots || !m->pieces) {
		free(knots);
		clock_model_release(m);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < fit->nr; i++)
		nr += stretch_knots(fit, &fit->list[i], &knots[nr]);
	join_knots(fit, knots, nr, m);
	free(knots);
	return 0;
}

static bool both_sides(const struct constraints *c)
{
	bool upper = false, lower = false;

	for (size_t i = 0; i < c->nr && !(upper && lower); i++) {
		upper |= c->list[i].upper;
		lower |= !c->list[i].upper;
	}
	return upper && lower;
}

int fit_constraints(struct clock_model *out, struct constraints *c, const struct fit_options *opt,
		    struct error *err)
{
	struct fit fit = {.c = c, .opt = opt, .slope_limit = opt->limit_ppm * 1e-6};
	int ret;

	memset(out, 0, sizeof(*out));
	if (!both_sides(c))
		return fail(err, -ENODATA, "nothing bounds the clock from both sides");
	for (size_t i = 0; i < c->nr; i++)
		c->list[i].slip = false;
	fit.slope_limit *= (double)opt->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);
	/* Not the first one: a hostile trace's first time may be far from all others. */
	fit.frame = (struct frame){c->list[c->nr / 2].x, c->list[c->nr / 2].y, opt->mult};
	hull_init(&fit.scratch, fit.slope_limit);
	ret = make_stretches(&fit);
	if (ret == 0)
		ret = make_model(&fit, out);
	for (unsigned i = 0; i < fit.nr; i++) {
		out->nr_breaks += fit.list[i].broke;
		hull_release(&fit.list[i].hull);
	}
	hull_release(&fit.scratch);
	free(fit.list);
	return ret ? fail(err, ret, "out of memory fitting a clock") : 0;
}

void fit_count_violations(struct clock_model *m, const struct constraints *c, uint64_t slack)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct constraint *k = &c->list[i];
		ns_t bound = clock_bound(m, (ticks_t){k->x});
		__int128 y = clock_to_l0(m, (ticks_t){k->x});
		__int128 by = k->upper ? y - k->y : k->y - y;

		if (bound == CLOCK_NO_BOUND || by <= (__int128)bound + slack)
			continue;
		m->nr_violations++;
		if (by > m->worst_violation_ns)
			m->worst_violation_ns = clamp_ns(by);
	}
}
