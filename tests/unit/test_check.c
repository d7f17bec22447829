/* SPDX-License-Identifier: Apache-2.0 */
/* sonde_check() of traces whose switches do not join. */
#include "tests/unit/unit.h"

#include "libsonde/holes.h"
#include "sonde/check.h"
#include "tests/unit/dat_build.h"

#include <unistd.h>

struct said {
	unsigned faults, notes;
	char last[512];
};

static void take(enum sonde_finding kind, const char *text, void *data)
{
	struct said *s = data;

	s->faults += kind == SONDE_FAULT;
	s->notes += kind == SONDE_NOTE;
	snprintf(s->last, sizeof(s->last), "%s", text);
}

/* A trace of @pages pages with six switches each, between threads 1 and 2, the third to thread
 * @last; in the first @unseen pages that one's going is left out, and 3 goes instead.  Not at the
 * border of a page: one whose threads join on neither side is another CPU's. */
static struct said check_switches(unsigned pages, unsigned unseen, int last)
{
	static const struct dat_form form = {.version = 7, .long_size = 8, .packing = "none"};
	char path[] = "/tmp/sonde-test-check-XXXXXX";
	struct pages cpu = {.form = &form};
	struct sonde_check_result result;
	struct sonde_error err = {0};
	struct said said = {0};
	struct buf file;
	int fd = mkstemp(path);

	for (unsigned i = 0; i < pages; i++) {
		page_begin(&cpu, 1000 * (i + 1));
		page_switch(&cpu, 1, 2, 1, "one");
		page_switch(&cpu, 1, 1, 2, "two");
		page_switch(&cpu, 1, 2, last, "last");
		page_switch(&cpu, 1, i < unseen ? 3 : last, 2, "two");
		page_switch(&cpu, 1, 2, 1, "one");
		page_switch(&cpu, 1, 1, 2, "two");
		page_end(&cpu);
	}
	dat_build(&form, &cpu, 1, &file);
	assert_int_equal(write(fd, file.data, file.len), file.len);
	close(fd);
	free(file.data);
	free(cpu.b.data);
	assert_int_equal(sonde_check(path, take, &said, NULL, &result, &err), 0);
	assert_int_equal(result.items, 6 * pages);
	unlink(path);
	return said;
}

static void switches_that_join_are_sound(void **state)
{
	struct said said = check_switches(5, 0, 1);

	(void)state;
	assert_int_equal(said.faults + said.notes, 0);
}

static void those_that_do_not_join_are_holes(void **state)
{
	struct said said = check_switches(50, 2, 1);

	(void)state;
	assert_int_equal(said.faults, 1);
	assert_int_equal(said.notes, 0);
	assert_non_null(strstr(said.last, "missing in 2 places"));
}

/* Nothing ever says that thread 4 goes: so it is with all of them. */
static void a_thread_that_never_goes_is_the_kernels_way(void **state)
{
	struct said said = check_switches(5, 5, 4);

	(void)state;
	assert_int_equal(said.faults, 0);
	assert_int_equal(said.notes, 1);
	assert_non_null(strstr(said.last, "5 of 30"));
}

/* Thread 4 goes as others do, but once. */
static void one_that_is_seen_to_go_leaves_a_hole(void **state)
{
	struct said said = check_switches(5, 1, 4);

	(void)state;
	assert_int_equal(said.faults, 1);
	assert_int_equal(said.notes, 0);
}

/* Found gone twice in a row it counts as mute, as it does where the trace is analysed. */
static void one_that_goes_unseen_again_is_mute(void **state)
{
	struct said said = check_switches(5, 2, 4);

	(void)state;
	assert_int_equal(said.faults, 0);
	assert_int_equal(said.notes, 1);
	assert_non_null(strstr(said.last, "2 of 30"));
}

static void go(struct holes *h, int64_t from, int64_t to)
{
	holes_take(h, &(struct event){.kind = EV_SCHED_SWITCH, .arg = {from, to}});
}

/* What is counted of a trace in which thread 4 is never seen to go, @mute times, and @lost others
 * are, but once. */
static struct holes count(unsigned mute, unsigned lost)
{
	struct holes h = {0};

	holes_begin(&h, 0);
	for (unsigned i = 0; i < mute; i++) {
		go(&h, 1, 4);
		go(&h, 3, 1);
	}
	for (unsigned i = 0; i < lost; i++) {
		go(&h, 1, 10 + i);
		go(&h, 10 + i, 1);
		go(&h, 1, 10 + i);
		go(&h, 3, 1);
	}
	holes_count(&h);
	holes_release(&h);
	assert_int_equal(h.nr + h.mute, mute + lost);
	return h;
}

/* Only a kernel that is mute more often than not may be so of all. */
static void the_kernels_way_is_its_way_when_it_prevails(void **state)
{
	(void)state;
	assert_int_equal(count(3, 2).nr, 0);
	assert_int_equal(count(2, 2).nr, 2);
	assert_int_equal(count(2, 9).nr, 9);
	assert_int_equal(count(0, 1).nr, 1);
}

/* A number that no kernel gives a thread is not the idle thread's: that one is seen to go. */
static void no_thread_is_taken_for_an_idle_one(void **state)
{
	const int64_t tid = INT64_C(1) << 32;
	struct holes h = {0};

	(void)state;
	holes_begin(&h, 0);
	go(&h, 1, 0);
	go(&h, 0, 1);
	go(&h, 1, tid);
	go(&h, 3, 1);
	holes_count(&h);
	holes_release(&h);
	assert_int_equal(h.mute, 1);
	assert_int_equal(h.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_that_join_are_sound),
		cmocka_unit_test(those_that_do_not_join_are_holes),
		cmocka_unit_test(a_thread_that_never_goes_is_the_kernels_way),
		cmocka_unit_test(one_that_is_seen_to_go_leaves_a_hole),
		cmocka_unit_test(one_that_goes_unseen_again_is_mute),
		cmocka_unit_test(the_kernels_way_is_its_way_when_it_prevails),
		cmocka_unit_test(no_thread_is_taken_for_an_idle_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
