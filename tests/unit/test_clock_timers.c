/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of a guest whose clock is known here, and hidden from what is tested: what
 * clock/bounds/timers.h makes of them must hold, and must not be made of anything else.
 */
#include "tests/unit/unit.h"

#include "clock/bounds/timers.h"
#include "clock/sample/watch.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define OFFSET (7000 * MS) /* host's clock less guest's */
#define WRONG (9 * US)	   /* so far off is the model */
#define BOUND (20 * US)
#define TID 5
#define NR 90u

/* Where and how the timers of this guest differ from what is usual. */
struct odd {
	int64_t advance, gap; /* @gap: the guest's, of every timer */
	int64_t twin;	      /* another timer of the guest ends so much later */
	int64_t left;	      /* 0: 3 ms */
	unsigned rare;	      /* one gap in so many is long; 0: one in 5 */
	bool earlier;	      /* the timer was started one stay earlier */
	bool again;	      /* and once more after the write, for the same moment */
	bool unsure, nested;  /* the stays */
	bool running;	      /* they had not ended when KVM's timer was started */
	int64_t stay;	      /* they began so long before the write; 0: 300 us */
	bool other_kvm_timer; /* of every third deadline it is not known which timer is its */
	unsigned nr;
	unsigned starts; /* of each timer, for the same moment; 0: one */
	int64_t every;	 /* 0: 5 ms */
	int64_t bound;	 /* of the model; 0: BOUND */
};

struct scene {
	struct trace trace;
	struct sample guest, host;
	struct armed_list armed;
	struct clock_piece piece;
	struct clock_model model;
	struct constraints out;
	struct timers found;
	uint64_t seed;
};

static int64_t dice(struct scene *s, int64_t from, int64_t to)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return from + (int64_t)(s->seed % (uint64_t)(to - from));
}

static int64_t gap(struct scene *s, unsigned rare)
{
	return dice(s, 0, rare ? rare : 5) ? dice(s, 20, 200) : dice(s, 200, 60 * US);
}

static void arm(struct scene *s, int64_t time, int64_t expires)
{
	struct armed *a = sample_add(&s->armed);

	assert_non_null(a);
	*a = (struct armed){(uint64_t)time, (uint64_t)expires};
}

/* One timer; @t is the guest's clock when it is read to program it. */
static void program(struct scene *s, const struct odd *o, unsigned i, int64_t t)
{
	int64_t left = o->left ? o->left : 3 * MS + dice(s, 0, MS), expires = t + left;
	int64_t deadline = expires + gap(s, o->rare) + o->gap; /* by the guest's clock */
	int64_t kvms = deadline + OFFSET - gap(s, o->rare) - o->advance;
	struct deadline *d = sample_add(&s->host.deadlines);

	assert_non_null(d);
	arm(s, t - (o->earlier ? 900 * US : 100 * US), expires);
	for (unsigned n = 1; n < o->starts; n++)
		arm(s, t - 100 * US - n, expires);
	if (o->again)
		arm(s, t + 200 * US, expires);
	if (o->twin)
		arm(s, t - 110 * US, expires + o->twin);
	*d = (struct deadline){(uint64_t)(t + OFFSET + 20 * US), (uint64_t)kvms,
			       o->other_kvm_timer && i % 3 == 0 ? 11 : 10, TID};
	if (d->timer == 11)
		d->expires += 3 * US;
	assert_int_equal(stay_list_add(&s->host.stays, TID, 0,
				       (uint64_t)(t + OFFSET - (o->stay ? o->stay : 300 * US)),
				       (uint64_t)(t + OFFSET + (o->running ? 30 : 10) * US),
				       o->unsure),
			 0);
	s->host.stays.list[s->host.stays.nr - 1].nested = o->nested ? NESTED_YES : NESTED_NO;
}

static void play(struct scene *s, struct odd o)
{
	unsigned nr = o.nr ? o.nr : NR;

	*s = (struct scene){.seed = 88172645463325252};
	s->trace.clock.kind = CLOCK_MONO;
	s->guest = (struct sample){.trace = &s->trace, .armed = &s->armed, .nr_cpus = 1};
	s->host = (struct sample){.trace = &s->trace};
	for (unsigned i = 0; i < nr; i++)
		program(s, &o, i, 100 * MS + i * (o.every ? o.every : 5 * MS));
	s->piece = (struct clock_piece){0, OFFSET + WRONG, UINT64_C(1) << CLOCK_SHIFT,
					o.bound ? o.bound : BOUND};
	s->model = (struct clock_model){.pieces = &s->piece, .nr_pieces = 1};
	assert_int_equal(
		timers_constraints(&s->out, &s->model, &s->guest, 0, &s->host, TID, &s->found), 0);
}

static void end(struct scene *s)
{
	free(s->armed.list);
	free(s->host.deadlines.list);
	free(s->host.stays.list);
	constraints_release(&s->out);
}

/* How many constraints the truth breaks. */
static unsigned broken(const struct scene *s)
{
	unsigned nr = 0;

	for (size_t i = 0; i < s->out.nr; i++) {
		const struct constraint *c = &s->out.list[i];
		int64_t y = (int64_t)c->x + OFFSET;

		nr += c->upper ? y > (int64_t)c->y : y < (int64_t)c->y;
	}
	return nr;
}

static void the_truth_is_within_whatever_the_advance(void **state)
{
	(void)state;
	for (int64_t advance = 0; advance <= TIMERS_ADVANCE_NS; advance += 1000) {
		struct scene s;

		play(&s, (struct odd){.advance = advance});
		assert_true(s.found.used >= 60);
		assert_int_equal(s.found.refuted, 0);
		assert_true(s.out.nr >= 20);
		assert_int_equal(broken(&s), 0);
		for (size_t i = 0; i + 1 < s.out.nr; i += 2) {
			assert_true(s.out.list[i].x == s.out.list[i + 1].x);
			assert_in_range(s.out.list[i + 1].y - s.out.list[i].y, 5000, 7000);
		}
		end(&s);
	}
}

/* What the constraints rest on: were it not so, they would be wrong, and this is how that looks. */
static void an_advance_that_kvm_never_has_misleads(void **state)
{
	struct scene s;

	(void)state;
	play(&s, (struct odd){.advance = 8000});
	assert_true(broken(&s) > 0);
	end(&s);
	play(&s, (struct odd){.gap = 3000});
	assert_true(broken(&s) > 0);
	end(&s);
}

static void what_contradicts_the_model_is_left_out_and_counted(void **state)
{
	struct scene s;

	(void)state;
	/* The model allows 11 us less than there are, and 29 us more. */
	play(&s, (struct odd){.advance = 18000, .rare = 1000});
	assert_int_equal(s.out.nr, 0);
	assert_int_equal(s.found.used, 0);
	assert_true(s.found.refuted >= 60);
	end(&s);
	play(&s, (struct odd){.gap = 32000, .rare = 1000});
	assert_int_equal(s.out.nr, 0);
	assert_int_equal(s.found.used, 0);
	assert_true(s.found.refuted >= 60);
	end(&s);
}

static void what_is_not_clear_is_left_out(void **state)
{
	static const struct odd odds[] = {
		{.twin = 4000}, /* which of the two? */
		{.twin = -4000},
		{.earlier = true}, /* an exit may have come between */
		{.unsure = true},
		{.nested = true},
		{.running = true}, /* it was not this vCPU that programmed it */
		{.left = 25 * US}, /* maybe it was late, and not this moment was programmed */
		{.left = 50 * MS},
		{.rare = 1},			   /* gaps of any length, all of them */
		{.nr = 8},			   /* not enough for a median */
		{.every = 30 * MS},		   /* nine of them tell of a quarter of a second */
		{.bound = 2 * MS, .stay = 4 * MS}, /* they could be anything's */
		{.starts = 100},		   /* too many to be looked at */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(odds); i++) {
		struct scene s;

		play(&s, odds[i]);
		assert_int_equal(s.out.nr, 0);
		assert_int_equal(s.found.used, 0);
		end(&s);
	}
}

static void timers_far_away_and_later_starts_do_not_confuse(void **state)
{
	static const struct odd odds[] = {{.twin = 200 * US}, {.again = true}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(odds); i++) {
		struct scene s;

		play(&s, odds[i]);
		assert_true(s.found.used >= 60);
		assert_int_equal(broken(&s), 0);
		end(&s);
	}
}

/* Kernels may differ about the TSC's rate: the longer a timer has left, the less it says. */
static void a_timer_that_is_far_off_says_less(void **state)
{
	const int64_t left = 9 * MS, either = TIMERS_GAP_NS + left * 50 / 1000000;
	struct scene s;

	(void)state;
	play(&s, (struct odd){.left = left});
	assert_true(s.out.nr >= 20);
	for (size_t i = 0; i + 1 < s.out.nr; i += 2)
		assert_true((int64_t)(s.out.list[i + 1].y - s.out.list[i].y) >=
			    TIMERS_ADVANCE_NS + 2 * either);
	assert_int_equal(broken(&s), 0);
	end(&s);
}

/* A third of the deadlines was noted with a timer that somebody else started. */
static void only_the_vcpus_own_timer_counts(void **state)
{
	struct scene s;

	(void)state;
	play(&s, (struct odd){.other_kvm_timer = true, .rare = 1000});
	assert_in_range(s.found.used, 40, 60);
	assert_int_equal(broken(&s), 0);
	end(&s);
}

static void other_clocks_than_monotonic_are_not_what_timers_count_in(void **state)
{
	struct trace mono = {.clock = {.kind = CLOCK_MONO, .freq_hz = 1000000000}};
	struct trace cycles = {.clock = {.kind = CLOCK_MONO, .freq_hz = 24000000}};
	struct trace tsc = {.clock = {.kind = CLOCK_TSC}}, boot = {.clock = {.kind = CLOCK_BOOT}};
	struct sample c = {.trace = &cycles}, m = {.trace = &mono}, t = {.trace = &tsc},
		      b = {.trace = &boot};

	(void)state;
	assert_true(timers_apply(&m, &m));
	assert_false(timers_apply(&m, &t));
	assert_false(timers_apply(&t, &m));
	assert_false(timers_apply(&b, &m));
	assert_false(timers_apply(&c, &m));
	assert_false(timers_apply(&m, &c));
}

/* ---- which of the host's timers are deadlines ---- */

#define STEP(of, ...)                                                                              \
	{                                                                                          \
		.kind = (of), .tid = -1, .arg = { __VA_ARGS__ }                                    \
	}
#define SWITCH(to) STEP(EV_SCHED_SWITCH, 0, to)
#define LEAVE(to) STEP(EV_SCHED_SWITCH, 5, to)
#define ENTRY STEP(EV_KVM_ENTRY, 0)
#define EXIT STEP(EV_KVM_EXIT, 0)
#define START STEP(EV_HRTIMER_START, 10, 900)
#define MSR(write, msr) STEP(EV_KVM_MSR, write, msr)
#define DEADLINE MSR(1, 0x6e0)
#define LOST STEP(EV_LOST, 0)
#define STEPS_MAX 8

/* Events of one CPU, and how many deadlines of thread 5 they are. */
static const struct {
	const char *what;
	struct event list[STEPS_MAX];
	size_t deadlines;
} exits[] = {
	{"the timer, then the write", {SWITCH(5), ENTRY, EXIT, START, DEADLINE}, 1},
	{"it is read", {SWITCH(5), ENTRY, EXIT, START, MSR(0, 0x6e0)}, 0},
	{"another one is written", {SWITCH(5), ENTRY, EXIT, START, MSR(1, 0x6e1)}, 0},
	{"of two writes, one has it", {SWITCH(5), ENTRY, EXIT, START, DEADLINE, DEADLINE}, 1},
	{"another thread writes", {SWITCH(5), ENTRY, EXIT, START, LEAVE(6), DEADLINE}, 0},
	{"of another exit", {SWITCH(5), ENTRY, EXIT, START, EXIT, DEADLINE}, 0},
	{"an entry is between", {SWITCH(5), ENTRY, EXIT, START, ENTRY, DEADLINE}, 0},
	{"a loss is between", {SWITCH(5), ENTRY, EXIT, START, LOST, SWITCH(5), DEADLINE}, 0},
	{"the guest ran when it began", {SWITCH(5), ENTRY, START, DEADLINE}, 0},
	{"nobody knows who ran", {START, SWITCH(5), DEADLINE}, 0},
};

static void only_what_one_exit_shows_is_a_deadline(void **state)
{
	struct trace trace = {.clock = {.kind = CLOCK_MONO}};
	struct stream stream = {.trace = &trace};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(exits); i++) {
		struct event list[STEPS_MAX];
		struct watch w;
		unsigned nr = 0;

		watch_init(&w, &stream);
		w.until = UINT64_MAX;
		w.notes_max = 1000;
		for (; nr < STEPS_MAX && exits[i].list[nr].kind; nr++) {
			list[nr] = exits[i].list[nr];
			list[nr].time.v = 100 + nr;
			if (list[nr].kind == EV_LOST) {
				list[nr].arg[1] = (int64_t)list[nr].time.v - 1;
				list[nr].arg[2] = (int64_t)list[nr].time.v;
			}
		}
		assert_int_equal(watch_events(&w, list, nr), 0);
		if (w.deadlines.nr != exits[i].deadlines)
			print_error("%s\n", exits[i].what);
		assert_int_equal(w.deadlines.nr, exits[i].deadlines);
		for (size_t k = 0; k < w.deadlines.nr; k++)
			assert_int_equal(w.deadlines.list[k].tid, 5);
		watch_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_within_whatever_the_advance),
		cmocka_unit_test(an_advance_that_kvm_never_has_misleads),
		cmocka_unit_test(what_contradicts_the_model_is_left_out_and_counted),
		cmocka_unit_test(what_is_not_clear_is_left_out),
		cmocka_unit_test(timers_far_away_and_later_starts_do_not_confuse),
		cmocka_unit_test(a_timer_that_is_far_off_says_less),
		cmocka_unit_test(only_the_vcpus_own_timer_counts),
		cmocka_unit_test(only_what_one_exit_shows_is_a_deadline),
		cmocka_unit_test(other_clocks_than_monotonic_are_not_what_timers_count_in),
	};

	return cmocka_run_group_tests_name("clock_timers", tests, NULL, NULL);
}
