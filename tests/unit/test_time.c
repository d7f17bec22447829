/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people write them, and numbers as people read them. */
#include "tests/unit/unit.h"

#include "libsonde/time_text.h"
#include "base/units.h"

#include <errno.h>

/* A history from 10 s to 20 s on L0's clock; L0's tracer counted 2 ns per tick from 1000 on; the
 * wall clock showed 2026-11-21 12:59:50 at the origin of L0's. */
static struct clock_piece piece = {
	.from = 1000, .at_ns = 10 * NS_PER_SEC, .mult = UINT64_C(2) << CLOCK_SHIFT};
static const struct clock_model clock_l0 = {.pieces = &piece, .nr_pieces = 1};
static const struct time_base base = {
	.begin = 10 * NS_PER_SEC,
	.end = 20 * NS_PER_SEC,
	.traced_begin = 12 * NS_PER_SEC,
	.traced_end = 19 * NS_PER_SEC,
	.ticks_are_ns = true,
	.wall_known = true,
	.wall_offset_ns = INT64_C(1795265990) * NS_PER_SEC,
	.l0 = &clock_l0,
};

static void accepted_forms(void **state)
{
	static const struct {
		const char *text;
		ns_t t;
	} rows[] = {
		{"12345678901", 12345678901},
		{"0", 0},
		{"12.345678901", 12345678901},
		{"12.", 12000000000},
		{"12.3s", 12300000000},
		{"12000ms", 12000000000},
		{"12000000us", 12000000000},
		{"12000000µs", 12000000000}, /* as the page writes it */
		{"7ns", 7},
		{"1.5min", 90000000000},
		{"+1.5s", 11500000000},
		{"+0", 10000000000},
		{"+120ms", 10120000000},
		{"-200ms", 19800000000},
		{"0%", 10000000000},
		{"50%", 15000000000},
		{"33.3%", 13330000000},
		{"100%", 20000000000},
		{"tsc:1500", 10000001000},
		{"tsc:0x5dc", 10000001000},
		{"13:00:01.25", 11250000000},
		{"2026-11-21T13:00:01.25", 11250000000},
		{"2026-11-21T13:00:01Z", 11000000000},
		/* More digits than a nanosecond has: cut off. */
		{"12.3456789019", 12345678901},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		ns_t t = -1;

		if (time_parse(&base, rows[i].text, &t, &err) || t != rows[i].t)
			print_error("%s: %lld, not %lld: %s\n", rows[i].text, (long long)t,
				    (long long)rows[i].t, err.text);
		assert_int_equal(t, rows[i].t);
	}
}

static void refused_forms(void **state)
{
	static const char *const rows[] = {
		"",
		"x",
		"1.5x",
		"1..5",
		"+",
		"-",
		"+-1s",
		"101%",
		"%",
		"tsc:",
		"tsc:-1",
		"tsc:12x",
		"1 s",
		"13:00",
		"25:00:00",
		"13:61:00",
		"9223372036854775808",
		"10000000000s",
		"2026-13-01T00:00:00",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		ns_t t;

		if (!time_parse(&base, rows[i], &t, &err))
			print_error("\"%s\" was taken for %lld\n", rows[i], (long long)t);
		assert_int_equal(err.code, -EINVAL);
		assert_true(strlen(err.text) > 0);
	}
}

static void what_a_run_does_not_know(void **state)
{
	struct time_base bare = base;
	struct error err = {0};
	ns_t t;

	(void)state;
	bare.wall_known = false;
	bare.l0 = NULL;
	assert_int_equal(time_parse(&bare, "13:00:01", &t, &err), -EINVAL);
	assert_non_null(strstr(err.text, "wall clock"));
	assert_int_equal(time_parse(&bare, "tsc:1", &t, &err), -EINVAL);
	assert_non_null(strstr(err.text, "tsc:1"));
}

static void what_is_printed_is_accepted(void **state)
{
	static const ns_t times[] = {0, 1, 999999999, 1000000000, 10000000001, 12345678901234567};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char text[UNIT_TEXT];
		ns_t t;

		unit_time(text, times[i], true);
		assert_int_equal(time_parse(&base, text, &t, NULL), 0);
		assert_int_equal(t, times[i]);
	}
}

static void windows(void **state)
{
	ns_t begin, end;

	(void)state;
	assert_int_equal(time_parse_window(&base, NULL, &begin, &end, NULL), 0);
	assert_int_equal(begin, base.traced_begin);
	assert_int_equal(end, base.traced_end);
	assert_int_equal(time_parse_window(&base, "0%,100%", &begin, &end, NULL), 0);
	assert_int_equal(begin, base.begin);
	assert_int_equal(end, base.end);
	assert_int_equal(time_parse_window(&base, "+1s,+2s", &begin, &end, NULL), 0);
	assert_int_equal(begin, 11 * NS_PER_SEC);
	assert_int_equal(end, 12 * NS_PER_SEC);
	assert_int_equal(time_parse_window(&base, ",50%", &begin, &end, NULL), 0);
	assert_int_equal(begin, base.traced_begin);
	assert_int_equal(end, 15 * NS_PER_SEC);
	assert_int_equal(time_parse_window(&base, "50%,", &begin, &end, NULL), 0);
	assert_int_equal(end, base.traced_end);
	/* Where an empty side would make a window of nothing, it is the history's. */
	assert_int_equal(time_parse_window(&base, ",+1s", &begin, &end, NULL), 0);
	assert_int_equal(begin, base.begin);
	assert_int_equal(end, 11 * NS_PER_SEC);
	assert_int_equal(time_parse_window(&base, "95%,", &begin, &end, NULL), 0);
	assert_int_equal(begin, 19500000000);
	assert_int_equal(end, base.end);
	/* What sticks out is cut off. */
	assert_int_equal(time_parse_window(&base, "1s,12s", &begin, &end, NULL), 0);
	assert_int_equal(begin, base.begin);
	assert_int_equal(end, 12000000000);
	assert_int_equal(time_parse_window(&base, "19s,99s", &begin, &end, NULL), 0);
	assert_int_equal(end, base.end);
}

static void windows_that_are_none(void **state)
{
	struct error err = {0};
	ns_t begin, end;

	(void)state;
	assert_int_equal(time_parse_window(&base, "+1s", &begin, &end, &err), -EINVAL);
	assert_int_equal(time_parse_window(&base, "+2s,+1s", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "ends before it begins"));
	assert_int_equal(time_parse_window(&base, "99s,", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "is outside the history, which lasts from"));
	assert_int_equal(time_parse_window(&base, ",1s", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "is outside the history, which lasts from"));
	assert_int_equal(time_parse_window(&base, "12.5,13", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "13 is 13 ns: write 13s for seconds"));
	assert_int_equal(time_parse_window(&base, "12,12.5", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "mixes nanoseconds and seconds; 12 is 12 ns: write 12s"));
	assert_int_equal(time_parse_window(&base, "+1s,+1s", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "empty"));
	/* 12 is nanoseconds: before the begin. */
	assert_int_equal(time_parse_window(&base, "12,13", &begin, &end, &err), -ERANGE);
	assert_non_null(strstr(err.text, "12 is 12 ns: write 12s for seconds"));
	assert_non_null(strstr(err.text, "from 10.000000000 to 20.000000000"));
	assert_non_null(strstr(err.text, "outside"));
	assert_int_equal(time_parse_window(&base, "25s,30s", &begin, &end, &err), -ERANGE);
}

static void lengths(void **state)
{
	static const struct {
		ns_t length;
		const char *text;
	} rows[] = {
		{0, "0"},
		{1, "1 ns"},
		{999, "999 ns"},
		{1000, "1.000 us"},
		{999949, "999.9 us"},
		{999950, "1.000 ms"},
		{999960, "1.000 ms"},
		{1234567, "1.235 ms"},
		{12345678, "12.35 ms"},
		{123456789, "123.5 ms"},
		{1234567890, "1.235 s"},
		{-1500, "-1.500 us"},
		{98765432100000, "98765 s"},
		{9999,
		 "9.999 us"}, /* as many digits as printf() would take, and rounded as it does */
		{10000, "10.00 us"},
		{9999499, "9.999 ms"},
		{9999500, "10.00 ms"},
		{1000500, "1.000 ms"},
		{1001500, "1.002 ms"},
		{10005, "10.01 us"},
		{10015, "10.02 us"},
		{999949999999, "999.9 s"},
		{999950000000, "1000 s"},
		{INT64_MAX, "9223372037 s"},
		{INT64_MIN, "-9223372037 s"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[UNIT_TEXT];

		assert_string_equal(unit_length(text, rows[i].length, true), rows[i].text);
	}
}

static void other_numbers(void **state)
{
	char text[UNIT_TEXT];

	(void)state;
	assert_string_equal(unit_share(text, 0), "0.0%");
	assert_string_equal(unit_share(text, 1), "<0.1%");
	assert_string_equal(unit_share(text, 123456), "12.3%");
	assert_string_equal(unit_count(text, 0), "0");
	assert_string_equal(unit_count(text, 1234567), "1,234,567");
	assert_string_equal(unit_count(text, -123456), "-123,456");
	assert_string_equal(unit_bytes(text, 999), "999 B");
	assert_string_equal(unit_bytes(text, 47123456), "47 MB");
	assert_string_equal(unit_tick(text, 12300000000, 100000000, true), "12.3 s");
	assert_string_equal(unit_tick(text, 12000000000, NS_PER_SEC, true), "12 s");
	assert_string_equal(unit_time(text, -1500000000, true), "-1.500000000");
	assert_string_equal(unit_time(text, 42, false), "42");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_forms),
		cmocka_unit_test(refused_forms),
		cmocka_unit_test(what_a_run_does_not_know),
		cmocka_unit_test(what_is_printed_is_accepted),
		cmocka_unit_test(windows),
		cmocka_unit_test(windows_that_are_none),
		cmocka_unit_test(lengths),
		cmocka_unit_test(other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
