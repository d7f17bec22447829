/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: parsing, masks, what is said about mistakes. */
#include "tests/unit/unit.h"

#include "cmd/common/options.h"

#include <errno.h>

struct values {
	bool flag;
	unsigned count;
	const char *text;
	uint64_t number;
	struct text_list list;
	const char *choice;
	const char *masked;
};

#define FIELD(field) offsetof(struct values, field)

static const struct option_row rows[] = {
	{'f', "flag", OPTION_FLAG, FIELD(flag), NULL, NULL, "", 0},
	{'v', "count", OPTION_COUNT, FIELD(count), NULL, NULL, "", 0},
	{'t', "text", OPTION_TEXT, FIELD(text), "T", NULL, "", 0},
	{0, "number", OPTION_NUMBER, FIELD(number), "N", NULL, "", 0},
	{'j', "threads", OPTION_THREADS, FIELD(number), "N", NULL, "", 0},
	{'l', "list", OPTION_LIST, FIELD(list), "L", NULL, "", 0},
	{0, "choice", OPTION_CHOICE, FIELD(choice), "C", "auto|never", "", 0},
	{0, "masked", OPTION_TEXT, FIELD(masked), "M", NULL, "", COMMON_TIME},
};

static char problem[OPTION_PROBLEM];

/* The index of the first operand, or the error; @words end with NULL. */
static int parse(struct values *values, unsigned mask, const char *const *words, char **argv)
{
	struct option_set set = {rows, ARRAY_SIZE(rows), mask, values};
	int argc = 0;

	memset(values, 0, sizeof(*values));
	problem[0] = '\0';
	for (argv[argc++] = (char *)"test"; *words; words++)
		argv[argc++] = (char *)*words;
	argv[argc] = NULL;
	return options_parse(&set, 1, argc, argv, problem);
}

#define PARSE(values, mask, argv, ...)                                                             \
	parse(values, mask, (const char *const[]){__VA_ARGS__, NULL}, argv)

static void release(struct values *values)
{
	struct option_set set = {rows, ARRAY_SIZE(rows), 0, values};

	options_release(&set);
}

static void every_kind(void **state)
{
	struct values v;
	char *argv[16];

	(void)state;
	assert_int_equal(PARSE(&v, 0, argv, "-f", "-vv", "--count", "-tx", "--number=0x10", "-l",
			       "a", "--list=b", "--choice", "never"),
			 11);
	assert_true(v.flag);
	assert_int_equal(v.count, 3);
	assert_string_equal(v.text, "x");
	assert_int_equal(v.number, 16);
	assert_int_equal(v.list.nr, 2);
	assert_string_equal(v.list.items[1], "b");
	assert_string_equal(v.choice, "never");
	release(&v);
}

static void operands_may_stand_anywhere(void **state)
{
	struct values v;
	char *argv[16];
	int first = PARSE(&v, 0, argv, "one", "-f", "two", "--", "-v");

	(void)state;
	assert_string_equal(argv[first], "one");
	assert_string_equal(argv[first + 1], "two");
	assert_string_equal(argv[first + 2], "-v");
	assert_true(v.flag);
	assert_int_equal(v.count, 0);
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *word, *next, *says;
	} cases[] = {
		{"--nonsense", NULL, "unknown option --nonsense"},
		{"-z", NULL, "unknown option -z"},
		{"--text", NULL, "a value is missing after --text"},
		{"-t", NULL, "a value is missing after -t"},
		{"--number", "ten", "--number: \"ten\" is not a number"},
		{"--number", "0", "--number: a number from 1 on is expected"},
		{"--number", "-1", "--number: \"-1\" is not a number"},
		{"--number", "99999999999999999999", "is not a number"},
		{"--threads", "0", "--threads: a number from 1 on is expected"},
		{"--threads", "8193", "--threads: at most 8192 are possible"},
		{"--choice", "aut", "--choice: \"aut\" is not one of auto|never"},
		{"--masked", "x", "unknown option --masked"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct values v;
		char *argv[16];

		assert_int_equal(PARSE(&v, 0, argv, cases[i].word, cases[i].next), -EINVAL);
		if (!strstr(problem, cases[i].says))
			print_error("%s: %s\n", cases[i].word, problem);
		assert_non_null(strstr(problem, cases[i].says));
	}
}

static void a_mask_lets_an_option_in(void **state)
{
	struct values v;
	char *argv[16];

	(void)state;
	assert_int_equal(PARSE(&v, COMMON_TIME, argv, "--masked", "x"), 3);
	assert_string_equal(v.masked, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind),
		cmocka_unit_test(operands_may_stand_anywhere),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(a_mask_lets_an_option_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
