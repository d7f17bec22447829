/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "history/read/reader.h"
#include "tests/unit/oracle.h"

#include <cmocka.h>

/*
 * Every query of a history against the same changes kept in plain arrays, over streams of
 * different character.
 */
struct stream_kind {
	const char *name;
	unsigned nr_rows;
	unsigned nr_changes;
	unsigned nr_values;   /* per row */
	uint64_t step_ns;     /* mean time between moments at which something changes */
	unsigned same_moment; /* changes per moment */
	bool skewed;	      /* low rows change much more often */
	ns_t start;
	unsigned threads;
	unsigned phase;	  /* after so many changes, the next row is the busiest */
	unsigned repeats; /* so many of 16 values follow the last one as always: parts are packed */
};

static const struct stream_kind kinds[] = {
	{"few rows, everything at once", 7, 90000, 5, 3000, 4, false, 0, 0, 0, 0},
	{"skewed, many rows", 2000, 400000, 200, 900, 1, true, 1000000000000, 1, 0, 0},
	{"skewed, shared moments", 600, 300000, 40, 5000, 3, true, 77, 1, 0, 0},
	{"wide values", 50, 100000, 1u << 31, 100, 1, false, -5000000, 0, 0, 0},
	{"sparse, slow", 3000, 200000, 3, 700000000, 2, false, 5, 1, 0, 0},
	{"steps of one ns", 30, 150000, 9, 1, 2, true, 1, 0, 0, 0},
	{"long", 5, 600000, 12, 2000, 1, false, 0, 1, 0, 0},
	{"busy by turns", 40, 500000, 6, 3000, 1, true, 0, 1, 20000, 0},
	{"tiny", 3, 10, 4, 10, 1, false, 100, 0, 0, 0},
	{"repeats itself", 3, 1800000, 5000, 2000, 1, true, 9, 1, 0, 15},
	{"repeats itself, tiny", 1, 2000, 4, 10, 1, false, -100, 0, 0, 16},
};

struct fixture {
	struct oracle o;
	struct history *h;
	attr_t *attrs;
	unsigned nr_rows;
	uint64_t seed;
	unsigned nr_exact, nr_summary; /* pixels */
	uint32_t last[8];	       /* values, by row */
	char path[64];
};

static unsigned pick_row(const struct stream_kind *k, uint64_t *seed)
{
	uint64_t r = oracle_random(seed) % k->nr_rows;

	if (!k->skewed)
		return (unsigned)r;
	r = r * (oracle_random(seed) % k->nr_rows) / k->nr_rows;
	return (unsigned)(r * (oracle_random(seed) % k->nr_rows) / k->nr_rows);
}

static struct history_writer *start(struct fixture *f, const struct stream_kind *k)
{
	const struct history_writer_options opt = {.threads = k->threads};
	struct history_writer *w;
	struct error err = {0};

	assert_int_equal(history_writer_open(&w, f->path, &opt, &err), 0);
	f->nr_rows = k->nr_rows;
	f->attrs = calloc(k->nr_rows, sizeof(*f->attrs));
	oracle_init(&f->o, k->nr_rows);
	for (unsigned i = 0; i < k->nr_rows; i++) {
		char name[32];

		snprintf(name, sizeof(name), "row%u", i);
		f->attrs[i] = history_writer_attr(w, ATTR_ROOT, name, ATTR_NUMBER,
						  i % 3 ? 0 : ATTR_SUMMED);
	}
	return w;
}

static uint32_t pick_value(struct fixture *f, const struct stream_kind *k, unsigned row)
{
	uint32_t *last = &f->last[row % ARRAY_SIZE(f->last)];

	if (oracle_random(&f->seed) % 16 < k->repeats)
		*last = (uint32_t)(*last * 2654435761ull % k->nr_values) + 1;
	else
		*last = (uint32_t)(oracle_random(&f->seed) % k->nr_values);
	return *last;
}

static ns_t fill(struct fixture *f, struct history_writer *w, const struct stream_kind *k)
{
	ns_t t = k->start;

	for (unsigned i = 0; i < k->nr_changes; i++) {
		unsigned row = (pick_row(k, &f->seed) + (k->phase ? i / k->phase : 0)) % k->nr_rows;
		uint32_t value = pick_value(f, k, row);

		if (i % k->same_moment == 0)
			t += (ns_t)((k->repeats ? value * 7919ull : oracle_random(&f->seed)) %
				    (2 * k->step_ns));
		history_writer_set(w, f->attrs[row], t, value);
		oracle_set(&f->o, row, t, value);
	}
	return t;
}

static void setup_kind(struct fixture *f, const struct stream_kind *k)
{
	struct history_writer *w;
	struct error err = {0};
	int ret;

	memset(f, 0, sizeof(*f));
	f->seed = 88172645463325252ull + k->nr_rows;
	snprintf(f->path, sizeof(f->path), "/tmp/test_history.%d.sonde", getpid());
	w = start(f, k);
	f->o.end = fill(f, w, k) + 5;
	ret = history_writer_close(w, f->o.end, &err);
	if (ret)
		print_message("%s\n", err.text);
	assert_int_equal(ret, 0);
	ret = history_open(&f->h, f->path, &err);
	if (ret)
		print_message("%s\n", err.text);
	assert_int_equal(ret, 0);
	assert_true(history_complete(f->h));
	assert_int_equal(history_begin(f->h), f->o.begin);
	assert_int_equal(history_end(f->h), f->o.end);
	f->h->unpacked_max = 0; /* what must not go away stays nevertheless */
}

static void teardown_kind(struct fixture *f)
{
	history_close(f->h);
	oracle_release(&f->o);
	free(f->attrs);
	unlink(f->path);
}

/* A moment of the history; often exactly that of a change. */
static ns_t pick_time(struct fixture *f)
{
	const struct oracle_row *r = &f->o.rows[oracle_random(&f->seed) % f->nr_rows];
	ns_t t = f->o.begin + (ns_t)(oracle_random(&f->seed) % (uint64_t)(f->o.end - f->o.begin));

	if (r->nr && oracle_random(&f->seed) % 2) {
		t = r->list[oracle_random(&f->seed) % r->nr].t - 1 +
		    (ns_t)(oracle_random(&f->seed) % 3);
		t = t < f->o.begin ? f->o.begin : t;
		t = t >= f->o.end ? f->o.end - 1 : t;
	}
	return t;
}

static void check_at(struct fixture *f)
{
	for (unsigned i = 0; i < 2000; i++) {
		unsigned row = (unsigned)(oracle_random(&f->seed) % f->nr_rows);
		ns_t t = pick_time(f);
		struct interval want = oracle_at(&f->o, row, t), got;
		ns_t next, prev;

		assert_int_equal(history_at(f->h, f->attrs[row], t, &got), 0);
		assert_int_equal(got.value, want.value);
		assert_int_equal(got.begin, want.begin);
		assert_int_equal(got.end, want.end);
		assert_int_equal(history_next_change(f->h, f->attrs[row], t, &next), 0);
		assert_int_equal(next, want.end == f->o.end ? NS_MAX : want.end);
		assert_int_equal(history_prev_change(f->h, f->attrs[row], t, &prev), 0);
		assert_int_equal(prev, oracle_upto(&f->o, row, t) ? want.begin : NS_MIN);
	}
}

static void check_state(struct fixture *f)
{
	uint32_t nr = history_nr_attrs(f->h);
	uint32_t *values = malloc(nr * sizeof(*values));
	ns_t *since = malloc(nr * sizeof(*since));

	for (unsigned i = 0; i < 60; i++) {
		ns_t t = pick_time(f);

		assert_int_equal(history_state(f->h, t, values, since), 0);
		for (unsigned row = 0; row < f->nr_rows; row++) {
			struct interval want = oracle_at(&f->o, row, t);

			assert_int_equal(values[f->attrs[row]], want.value);
			assert_int_equal(since[f->attrs[row]], want.begin);
		}
	}
	free(values);
	free(since);
}

struct walk_check {
	const struct fixture *f;
	unsigned row;
	size_t i;
};

static bool check_interval(const struct interval *got, void *data)
{
	struct walk_check *c = data;
	struct interval want = oracle_interval(&c->f->o, c->row, c->i++);

	assert_int_equal(got->value, want.value);
	assert_int_equal(got->begin, want.begin);
	assert_int_equal(got->end, want.end);
	return true;
}

/* The same as a list, cut off where there is no room. */
static void check_list(const struct fixture *f, unsigned row, ns_t begin, ns_t end, size_t first,
		       size_t nr)
{
	uint64_t most = history_list_most(f->h, f->attrs[row], begin, end);
	uint32_t values[32];
	ns_t begins[33];

	assert_true(!most || most >= nr);
	for (unsigned room = 1; room <= ARRAY_SIZE(values); room *= 2) {
		struct walk_check c = {.f = f, .row = row, .i = first};
		unsigned found;

		assert_int_equal(
			history_list(f->h, f->attrs[row], begin, end, begins, values, room, &found),
			0);
		assert_int_equal(found, nr < room ? nr : room);
		for (unsigned i = 0; i < found; i++)
			check_interval(&(struct interval){begins[i], begins[i + 1], values[i]}, &c);
	}
}

static void check_walk(struct fixture *f)
{
	for (unsigned row = 0; row < f->nr_rows; row++) {
		uint64_t most = history_list_most(f->h, f->attrs[row], f->o.begin, f->o.end);

		assert_true(!most || most == f->o.rows[row].nr + 1);
	}
	for (unsigned i = 0; i < 200; i++) {
		struct walk_check c = {.f = f,
				       .row = (unsigned)(oracle_random(&f->seed) % f->nr_rows)};
		ns_t a = pick_time(f), b = pick_time(f);
		ns_t begin = a < b ? a : b, end = a < b ? b : a;
		size_t last;

		if (begin == end)
			continue;
		c.i = oracle_upto(&f->o, c.row, begin);
		last = oracle_upto(&f->o, c.row, end - 1);
		assert_int_equal(
			history_walk(f->h, f->attrs[c.row], begin, end, check_interval, &c), 0);
		assert_int_equal(c.i, last + 1);
		c.i = oracle_upto(&f->o, c.row, begin);
		check_list(f, c.row, begin, end, c.i, last + 1 - c.i);
	}
}

static ns_t oracle_time(const struct oracle *o, unsigned row, uint32_t value, ns_t begin, ns_t end)
{
	ns_t sum = 0;

	for (size_t i = oracle_upto(o, row, begin); i <= oracle_upto(o, row, end - 1); i++) {
		struct interval v = oracle_interval(o, row, i);
		ns_t from = v.begin > begin ? v.begin : begin;
		ns_t to = v.end < end ? v.end : end;

		if (v.value == value)
			sum += to - from;
	}
	return sum;
}

static void check_sum(struct fixture *f)
{
	for (unsigned i = 0; i < 60; i++) {
		unsigned row = (unsigned)(oracle_random(&f->seed) % f->nr_rows);
		ns_t a = pick_time(f), b = pick_time(f);
		ns_t begin = a < b ? a : b, end = (a < b ? b : a) + 1;
		struct value_time *list;
		ns_t sum = 0;
		unsigned nr;

		assert_int_equal(history_sum(f->h, f->attrs[row], begin, end, &list, &nr), 0);
		for (unsigned k = 0; k < nr; k++) {
			sum += list[k].time_ns;
			if (k)
				assert_true(list[k].time_ns <= list[k - 1].time_ns);
			if (k < 20)
				assert_int_equal(
					list[k].time_ns,
					oracle_time(&f->o, row, list[k].value, begin, end));
		}
		assert_int_equal(sum, end - begin);
		free(list);
	}
}

struct pixel_check {
	struct fixture *f;
	const unsigned *rows;
	ns_t begin, end;
	unsigned pixels, seen;
};

static ns_t pixel_edge(const struct pixel_check *c, unsigned p)
{
	return c->begin + (ns_t)((unsigned __int128)(c->end - c->begin) * p / c->pixels);
}

/* The longest time any value has in [begin, end). */
static ns_t longest(const struct oracle *o, unsigned row, ns_t begin, ns_t end)
{
	ns_t best = 0;

	for (size_t i = oracle_upto(o, row, begin); i <= oracle_upto(o, row, end - 1); i++) {
		ns_t time = oracle_time(o, row, oracle_interval(o, row, i).value, begin, end);

		best = time > best ? time : best;
	}
	return best;
}

static void check_pixel(struct pixel_check *c, unsigned row, unsigned p,
			const struct pixel_run *run)
{
	ns_t begin = pixel_edge(c, p), end = pixel_edge(c, p + 1);
	uint32_t value = run ? run->value : 0;
	ns_t time;

	if (begin == end) {
		assert_int_equal(value, oracle_at(&c->f->o, row, begin).value);
		return;
	}
	time = oracle_time(&c->f->o, row, value, begin, end);
	if (!run)
		return;
	assert_true((double)time >= (double)run->share / 255 * (double)(end - begin) * 0.999999);
	c->f->nr_exact += run->exact;
	c->f->nr_summary += !run->exact;
	if (run->exact)
		assert_int_equal(time, longest(&c->f->o, row, begin, end));
}

static void check_runs(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	struct pixel_check *c = data;
	unsigned next = 0;

	assert_int_equal(row, c->seen++);
	for (unsigned i = 0; i < nr; i++) {
		assert_true(runs[i].nr && runs[i].value && runs[i].first >= next);
		if (i && runs[i].first == next)
			assert_true(runs[i].value != runs[i - 1].value);
		next = runs[i].first + runs[i].nr;
		assert_true(next <= c->pixels);
	}
	for (unsigned p = 0, i = 0; p < c->pixels; p += 1 + c->pixels / 50) {
		while (i < nr && runs[i].first + runs[i].nr <= p)
			i++;
		check_pixel(c, c->rows[row], p, i < nr && runs[i].first <= p ? &runs[i] : NULL);
	}
}

static void check_pixels(struct fixture *f)
{
	ns_t span = f->o.end - f->o.begin;

	for (unsigned i = 0; i < 24; i++, span = span / 3 + 1) {
		unsigned rows[4];
		attr_t attrs[4];
		struct pixel_check c = {.f = f, .rows = rows, .pixels = 100 + 37 * (i % 8)};

		for (unsigned k = 0; k < 4; k++) {
			rows[k] = k < 2 ? k % f->nr_rows
					: (unsigned)(oracle_random(&f->seed) % f->nr_rows);
			attrs[k] = f->attrs[rows[k]];
		}
		c.begin = i ? pick_time(f) : f->o.begin;
		c.end = c.begin + span < f->o.end ? c.begin + span : f->o.end;
		assert_int_equal(
			history_pixels(f->h, attrs, 4, c.begin, c.end, c.pixels, check_runs, &c),
			0);
		assert_int_equal(c.seen, 4);
	}
}

static void all_queries(void **state)
{
	unsigned nr_exact = 0, nr_summary = 0;
	uint32_t most_unpacked = 0;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct fixture f;

		setup_kind(&f, &kinds[i]);
		check_at(&f);
		check_state(&f);
		check_walk(&f);
		check_sum(&f);
		check_pixels(&f);
		most_unpacked = f.h->nr_unpacked > most_unpacked ? f.h->nr_unpacked : most_unpacked;
		nr_exact += f.nr_exact;
		nr_summary += f.nr_summary;
		teardown_kind(&f);
	}
	/* Both ways of drawing a pixel were looked at. */
	assert_true(nr_exact > 1000 && nr_summary > 1000);
	/* And unpacked parts came and went. */
	assert_true(most_unpacked > UNPACKED_KEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
