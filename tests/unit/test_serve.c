/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask, and what a question may hold. */
#include "tests/unit/unit.h"

#include "serve/workers/guard.h"
#include "serve/workers/queue.h"
#include "serve/api/request.h"
#include "tests/unit/small_history_test.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void test_hosts(void **state)
{
	static const char *const good[] = {"127.0.0.1", "127.0.0.1:80", "localhost:65535",
					   "[::1]:1",	"localhost",	"[::1]"};
	static const char *const bad[] = {"",
					  "127.0.0.1:",
					  "127.0.0.1:123456",
					  "127.0.0.1.x",
					  "localhost.evil",
					  "localhost180",
					  "evil:80",
					  "127.0.0.1:8a",
					  "LOCALHOST",
					  "127.0.0.1:80:80",
					  "[::1",
					  " localhost"};

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(guard_host(good[i]));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(guard_host(bad[i]));
}

static void test_origins(void **state)
{
	struct guard_headers h = {.host = "localhost:8", .nr_hosts = 1};

	(void)state;
	assert_int_equal(guard_headers(&h, NULL), 0);
	h.origin = "http://localhost:8";
	assert_int_equal(guard_headers(&h, NULL), 0);
	h.origin = "http://localhost:80";
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.origin = "null";
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.origin = "file://localhost:8"; /* as long a scheme */
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.origin = NULL;
	h.fetch_site = "cross-site";
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.fetch_site = "same-site"; /* another port of this machine's */
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.fetch_site = "same-origin";
	assert_int_equal(guard_headers(&h, NULL), 0);
	h.nr_hosts = 2;
	assert_int_equal(guard_headers(&h, NULL), 403);
	h = (struct guard_headers){.host = "localhost", .nr_hosts = 1, .has_body = true};
	assert_int_equal(guard_headers(&h, NULL), 413);
}

static void test_listed_origins(void **state)
{
	static const char *const good[] = {"http://localhost:3000", "https://a.example",
					   "vscode-webview://", "vscode-webview://0a1b"};
	static const char *const bad[] = {"",		"*",	      "localhost", "http://",
					  "https://",	"file://",    "http://a/", "http://a/b",
					  "http://u@a", "://x",	      "HTTP://a",  "http://a b",
					  "http://*",	"a,http://b", "http://a?b"};
	static const char *const list[] = {"http://localhost:3000", "vscode-webview://"};
	const struct guard_origins origins = {list, 2};
	struct guard_headers h = {.host = "localhost:8", .nr_hosts = 1, .has_body = true};

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(guard_origin_valid(good[i]));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(guard_origin_valid(bad[i]));
	assert_int_equal(guard_headers(&h, &origins), 0);
	h.origin = "http://localhost:3000";
	h.fetch_site = "cross-site";
	assert_int_equal(guard_headers(&h, &origins), 0);
	assert_int_equal(guard_headers(&h, NULL), 403);
	h.origin = "vscode-webview://any";
	assert_int_equal(guard_headers(&h, &origins), 0);
	h.origin = "http://localhost:30000";
	assert_int_equal(guard_headers(&h, &origins), 403);
	h.origin = "http://localhost:3000";
	h.host = "evil.example";
	assert_int_equal(guard_headers(&h, &origins), 403);
	h = (struct guard_headers){.host = "localhost", .nr_hosts = 1, .fetch_site = "cross-site"};
	assert_int_equal(guard_headers(&h, &origins), 403);
}

static void test_keys(void **state)
{
	char key[GUARD_KEY_CHARS + 1], other[GUARD_KEY_CHARS + 1];
	bool changed[GUARD_KEY_CHARS];
	char path[100];

	(void)state;
	assert_int_equal(guard_make_key(key), 0);
	assert_int_equal(strlen(key), GUARD_KEY_CHARS);
	for (unsigned i = 0; i < GUARD_KEY_CHARS; i++)
		changed[i] = false;
	/* Any of its digits is random: it stays the same 100 times with a probability of 16^-100.
	 */
	for (unsigned n = 0; n < 100; n++) {
		assert_int_equal(guard_make_key(other), 0);
		for (unsigned i = 0; i < GUARD_KEY_CHARS; i++)
			changed[i] |= other[i] != key[i];
	}
	for (unsigned i = 0; i < GUARD_KEY_CHARS; i++)
		assert_true(changed[i]);
	snprintf(path, sizeof(path), "/%s/api/x", key);
	assert_string_equal(guard_path(path, key), "api/x");
	assert_null(guard_path(path, other));
	path[GUARD_KEY_CHARS + 1] = '\0';
	assert_null(guard_path(path, key));
	assert_null(guard_path("", key));
	path[GUARD_KEY_CHARS + 1] = '/';
	for (unsigned i = 1; i <= GUARD_KEY_CHARS; i++) { /* each character counts */
		path[i] ^= 1;
		assert_null(guard_path(path, key));
		path[i] ^= 1;
	}
	assert_string_equal(guard_path(path, key), "api/x");
}

static void test_numbers(void **state)
{
	static struct request r;
	struct error err = {0};
	int64_t n = 0;

	(void)state;
	request_add(&r, "a", "12");
	request_add(&r, "b", "-3");
	request_add(&r, "c", "9223372036854775808");
	request_add(&r, "d", " 1");
	request_add(&r, "e", "1x");
	request_add(&r, "f", NULL);
	assert_int_equal(request_int(&r, "a", 0, 20, &n, &err), 0);
	assert_int_equal(n, 12);
	assert_int_equal(request_int(&r, "a", 0, 11, &n, &err), -EINVAL);
	assert_int_equal(request_int(&r, "b", -5, 0, &n, &err), 0);
	assert_int_equal(n, -3);
	for (const char *name = "cdefg"; *name; name++)
		assert_int_equal(
			request_int(&r, (char[]){*name, '\0'}, INT64_MIN, INT64_MAX, &n, &err),
			-EINVAL);
}

static void test_lists(void **state)
{
	static struct request r;
	struct error err = {0};
	uint32_t out[3];

	(void)state;
	request_add(&r, "a", "1,2,4294967295");
	request_add(&r, "b", "1,2,3,4");
	request_add(&r, "c", "1,,2");
	request_add(&r, "d", "4294967296");
	request_add(&r, "e", "");
	request_add(&r, "f", "1,-2");
	assert_int_equal(request_list(&r, "a", out, 3, &err), 3);
	assert_int_equal(out[2], UINT32_MAX);
	assert_int_equal(request_list(&r, "b", out, 3, &err), -EINVAL);
	assert_int_equal(request_list(&r, "c", out, 3, &err), -EINVAL);
	assert_int_equal(request_list(&r, "d", out, 3, &err), -EINVAL);
	assert_int_equal(request_list(&r, "e", out, 3, &err), 0);
	assert_int_equal(request_list(&r, "f", out, 3, &err), -EINVAL);
}

static void test_bounds(void **state)
{
	static struct request many, large;
	static char text[REQUEST_TEXT_MAX];

	(void)state;
	for (unsigned i = 0; i < REQUEST_PARAMS_MAX; i++)
		request_add(&many, "p", "1");
	assert_false(many.too_long);
	request_add(&many, "p", "1");
	assert_true(many.too_long);
	memset(text, 'x', sizeof(text) - 1);
	request_add(&large, "p", text);
	assert_true(large.too_long);
	assert_string_equal(request_text(&large, "p"), "");
}

/* ---- the lines questions wait in ----------------------------------------------------------- */

static sem_t let_go, begun;

/* A worker is busy with it until it is let go. */
static void hold_worker(struct job *job, const struct readers *readers)
{
	(void)readers;
	sem_post(&begun);
	sem_wait(&let_go);
	job->reply.status = 200;
}

static void answer_at_once(struct job *job, const struct readers *readers)
{
	(void)readers;
	job->reply.status = 200;
}

static atomic_uint nr_done;

static void count_done(struct job *job)
{
	(void)job;
	atomic_fetch_add(&nr_done, 1);
}

static void make_job(struct job *job, const void *question, const char *slot)
{
	*job = (struct job){.line = LINE_SLOW,
			    .answer = answer_at_once,
			    .done = count_done,
			    .question = question};
	if (slot)
		request_add(&job->request, "slot", slot);
}

/* Of a slot the newest question is answered, and all of it. */
static void test_slots(void **state)
{
	static struct job holds, old[2], newer[2], alone, other;
	struct queue *q;

	(void)state;
	assert_int_equal(sem_init(&let_go, 0, 0), 0);
	assert_int_equal(sem_init(&begun, 0, 0), 0);
	assert_int_equal(queue_open(&q, &history, 1, NULL, NULL), 0);
	make_job(&holds, NULL, "a");
	holds.answer = hold_worker;
	assert_int_equal(queue_push(q, &holds), 0);
	sem_wait(&begun); /* LINE_SLOW has one worker: the others wait */
	for (unsigned i = 0; i < 2; i++) {
		make_job(&old[i], old, "a");
		assert_int_equal(queue_push(q, &old[i]), 0);
	}
	assert_int_equal(nr_done, 0); /* its parts do not overtake each other */
	make_job(&other, NULL, "b");
	assert_int_equal(queue_push(q, &other), 0);
	for (unsigned i = 0; i < 2; i++) {
		make_job(&newer[i], newer, "a");
		assert_int_equal(queue_push(q, &newer[i]), 0);
		assert_int_equal(nr_done, 2); /* both, at the first part already */
		assert_int_equal(old[i].reply.status, 409);
	}
	make_job(&alone, NULL, "a");
	assert_int_equal(queue_push(q, &alone), 0);
	assert_int_equal(nr_done, 4);
	sem_post(&let_go);
	while (nr_done < 7)
		sched_yield();
	assert_int_equal(holds.reply.status, 200);
	assert_int_equal(other.reply.status, 200);
	assert_int_equal(alone.reply.status, 200);
	assert_int_equal(newer[0].reply.status, 409);
	assert_int_equal(newer[1].reply.status, 409);
	queue_end(q);
	queue_free(q);
	for (unsigned i = 0; i < 2; i++) {
		reply_release(&old[i].reply);
		reply_release(&newer[i].reply);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),	       cmocka_unit_test(test_origins),
		cmocka_unit_test(test_listed_origins), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_numbers),	       cmocka_unit_test(test_lists),
		cmocka_unit_test(test_bounds),	       cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
