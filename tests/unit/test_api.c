/* SPDX-License-Identifier: Apache-2.0 */
/* What the page asks, without HTTP: the words of a URL, and those of the answer, on the history of
 * small_history.h.  Times in both are ns from its begin, 1000000. */
#include "tests/unit/unit.h"

#include "serve/api/api.h"
#include "tests/unit/small_history_test.h"

#include <stdio.h>
#include <string.h>

/* "at?kind=cpu&row=0": the answer, the caller's to reply_release(). */
static void ask(const char *url, struct reply *reply)
{
	static struct request request;
	struct kept kept = {0};
	char text[400];
	char *rest = text;
	const char *name;

	request = (struct request){0};
	*reply = (struct reply){0};
	snprintf(text, sizeof(text), "%s", url);
	name = strsep(&rest, "?");
	request_name(&request, name);
	for (char *pair; (pair = strsep(&rest, "&"));) {
		const char *key = strsep(&pair, "=");

		request_add(&request, key, pair);
	}
	assert_non_null(endpoint_find(name));
	endpoint_answer(endpoint_find(name), history, &kept, path, &request, reply);
	kept_release(&kept);
}

/* Where its lines break is no part of what it says. */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != ' ' && *text != '\n')
			*to++ = *text;
	}
	*to = '\0';
}

static void assert_says(const char *url, unsigned status, const char *words)
{
	struct reply reply;
	char *text, wanted[300];

	ask(url, &reply);
	text = strndup(reply.body, reply.len_bytes);
	assert_non_null(text);
	snprintf(wanted, sizeof(wanted), "%s", words);
	squeeze(wanted);
	squeeze(text);
	if (reply.status != status || !strstr(text, wanted)) {
		print_error("%s: %u %s, not %u %s\n", url, reply.status, text, status, wanted);
		assert_true(false);
	}
	free(text);
	reply_release(&reply);
}

static void test_moments(void **state)
{
	static const struct {
		const char *url, *words;
	} want[] = {
		{"at?kind=cpu&row=0&t=0", "\"begin\": 0, \"end\": 100000, \"context\": 0,"},
		{"at?kind=cpu&row=0&t=150000",
		 "{\"machine\": 1, \"cpu\": 0, \"thread\": {\"row\": 6, \"label\": \"app[60]\"}"},
		{"at?kind=cpu&row=0&t=500000",
		 "{\"machine\": 3, \"cpu\": 0, \"thread\": {\"row\": 7, \"label\": "
		 "\"\\u001b[31mtask<&>[7]\"}"},
		{"at?kind=cpu&row=1&t=499999", "{\"row\": null, \"label\": \"unknown\"}"},
		{"at?kind=vcpu&row=2&t=120000", "\"begin\": 100000, \"end\": 300000,"},
		{"at?kind=vcpu&row=2&t=350000",
		 "\"instead\": {\"row\": 4, \"label\": \"burn[300]\"}, \"instead_machine\": 0"},
		{"at?kind=thread&row=4&t=310000", "\"label\": \"burn:[4026532324]\""},
		{"at?kind=thread&row=4&t=310000",
		 "\"woken\": {\"t\": 250000, \"by\": {\"row\": 2, \"label\": "
		 "\"CPU 0/KVM[100]=vm-a/0\"}"},
		{"time?text=0.0015", "{\"t\": 500000}"},
		{"contexts?first=0&nr=1", "[[0, 0, 0, 1, -1, \"\"]]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_says(want[i].url, 200, want[i].words);
}

static void test_steps(void **state)
{
	static const struct {
		const char *rest;
		int64_t t; /* -1: there is none */
	} want[] = {
		{"t=0", 100000},
		{"t=100000", 150000},
		{"t=150000&back=1", 100000},
		{"t=0&thread=4", 300000},
		{"t=300000&thread=4", 720000},
		{"t=0&value=1234", -1},
		{"t=999999", -1},
	};
	uint32_t attr = sonde_attr_of_cpu(history, 0, "runs");
	char url[100], words[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		snprintf(url, sizeof(url), "step?attr=%u&%s", attr, want[i].rest);
		if (want[i].t < 0)
			snprintf(words, sizeof(words), "{\"t\": null}");
		else
			snprintf(words, sizeof(words), "{\"t\": %d}", (int)want[i].t);
		assert_says(url, 200, words);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *url, *words;
		unsigned status;
	} want[] = {
		{"at?kind=gpu&row=0&t=0", "kind is none of cpu, vcpu, thread", 400},
		{"at?kind=cpu&row=0&t=1000000", "t is not between 0 and 999999", 400},
		{"at?kind=cpu&row=2&t=0", "nothing is known of this row then", 400},
		{"at?kind=cpu&t=0", "row is missing", 400},
		{"step?attr=99999&t=0", "attr is not between", 400},
		{"time?text=soon", "is no time", 400},
		{"time", "text is missing", 400},
		{"table?name=nosuch&begin=0&end=9&max=9", "there is no table \\\"nosuch\\\"", 404},
		{"table?begin=0&end=9&max=9", "name is missing", 400},
		{"table?name=why&begin=-9&end=-1&max=9", "lies outside of the history", 400},
		{"table?name=why&begin=9&end=9&max=9", "end is not after begin", 400},
		{"path?thread=8&begin=0&end=9&max=9", "thread is not between 0 and 7", 400},
		{"changes?attrs=1,x&begin=0&end=9", "attrs is no list of numbers", 400},
		{"load?begin=0&end=9", "nr is missing", 400},
		{"arrows?begin=0&end=9&threads=4", "max is missing", 400},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_says(want[i].url, want[i].status, want[i].words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
