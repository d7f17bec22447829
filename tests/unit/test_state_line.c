/* SPDX-License-Identifier: Apache-2.0 */
/* source/state_line.h: the text that sonde record writes into a trace, read back. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "source/state_line.h"

static struct state_line line;

static bool parse(const char *text)
{
	return state_line_parse(&line, text, strlen(text));
}

static void a_line_gives_its_kind_and_values(void **state)
{
	static const struct {
		const char *text;
		enum state_kind kind;
	} kinds[] = {
		{"sonde: begin version=1", STATE_BEGIN}, {"sonde: clock tsc=1", STATE_CLOCK},
		{"sonde: pidns inum=1", STATE_PIDNS},	 {"sonde: cgroup id=1", STATE_CGROUP},
		{"sonde: task tid=1", STATE_TASK},	 {"sonde: vm vm=0", STATE_VM},
		{"sonde: vcpu vm=0", STATE_VCPU},	 {"sonde: stat cpu=0", STATE_STAT},
		{"sonde: end cause=end", STATE_END},	 {"sonde: tomorrow key=1", STATE_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_true(parse(kinds[i].text));
		assert_int_equal(line.kind, kinds[i].kind);
	}
	assert_true(parse("sonde: vcpu vm=3 tid=-7 tsc_offset=-123456789012345 "
			  "tsc_ratio=18446744073709551615\n"));
	assert_int_equal(state_int(&line, "vm", -1), 3);
	assert_int_equal(state_int(&line, "tid", -1), -7);
	assert_int_equal(state_int(&line, "tsc_offset", 0), -123456789012345);
	assert_true(state_uint(&line, "tsc_ratio", 0) == UINT64_MAX);
}

static void other_text_is_no_state_line(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"sonde:",
		"sonde: ",
		"sonde:   ",
		"Sonde: begin",
		" sonde: begin",
		"hello",
		"sonde: begin version=1\nsonde: end",
	};
	char longer[STATE_LINE_BYTES + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(parse(texts[i]));
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, "sonde: task comm=", strlen("sonde: task comm="));
	assert_true(state_line_parse(&line, longer, STATE_LINE_BYTES));
	assert_false(state_line_parse(&line, longer, STATE_LINE_BYTES + 1));
}

static void what_is_malformed_is_unknown(void **state)
{
	int64_t list[3];

	(void)state;
	assert_true(parse("sonde: task tid=12a pid= ppid=99999999999999999999 =5 kthread state=R "
			  "state=S nstids=1,,2 long=1,2,3,4 end=1,"));
	assert_int_equal(state_int(&line, "tid", -1), -1);
	assert_int_equal(state_int(&line, "pid", -1), -1);
	assert_int_equal(state_int(&line, "ppid", -1), -1);
	assert_int_equal(state_int(&line, "kthread", -1), -1);
	assert_int_equal(state_list(&line, "nstids", list, 3), 0);
	assert_int_equal(state_list(&line, "long", list, 3), 0);
	assert_int_equal(state_list(&line, "end", list, 3), 0);
	assert_int_equal(state_list(&line, "missing", list, 3), 0);
	assert_true(parse("sonde: clock tsc=-1 mono=1"));
	assert_true(state_uint(&line, "tsc", 7) == 7);
}

static void of_equal_keys_the_first_counts(void **state)
{
	(void)state;
	assert_true(parse("sonde: task tid=1 tid=2"));
	assert_int_equal(state_int(&line, "tid", -1), 1);
}

/* Who writes a line into a trace may write any: there is room for so many values. */
static void values_are_bounded(void **state)
{
	struct {
		struct state_line line;
		uint8_t behind[64];
	} room = {.behind = {0}};
	char text[2000];
	size_t len = (size_t)snprintf(text, sizeof(text), "sonde: task");

	(void)state;
	for (unsigned i = 0; i < STATE_PAIRS_MAX + 8; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " key%u=%u", i, i);
	assert_true(state_line_parse(&room.line, text, len));
	assert_int_equal(room.line.nr, STATE_PAIRS_MAX);
	assert_int_equal(state_int(&room.line, "key31", -1), 31);
	assert_int_equal(state_int(&room.line, "key32", -1), -1);
	for (size_t i = 0; i < sizeof(room.behind); i++)
		assert_int_equal(room.behind[i], 0);
}

static void text_is_decoded_and_cut(void **state)
{
	char text[8];

	(void)state;
	assert_true(
		parse("sonde: task a=x%20y b=%3d%25 c=0123456789 d=50% e=%zz f= g=q%00r h=%c3%a9"));
	assert_true(state_text(&line, "a", text, sizeof(text)));
	assert_string_equal(text, "x y");
	state_text(&line, "b", text, sizeof(text));
	assert_string_equal(text, "=%");
	state_text(&line, "c", text, sizeof(text));
	assert_string_equal(text, "0123456");
	state_text(&line, "d", text, sizeof(text));
	assert_string_equal(text, "50%");
	state_text(&line, "e", text, sizeof(text));
	assert_string_equal(text, "%zz");
	assert_true(state_text(&line, "f", text, sizeof(text)));
	assert_string_equal(text, "");
	state_text(&line, "g", text, sizeof(text));
	assert_string_equal(text, "q");
	state_text(&line, "h", text, sizeof(text));
	assert_string_equal(text, "\xc3\xa9");
	assert_false(state_text(&line, "z", text, sizeof(text)));
	assert_string_equal(text, "");
}

static void a_uuid_must_say_something(void **state)
{
	static const uint8_t expected[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					     0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	uint8_t uuid[16];

	(void)state;
	assert_true(parse("sonde: vm a=01234567-89ab-cdef-0123-456789ABCDEF "
			  "b=00000000-0000-0000-0000-000000000000 "
			  "c=ffffffff-ffff-ffff-ffff-ffffffffffff d=0123 "
			  "e=01234567-89ab-cdef-0123-456789abcdef0 f=Not"));
	assert_true(state_uuid(&line, "a", uuid));
	assert_memory_equal(uuid, expected, 16);
	assert_false(state_uuid(&line, "b", uuid));
	assert_false(state_uuid(&line, "c", uuid));
	assert_false(state_uuid(&line, "d", uuid));
	assert_false(state_uuid(&line, "e", uuid));
	assert_false(state_uuid(&line, "f", uuid));
	assert_false(state_uuid(&line, "g", uuid));
}

static bool takes(struct state_block *b, const char *text, int32_t tid)
{
	assert_true(parse(text));
	return state_block_takes(b, &line, tid);
}

static void lines_count_inside_a_block_of_one_thread(void **state)
{
	struct state_block b = {0};

	(void)state;
	assert_false(takes(&b, "sonde: task tid=1", 10));
	assert_false(takes(&b, "sonde: end", 10));
	assert_true(takes(&b, "sonde: begin version=1 cause=start", 10));
	assert_int_equal(b.cause, STATE_CAUSE_START);
	assert_true(takes(&b, "sonde: task tid=1", 10));
	assert_false(takes(&b, "sonde: task tid=1", 11));
	assert_false(takes(&b, "sonde: end", 11));
	assert_true(b.open);
	assert_true(takes(&b, "sonde: end cause=start", 10));
	assert_false(takes(&b, "sonde: task tid=1", 10));
	assert_int_equal(b.ignored, 5);
	assert_true(takes(&b, "sonde: begin cause=vm", 12));
	assert_int_equal(b.cause, STATE_CAUSE_VM);
	assert_false(takes(&b, "sonde: begin version=2", 12));
	assert_false(takes(&b, "sonde: task tid=1", 12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_its_kind_and_values),
		cmocka_unit_test(other_text_is_no_state_line),
		cmocka_unit_test(what_is_malformed_is_unknown),
		cmocka_unit_test(of_equal_keys_the_first_counts),
		cmocka_unit_test(values_are_bounded),
		cmocka_unit_test(text_is_decoded_and_cut),
		cmocka_unit_test(a_uuid_must_say_something),
		cmocka_unit_test(lines_count_inside_a_block_of_one_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
