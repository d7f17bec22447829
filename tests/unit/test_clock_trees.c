/* SPDX-License-Identifier: Apache-2.0 */
/* clock/trees.h: which candidates are the history's, and why the others are not. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "clock/trees.h"
#include "events/event.h"

#define NR 6

struct world {
	struct topology_input in[NR];
	struct sample samples[NR];
	struct declared declared[NR];
	struct candidate list[NR];
	struct topology_apart apart[NR];
	unsigned order[NR];
};

/* @parents: of each candidate, "0" to "5", or '-'. */
static void make(struct world *w, const char *parents)
{
	static struct trace of_a_kernel;

	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < NR; i++) {
		struct candidate *c = &w->list[i];

		w->samples[i].trace = &of_a_kernel;
		c->in = &w->in[i];
		c->sample = &w->samples[i];
		c->declared = &w->declared[i];
		c->around = PARENT_UNKNOWN;
		c->parent = parents[i] == '-' ? PARENT_UNKNOWN : parents[i] - '0';
		memcpy(c->name, (char[]){'m', (char)('0' + i), 0}, 3);
	}
}

static int order(struct world *w, struct error *err)
{
	return trees_order(w->list, NR, w->order, w->apart, err);
}

/* Which are apart, as bits. */
static unsigned apart(struct world *w)
{
	struct error err = {0};
	unsigned bits = 0;
	int ret = order(w, &err);

	for (unsigned i = 0; i < NR; i++) {
		bits |= (unsigned)w->apart[i].apart << i;
		if (w->apart[i].apart) {
			assert_string_equal(w->apart[i].name, w->list[i].name);
			assert_true(*w->apart[i].why);
		}
	}
	assert_int_equal(ret, bits ? -EXDEV : 0);
	return bits;
}

static void one_tree_is_ordered(void **state)
{
	static const unsigned expected[NR] = {3, 0, 4, 1, 5, 2};
	struct world w;

	(void)state;
	make(&w, "301-30");
	w.list[3].parent = PARENT_UNKNOWN;
	assert_int_equal(apart(&w), 0);
	assert_int_equal(w.list[3].parent, PARENT_NONE);
	assert_string_equal(w.list[3].evidence, "it runs in none of the others");
	assert_memory_equal(w.order, expected, sizeof(expected));
}

static void the_largest_tree_is_the_runs(void **state)
{
	struct world w;

	(void)state;
	make(&w, "--1-33");
	assert_int_equal(apart(&w), 1 << 0 | 1 << 1 | 1 << 2);
	assert_non_null(strstr(w.apart[0].why, "m3"));
	assert_string_equal(w.apart[2].why, "it runs in m1, which cannot be placed");
	/* Of equals, one that ran guests; else the first. */
	make(&w, "------");
	assert_int_equal(apart(&w), 0x3e);
	make(&w, "------");
	w.samples[4].stays.nr = 0;
	assert_int_equal(stay_list_add(&w.samples[4].stays, 1, 0, 5, 6, false), 0);
	assert_int_equal(apart(&w), 0x3f & ~(1 << 4));
	free(w.samples[4].stays.list);
}

static void what_says_that_it_is_a_guest_is_not_l0(void **state)
{
	struct world w;

	(void)state;
	make(&w, "-----0");
	w.declared[0].hypervisor = true; /* though it has a guest */
	assert_int_equal(apart(&w), 0x3f & ~(1 << 1));
	assert_non_null(strstr(w.apart[0].why, "it runs in a VM, but in none"));
	/* All of them: then the largest. */
	make(&w, "-----3");
	for (unsigned i = 0; i < NR; i++)
		w.declared[i].hypervisor = true;
	assert_int_equal(apart(&w), 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4);
}

/* Else a trace of some sensor refuses those of machines beside it. */
static void what_tells_nothing_of_cpus_is_not_l0(void **state)
{
	struct event_type types[] = {{.name = "sched_switch", .kind = EV_SCHED_SWITCH}};
	struct event_type strange[] = {{.name = "quiz", .kind = EV_OTHER}};
	struct packet packets[] = {{.len_bytes = 9}};
	struct stream on_cpu[] = {{.cpu = 0, .packets = packets, .nr_packets = 1}},
		      empty[] = {{.cpu = 0}};
	struct stream nowhere[] = {{.cpu = -1, .packets = packets, .nr_packets = 1}};
	struct trace kernel = {.types = types, .nr_types = 1, .streams = on_cpu, .nr_streams = 1};
	struct trace others[] = {
		{.types = strange, .nr_types = 1, .streams = on_cpu, .nr_streams = 1},
		{.types = types, .nr_types = 1, .streams = nowhere, .nr_streams = 1},
		{.types = types, .nr_types = 1, .streams = empty, .nr_streams = 1},
	};
	struct world w;

	(void)state;
	make(&w, "------");
	for (unsigned i = 0; i < NR; i++)
		w.samples[i].trace = &others[i % 3];
	w.list[1].parent = 0; /* though it has a guest */
	w.samples[4].trace = &kernel;
	assert_int_equal(apart(&w), 0x3f & ~(1 << 4));
	/* Unless the user says so. */
	make(&w, "------");
	w.samples[4].trace = &kernel;
	w.list[2].told = true;
	w.list[2].parent = PARENT_NONE;
	assert_int_equal(apart(&w), 0x3f & ~(1 << 2));
}

static void of_equals_the_one_that_tells_most_is_l0(void **state)
{
	struct packet packets[] = {{.len_bytes = 7}, {.len_bytes = 4}, {.len_bytes = 5}};
	struct stream little[] = {{.cpu = 0, .packets = packets, .nr_packets = 1}};
	struct stream much[] = {{.cpu = 0, .packets = packets, .nr_packets = 1},
				{.cpu = 1, .packets = &packets[1], .nr_packets = 2}};
	struct trace small = {.streams = little, .nr_streams = 1};
	struct trace large = {.streams = much, .nr_streams = 2};
	struct world w;

	(void)state;
	make(&w, "------");
	for (unsigned i = 0; i < NR; i++)
		w.samples[i].trace = &small;
	w.samples[3].trace = w.samples[5].trace = &large;
	assert_int_equal(apart(&w), 0x3f & ~(1 << 3));
	assert_non_null(strstr(w.apart[0].why, "relates it to m3, which is larger. Analyse"));
	assert_non_null(strstr(w.apart[5].why, "relates it to m3. Analyse"));
	/* What ran guests goes before what is large. */
	assert_int_equal(stay_list_add(&w.samples[2].stays, 1, 0, 5, 6, false), 0);
	for (unsigned i = 0; i < NR; i++)
		w.list[i].parent = PARENT_UNKNOWN;
	memset(w.apart, 0, sizeof(w.apart));
	assert_int_equal(apart(&w), 0x3f & ~(1 << 2));
	free(w.samples[2].stays.list);
}

static void the_users_word_and_missing_machines(void **state)
{
	struct world w;

	(void)state;
	make(&w, "-0001-");
	w.list[5].told = true;
	w.list[5].parent = PARENT_NONE;
	assert_int_equal(apart(&w), 0x1f);
	make(&w, "-0001-");
	w.list[0].missing = true;
	w.list[0].parent = PARENT_UNKNOWN;
	w.in[0].parent = "lost";
	assert_int_equal(apart(&w), 0x1f);
	assert_string_equal(w.apart[0].why, "it runs in lost, of which there is no trace");
}

static void nested_guests_are_named_as_where_it_may_have_run(void **state)
{
	struct world w;

	(void)state;
	make(&w, "-0000-");
	for (int tid = 166; tid < 168; tid++) {
		assert_int_equal(stay_list_add(&w.samples[0].stays, tid, 0, 5, 6, false), 0);
		w.samples[0].stays.list[tid - 166].nested = NESTED_YES;
	}
	assert_int_equal(apart(&w), 1 << 5);
	assert_non_null(strstr(w.apart[5].why, "m0 ran nested guests in threads 166, 167"));
	/* m1 has a trace, and ran guests: those of m0's threads may be its. */
	assert_int_equal(stay_list_add(&w.samples[1].stays, 90, 0, 5, 6, false), 0);
	w.apart[5] = (struct topology_apart){0};
	assert_int_equal(apart(&w), 1 << 5);
	assert_non_null(strstr(w.apart[5].why, "nothing in the traces relates it to m0"));
	free(w.samples[0].stays.list);
	free(w.samples[1].stays.list);
}

/* L0 saw it run: its place is known, and its clock where all was read. */
static void one_that_l0_saw_run_has_a_place(void **state)
{
	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		struct clock_piece *piece = calloc(1, sizeof(*piece));
		struct world w;

		assert_non_null(piece);
		make(&w, "-0000-");
		for (unsigned i = 0; i < NR; i++)
			w.samples[i].known_until = cut && i == 5 ? 1000 : UINT64_MAX;
		w.list[5].around = 0;
		w.list[5].fit = (struct coincidence){
			.model = {.pieces = piece, .nr_pieces = 1}, .tid = 150, .events = 777};
		assert_int_equal(apart(&w), 1 << 5);
		assert_non_null(
			strstr(w.apart[5].why, "while m0 runs a nested guest in thread 150 (777 "));
		assert_ptr_equal(w.apart[5].to_l0.pieces, cut ? NULL : piece);
		assert_ptr_equal(w.list[5].fit.model.pieces, cut ? piece : NULL);
		free(piece);
	}
}

static void in_a_circle_neither_is_believed(void **state)
{
	struct error err = {0};
	struct world w;

	(void)state;
	make(&w, "10-222");
	assert_int_equal(apart(&w), 3);
	assert_non_null(strstr(w.apart[0].why, "seems to run in m1, and that one in it"));
	assert_non_null(strstr(w.apart[1].why, "seems to run in m0"));
	/* Nobody else is there. */
	make(&w, "120453");
	assert_int_equal(apart(&w), 0x3e);
	/* The user says so: that cannot be. */
	make(&w, "10-222");
	w.list[0].told = true;
	assert_int_equal(order(&w, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "--parent says that m0 runs in m1, but that one runs inside it"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_tree_is_ordered),
		cmocka_unit_test(the_largest_tree_is_the_runs),
		cmocka_unit_test(what_says_that_it_is_a_guest_is_not_l0),
		cmocka_unit_test(what_tells_nothing_of_cpus_is_not_l0),
		cmocka_unit_test(of_equals_the_one_that_tells_most_is_l0),
		cmocka_unit_test(the_users_word_and_missing_machines),
		cmocka_unit_test(nested_guests_are_named_as_where_it_may_have_run),
		cmocka_unit_test(one_that_l0_saw_run_has_a_place),
		cmocka_unit_test(in_a_circle_neither_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
