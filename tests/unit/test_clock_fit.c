/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit, on invented clocks: whatever the clock does, the truth is within the stated bound, and
 * the bound is as good as the evidence.
 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "clock/fit/fit.h"
#include "clock/fit/hull.h"

#define SECOND UINT64_C(1000000000)
#define ORIGIN (UINT64_C(40) * SECOND)

/* A parent clock as a function of the guest's. */
struct truth {
	double ppm, ppm_later; /* drift before and after @at */
	uint64_t at;	       /* guest time of the change, 0 none */
	int64_t offset, step;  /* added always; added after @at */
};

static uint64_t random_next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static uint64_t true_parent(const struct truth *t, uint64_t x)
{
	long double y = (long double)x + t->offset;
	uint64_t until = t->at && x > t->at ? t->at : x;

	y += (long double)(until - ORIGIN) * t->ppm * 1e-6L;
	if (x > until)
		y += (long double)(x - until) * t->ppm_later * 1e-6L + t->step;
	return (uint64_t)y;
}

/* Pairs every 5 to 15 ms, each side loose by 5 us and, mostly, much more. */
static void make_pairs(struct constraints *c, const struct truth *t, uint64_t len, uint64_t seed)
{
	for (uint64_t x = ORIGIN; x < ORIGIN + len;) {
		uint64_t before = 5000 + random_next(&seed) % 40000;
		uint64_t after = 5000 + random_next(&seed) % 40000;

		x += 5000000 + random_next(&seed) % 10000000;
		assert_int_equal(constraints_add(c, x, true_parent(t, x) + before, true), 0);
		assert_int_equal(constraints_add(c, x + 1, true_parent(t, x + 1) - after, false),
				 0);
	}
}

static struct fit_options options_for(uint64_t len)
{
	return (struct fit_options){
		.mult = UINT64_C(1) << CLOCK_SHIFT,
		.limit_ppm = 1000,
		.slack = 50,
		.max_piece = 20 * SECOND,
		.x_begin = ORIGIN,
		.x_end = ORIGIN + len,
	};
}

/* Fits, checks the truth against the bound everywhere, and gives the largest bound outside
 * [@skip_from, @skip_to]. */
static ns_t worst_bound(const struct truth *t, struct constraints *c, uint64_t len,
			uint64_t skip_from, uint64_t skip_to, struct clock_model *m)
{
	struct fit_options opt = options_for(len);
	ns_t worst = 0, last = NS_MIN;

	constraints_sort(c);
	assert_int_equal(fit_constraints(m, c, &opt, NULL), 0);
	fit_count_violations(m, c, opt.slack);
	for (uint64_t x = ORIGIN; x <= ORIGIN + len; x += 777777) {
		ns_t y = clock_to_l0(m, (ticks_t){x});
		ns_t bound = clock_bound(m, (ticks_t){x});

		assert_true(llabs(y - (ns_t)true_parent(t, x)) <= bound);
		assert_true(y >= last);
		last = y;
		if ((x < skip_from || x > skip_to) && bound > worst)
			worst = bound;
	}
	return worst;
}

static void steady_clock_is_bounded_well_below_one_pair(void **state)
{
	static const double drifts[] = {0, 0.1, -0.1, 120, -120};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(drifts); i++) {
		struct truth t = {.ppm = drifts[i], .offset = -9 * (int64_t)SECOND};
		struct constraints c = {0};
		struct clock_model m;

		make_pairs(&c, &t, 30 * SECOND, 1 + i);
		/* Each side is never tighter than 5 us: no bound can honestly be below that. */
		assert_in_range(worst_bound(&t, &c, 30 * SECOND, 0, 0, &m), 5000, 8000);
		assert_int_equal(m.nr_violations, 0);
		clock_model_release(&m);
		constraints_release(&c);
	}
}

static ns_t bound_at(struct constraints *c, uint64_t from, uint64_t x)
{
	struct fit_options opt = options_for(x - ORIGIN);
	struct constraints some = {0};
	struct clock_model m;
	ns_t bound;

	for (size_t i = 0; i < c->nr; i++) {
		if (c->list[i].x >= from)
			assert_int_equal(constraints_add(&some, c->list[i].x, c->list[i].y,
							 c->list[i].upper),
					 0);
	}
	constraints_sort(&some);
	assert_int_equal(fit_constraints(&m, &some, &opt, NULL), 0);
	bound = clock_bound(&m, (ticks_t){x});
	clock_model_release(&m);
	constraints_release(&some);
	return bound;
}

/* As long as a stretch may be, so much of the evidence counts, also where one begins and ends. */
static void stretches_use_what_is_near(void **state)
{
	uint64_t ends = ORIGIN + 24 * SECOND;

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct truth t = {.ppm = 3, .offset = 77};
		struct constraints c = {0};
		ns_t best;

		make_pairs(&c, &t, 24 * SECOND, seed);
		best = bound_at(&c, ends - 19 * SECOND, ends + 4 * SECOND);
		assert_true(bound_at(&c, ORIGIN, ends + 4 * SECOND) <= best * 21 / 20);
		constraints_release(&c);
	}
}

static void a_step_a_pause_and_a_change_of_rate_begin_new_pieces(void **state)
{
	static const struct truth truths[] = {
		{.at = ORIGIN + 11 * SECOND, .step = 3 * (int64_t)SECOND}, /* guest paused */
		{.at = ORIGIN + 11 * SECOND, .step = 100000},
		{.at = ORIGIN + 11 * SECOND, .step = -100000},
		{.at = ORIGIN + 11 * SECOND, .step = 20000},
		{.ppm = 120, .ppm_later = -120, .at = ORIGIN + 11 * SECOND},
		{.ppm = 0, .ppm_later = 50, .at = ORIGIN + 11 * SECOND},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(truths); i++) {
		const struct truth *t = &truths[i];
		struct constraints c = {0};
		struct clock_model m;
		ns_t worst;

		make_pairs(&c, t, 30 * SECOND, 100 + i);
		worst = worst_bound(t, &c, 30 * SECOND, t->at - 3 * SECOND, t->at + 3 * SECOND, &m);
		assert_true(worst < 8000);
		assert_int_equal(m.nr_violations, 0);
		clock_model_release(&m);
		constraints_release(&c);
	}
}

static void wrong_constraints_are_dropped_and_counted(void **state)
{
	struct truth t = {.ppm = 3, .offset = 5};
	struct constraints c = {0};
	struct clock_model m;

	(void)state;
	make_pairs(&c, &t, 10 * SECOND, 7);
	for (unsigned i = 1; i < 6; i++) {
		uint64_t x = ORIGIN + i * SECOND + 4321;

		assert_int_equal(constraints_add(&c, x, true_parent(&t, x) + 500000, false), 0);
	}
	assert_true(worst_bound(&t, &c, 10 * SECOND, 0, 0, &m) < 9000);
	assert_int_equal(m.nr_violations, 5);
	assert_in_range(m.worst_violation_ns, 490000, 510000);
	clock_model_release(&m);
	constraints_release(&c);
}

static void exact_slope_needs_only_the_offset(void **state)
{
	struct fit_options opt = options_for(3600 * SECOND);
	struct truth t = {.offset = -15400725250};
	struct constraints c = {0};
	struct clock_model m;

	(void)state;
	opt.limit_ppm = 0;
	opt.slack = 0;
	opt.max_piece = 0;
	make_pairs(&c, &t, 10 * SECOND, 3);
	constraints_sort(&c);
	assert_int_equal(fit_constraints(&m, &c, &opt, NULL), 0);
	assert_int_equal(m.nr_pieces, 1);
	assert_true(m.pieces[0].mult == opt.mult);
	assert_in_range(m.pieces[0].bound_ns, 5000, 5200);
	assert_true(llabs(clock_to_l0(&m, (ticks_t){ORIGIN}) - (ns_t)true_parent(&t, ORIGIN)) <=
		    m.pieces[0].bound_ns);
	clock_model_release(&m);
	constraints_release(&c);
}

static void one_side_alone_bounds_nothing(void **state)
{
	struct fit_options opt = options_for(SECOND);
	struct constraints c = {0};
	struct clock_model m;

	(void)state;
	assert_int_equal(fit_constraints(&m, &c, &opt, NULL), -ENODATA);
	assert_int_equal(constraints_add(&c, 5, 5, true), 0);
	assert_int_equal(fit_constraints(&m, &c, &opt, NULL), -ENODATA);
	constraints_release(&c);
}

/* Any bytes as constraints: no crash, order kept, memory bounded. */
static void hostile_times_do_no_harm(void **state)
{
	static const uint64_t nasty[] = {0,	     1,		 INT64_MAX,
					 INT64_MIN,  UINT64_MAX, UINT64_MAX - 1,
					 1ull << 62, 1ull << 32, 12345};
	uint64_t seed = 99;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct fit_options opt = options_for(SECOND);
		struct constraints c = {0};
		struct clock_model m;
		ns_t last = NS_MIN;

		for (unsigned i = 0; i < 60; i++) {
			uint64_t x = nasty[random_next(&seed) % ARRAY_SIZE(nasty)];
			uint64_t y = nasty[random_next(&seed) % ARRAY_SIZE(nasty)];

			if (random_next(&seed) & 1)
				x = random_next(&seed);
			if (random_next(&seed) & 1)
				y = random_next(&seed);
			assert_int_equal(constraints_add(&c, x, y, random_next(&seed) & 1), 0);
		}
		opt.x_begin = nasty[random_next(&seed) % ARRAY_SIZE(nasty)];
		opt.x_end = nasty[random_next(&seed) % ARRAY_SIZE(nasty)];
		constraints_sort(&c);
		if (fit_constraints(&m, &c, &opt, NULL) == 0) {
			for (uint64_t x = 0; x < UINT64_MAX - (1ull << 58); x += 1ull << 57) {
				ns_t y = clock_to_l0(&m, (ticks_t){x});

				assert_true(y >= last);
				last = y;
			}
			fit_count_violations(&m, &c, 0);
			clock_model_release(&m);
		}
		constraints_release(&c);
	}
}

static void hull_band_is_the_set_of_lines(void **state)
{
	struct hull h;
	double lo, hi;

	(void)state;
	hull_init(&h, 1);
	assert_int_equal(hull_add(&h, 0, 10, true), 0);
	assert_int_equal(hull_add(&h, 0, 0, false), 0);
	assert_false(hull_add(&h, 0, 11, false) == 0);
	assert_int_equal(hull_add(&h, 100, 10, true), 0);
	assert_int_equal(hull_add(&h, 100, 0, false), 0);
	/* Slopes are within +-0.1 now. */
	assert_true(h.slope_max == 0.1 && h.slope_min == -0.1);
	assert_true(hull_band(&h, 50, &lo, &hi));
	assert_true(lo == 0 && hi == 10);
	assert_true(hull_band(&h, 200, &lo, &hi));
	assert_true(lo == -10 && hi == 20);
	hull_release(&h);
}

/*
 * A clock that is stepped, and just behind the step a constraint that the new lines satisfy within
 * the slack only: it belongs to them.  Were it taken for the last old one, the time between would
 * be told by the old line.  @sign: stepped forward, or back.
 */
static void check_slack_at_a_step(int sign)
{
	const uint64_t at = ORIGIN + 3 * SECOND + 2000000, len = 6 * SECOND;
	const struct truth t = {.at = at, .step = sign * 1000000};
	struct fit_options opt = options_for(len);
	struct constraints c = {0};
	struct clock_model m;
	int64_t beyond;

	for (uint64_t x = ORIGIN + 1000; x < ORIGIN + len; x += 10000000) {
		bool old = x < at;

		uint64_t above = old || sign > 0 ? 1000 : 20, below = old || sign < 0 ? 1000 : 20;

		assert_int_equal(constraints_add(&c, x, true_parent(&t, x) + above, true), 0);
		assert_int_equal(constraints_add(&c, x + 1, true_parent(&t, x + 1) - below, false),
				 0);
	}
	/* Right behind the step, on the side that does not show it. */
	beyond = (int64_t)true_parent(&t, at + 500000) - sign * 40;
	assert_int_equal(constraints_add(&c, at + 500000, (uint64_t)beyond, sign > 0), 0);
	constraints_sort(&c);
	assert_int_equal(fit_constraints(&m, &c, &opt, NULL), 0);
	for (uint64_t x = at - 100000; x < at + 500000; x += 10000) {
		ns_t off = clock_to_l0(&m, (ticks_t){x}) - (ns_t)true_parent(&t, x);

		assert_true(llabs(off) <= clock_bound(&m, (ticks_t){x}) + 50);
	}
	clock_model_release(&m);
	constraints_release(&c);
}

static void the_slack_counts_where_a_stretch_begins(void **state)
{
	(void)state;
	check_slack_at_a_step(1);
	check_slack_at_a_step(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slack_counts_where_a_stretch_begins),
		cmocka_unit_test(hull_band_is_the_set_of_lines),
		cmocka_unit_test(steady_clock_is_bounded_well_below_one_pair),
		cmocka_unit_test(stretches_use_what_is_near),
		cmocka_unit_test(a_step_a_pause_and_a_change_of_rate_begin_new_pieces),
		cmocka_unit_test(wrong_constraints_are_dropped_and_counted),
		cmocka_unit_test(exact_slope_needs_only_the_offset),
		cmocka_unit_test(one_side_alone_bounds_nothing),
		cmocka_unit_test(hostile_times_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
