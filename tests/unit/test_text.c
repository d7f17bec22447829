/* SPDX-License-Identifier: Apache-2.0 */
/* base/text.h writes what snprintf() would, in whatever room there is. */
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

static const uint64_t numbers[] = {
	0,	    1,		9,	    10,	       11,	   99,
	100,	    101,	999,	    1000,      9999,	   10000,
	123456789,  4294967295, 4294967296, INT64_MAX, 1ull << 63, UINT64_MAX - 1,
	UINT64_MAX,
};

static void numbers_are_those_of_printf(void **state)
{
	char mine[200], theirs[200];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct text t = text_in(mine, sizeof(mine));
		int64_t n = (int64_t)numbers[i];

		text_u64(&t, numbers[i]);
		text_char(&t, ' ');
		text_i64(&t, n);
		text_char(&t, ' ');
		text_u64_zeros(&t, numbers[i], 9);
		text_char(&t, ' ');
		text_i64_right(&t, n, 6);
		text_char(&t, ' ');
		text_i64_right(&t, -(n & 0xffff), 6);
		text_char(&t, ' ');
		text_hex_byte(&t, (uint8_t)n);
		snprintf(theirs, sizeof(theirs),
			 "%" PRIu64 " %" PRId64 " %09" PRIu64 " %6" PRId64 " %6" PRId64 " %02x",
			 numbers[i], n, numbers[i], n, -(n & 0xffff), (unsigned)(uint8_t)n);
		assert_int_equal(text_end(&t, sizeof(mine)), strlen(theirs));
		assert_string_equal(mine, theirs);
	}
}

static size_t a_line(char *buf, size_t room)
{
	struct text t = text_in(buf, room);

	text_str(&t, "name=");
	text_u64(&t, 1234567);
	text_char(&t, ',');
	text_u64_zeros(&t, 42, 20);
	text_quotable(&t, (const uint8_t *)"a\n\"b", 4, true);
	text_put(&t, "and more", 8);
	return text_end(&t, room);
}

static void what_does_not_fit_is_counted_and_cut(void **state)
{
	static const char whole[] = "name=1234567,00000000000000000042a\\n\\\"band more";
	char buf[80];

	(void)state;
	for (size_t room = 0; room < sizeof(buf); room++) {
		size_t fits = !room ? 0 : room - 1 < strlen(whole) ? room - 1 : strlen(whole);

		memset(buf, '#', sizeof(buf));
		assert_int_equal(a_line(buf, room), strlen(whole));
		assert_memory_equal(buf, whole, fits);
		if (room)
			assert_int_equal(buf[fits], '\0');
		for (size_t i = room; i < sizeof(buf); i++)
			assert_int_equal(buf[i], '#');
	}
}

static void text_in_quotes_can_be_read_back(void **state)
{
	static const uint8_t odd[] = {'a',  '"', '\\', '\n', 1,	   0x1f,
				      0x7f, 0,	 ' ',  0xc3, 0xa4, 0xff};
	char buf[100];
	struct text t = text_in(buf, sizeof(buf));

	(void)state;
	text_quotable(&t, odd, sizeof(odd), true);
	text_end(&t, sizeof(buf));
	assert_string_equal(buf, "a\\\"\\\\\\n\\x01\\x1f\\x7f\\x00 \xc3\xa4\xff");
	t = text_in(buf, sizeof(buf));
	text_quotable(&t, odd, sizeof(odd), false);
	text_end(&t, sizeof(buf));
	assert_string_equal(buf, "a\\\"\\\\\\x0a\\x01\\x1f\\x7f\\x00 \xc3\xa4\xff");
	t = text_in(buf, sizeof(buf));
	text_quotable(&t, odd, 0, true);
	assert_int_equal(text_end(&t, sizeof(buf)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_printf),
		cmocka_unit_test(what_does_not_fit_is_counted_and_cut),
		cmocka_unit_test(text_in_quotes_can_be_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
