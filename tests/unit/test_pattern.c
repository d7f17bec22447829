/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of serve/: by a table, and against the C library's on random ones. */
#include "tests/unit/unit.h"

#include "serve/tsp/pattern.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define wrong(...) (print_error(__VA_ARGS__), print_error("\n"), assert_true(false))

static bool found(const char *expression, const char *text)
{
	struct pattern p;
	struct error err;
	uint64_t cost = 0;

	assert_int_equal(pattern_parse(&p, expression, &err), 0);
	return pattern_found(&p, text, &cost);
}

static void what_matches(void **state)
{
	static const struct {
		const char *expression, *in, *not_in; /* NULL: none to try */
	} cases[] = {
		{"", "", NULL},
		{"sched_switch", "a sched_switch b", "SCHED_SWITCH"},
		{"^kvm_(entry|exit)$", "kvm_exit", "kvm_exits"},
		{"a.c", "xabcx", "ac"},
		{"a\\.c", "a.c", "abc"},
		{"[a-c]+-[^0-9]", "abc-x", "abc-1"},
		{"[]", NULL, "x"},
		{"[^]", "x", ""},
		{"[\\]\\-x]y", "-y", "\\y"},
		{"[a-]z", "-z", "bz"},
		{"tid=\\d{3,4}\\b", "tid=1234 ", "tid=12345"},
		{"^\\d{2}$", "12", "123"},
		{"^(ab){2,}$", "ababab", "ab"},
		{"^a{0,2}$", "aa", "aaa"},
		{"^(?:a|b|cd)*?$", "abcdab", "abc"},
		{"x{", "x{", "x"},
		{"a{b}", "a{b}", "ab"},
		{"\\bcpu\\b", "on cpu 1", "cpus"},
		{"\\Bpu", "cpu", "pu"},
		{"\\w\\W\\s\\S\\D", "a, xy", "a,  5"},
		{"(a*)*$", "b", NULL},
		{"()*x", "x", "y"},
		{"a||b", "", NULL},
		{"^\\^\\$$", "^$", "^^"},
		{"\xc3\xa9", "caf\xc3\xa9", "cafe"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].in && !found(cases[i].expression, cases[i].in))
			wrong("%s is not found in %s", cases[i].expression, cases[i].in);
		if (cases[i].not_in && found(cases[i].expression, cases[i].not_in))
			wrong("%s is found in %s", cases[i].expression, cases[i].not_in);
	}
}

static void what_is_refused(void **state)
{
	static const char *const cases[] = {
		"(",	 ")",	    "a)b",    "[",	"[a-",		"[b-a]", "[\\d-z]",
		"*",	 "a**",	    "a{101}", "a{2,1}", "\\",		"\\q",	 "\\1",
		"(?=a)", "(?<n>a)", "a{0}",   "a{0,0}", "(a{100}){100}"};
	char deep[200] = "", many[200] = "";
	struct pattern p;
	struct error err;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		if (pattern_parse(&p, cases[i], &err) != -EINVAL)
			wrong("%s is not refused", cases[i]);
	}
	memset(deep, '(', 100);
	memset(deep + 100, ')', 99);
	assert_int_equal(pattern_parse(&p, deep, &err), -EINVAL);
	memset(many, '.', 100);
	assert_int_equal(pattern_parse(&p, many, &err), -EINVAL);
	for (unsigned i = 0; i < 80; i++)
		memcpy(many + 2 * i, "\\d", 2);
	assert_int_equal(pattern_parse(&p, many, &err), -EINVAL);
}

/* What takes others the age of the universe. */
static void cost_is_bounded(void **state)
{
	static const char *const cases[] = {"(a*)*b", "(a|a)*b", "(a|b)*a(a|b){60}c", "((a+)+)+b"};
	struct pattern p;
	struct error err;
	char text[401];

	(void)state;
	memset(text, 'a', 400);
	text[400] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t cost = 0;

		assert_int_equal(pattern_parse(&p, cases[i], &err), 0);
		assert_false(pattern_found(&p, text, &cost));
		assert_in_range(cost, 400, 2 * 401 * PATTERN_STEPS_MAX);
	}
}

/* ---- random ones --------------------------------------------------------------------------- */

/* Appends an expression that both know, and understand alike. */
static void make(char *out, unsigned depth)
{
	static const char *const parts[] = {"a", "b", ".", "[ab]", "[^a]", "c", "^", "$"};
	static const char *const times[] = {"",	 "",	"",	 "*",	  "+",
					    "?", "{2}", "{1,3}", "{0,2}", "{2,}"};
	unsigned nr = 1 + (unsigned)random() % 3;

	for (unsigned i = 0; i < nr; i++) {
		bool group = depth && random() % 3 == 0;
		unsigned part = (unsigned)random() % (depth == 2 && !i ? 8 : 6);

		if (group) {
			strcat(out, "(");
			make(out, depth - 1);
			strcat(out, random() % 2 ? "|" : ")(");
			make(out, depth - 1);
			strcat(out, ")");
		} else {
			strcat(out, parts[part]);
		}
		if (group || part < 6)
			strcat(out, times[(unsigned)random() % ARRAY_SIZE(times)]);
	}
}

static void as_others(void **state)
{
	unsigned nr_found = 0, nr = 0;

	(void)state;
	srandom(7);
	for (unsigned i = 0; i < 4000; i++) {
		char expression[1000] = "";
		struct pattern p;
		struct error err;
		regex_t other;

		make(expression, 2);
		if (pattern_parse(&p, expression, &err))
			continue; /* too long */
		assert_int_equal(regcomp(&other, expression, REG_EXTENDED | REG_NOSUB), 0);
		for (unsigned k = 0; k < 20; k++, nr++) {
			char text[12] = "";
			unsigned len = (unsigned)random() % 11;
			uint64_t cost = 0;
			bool got, want;

			for (unsigned n = 0; n < len; n++)
				text[n] = (char)('a' + random() % 3);
			got = pattern_found(&p, text, &cost);
			want = !regexec(&other, text, 0, NULL, 0);
			if (got != want)
				wrong("%s in \"%s\": %d, not %d", expression, text, got, want);
			nr_found += got;
		}
		regfree(&other);
	}
	assert_in_range(nr_found, nr / 10, nr - nr / 10);
}

/* Whatever bytes come: no more than what there is is read. */
static void any_bytes(void **state)
{
	static const char letters[] = "ab\\[]()^$*+?{}|,.-1dwsB:\xff";
	unsigned nr_good = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		char expression[24];
		unsigned len = (unsigned)random() % sizeof(expression);
		struct pattern p;
		struct error err;
		uint64_t cost = 0;

		for (unsigned k = 0; k < len; k++)
			expression[k] = letters[(unsigned)random() % (sizeof(letters) - 1)];
		expression[len ? len - 1 : 0] = '\0';
		if (pattern_parse(&p, expression, &err))
			continue;
		nr_good++;
		pattern_found(&p, "ab-1 (a) {b}", &cost);
		assert_in_range(cost, 1, 2 * 13 * PATTERN_STEPS_MAX);
	}
	assert_in_range(nr_good, 1000, 99000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_matches),	   cmocka_unit_test(what_is_refused),
		cmocka_unit_test(cost_is_bounded), cmocka_unit_test(as_others),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
