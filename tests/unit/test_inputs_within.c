/* SPDX-License-Identifier: Apache-2.0 */
/* What guests sent, among the inputs of a history: what is there twice, and whose calls a file has.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libsonde/inputs/inputs_within.h"

static void keep(struct trace *t)
{
	(void)t; /* it is made of nothing */
}

static const struct trace_ops ops = {.release = keep};

static struct trace *add(struct inputs *in, enum trace_format format, const char *path)
{
	struct trace *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->ops = &ops;
	t->format = format;
	assert_int_equal(trace_set_paths(t, &path, 1), 0);
	in->traces = reallocarray(in->traces, in->nr_traces + 1, sizeof(struct trace *));
	assert_non_null(in->traces);
	in->traces[in->nr_traces++] = t;
	return t;
}

static void add_machine(struct inputs *in, struct trace *t, int parent, int32_t host_tid)
{
	struct machine *m = &in->topology.machines[in->topology.nr_machines++];

	m->trace = t;
	m->parent = parent;
	m->vcpus = calloc(1, sizeof(*m->vcpus));
	assert_non_null(m->vcpus);
	m->vcpus[0].host_tid = host_tid;
	m->nr_vcpus = 1;
}

/* Two guests have been sent and recorded; what was sent stands first, so it is looked at again. */
static void test_doubles(void **state)
{
	struct inputs in = {.threads = 1};
	struct problems problems = {0};
	struct trace *host, *own_a, *own_b, *sent_a, *sent_b;

	(void)state;
	host = add(&in, TRACE_DAT, "/h/trace.dat");
	sent_a = add(&in, TRACE_HYPER, "/h/a");
	own_a = add(&in, TRACE_DAT, "/a/trace.dat");
	sent_b = add(&in, TRACE_HYPER, "/h/b");
	own_b = add(&in, TRACE_DAT, "/b/trace.dat");
	in.topology.machines = calloc(5, sizeof(struct machine));
	in.origins = calloc(2, sizeof(*in.origins));
	assert_non_null(in.topology.machines);
	assert_non_null(in.origins);
	add_machine(&in, host, -1, 1);
	add_machine(&in, sent_a, 0, 10);
	add_machine(&in, own_a, 0, 10);
	add_machine(&in, sent_b, 0, 20);
	add_machine(&in, own_b, 0, 20);
	in.origins[0].trace = sent_a;
	in.origins[1].trace = sent_b;
	in.nr_origins = 2;
	assert_int_equal(inputs_drop_doubles(&in, &problems), 1);
	assert_int_equal(problems.nr, 2);
	assert_int_equal(in.topology.nr_machines, 0);
	assert_int_equal(in.nr_traces, 3);
	assert_ptr_equal(in.traces[0], host);
	assert_ptr_equal(in.traces[1], own_a);
	assert_ptr_equal(in.traces[2], own_b);
	assert_null(in.origins[0].trace);
	assert_null(in.origins[1].trace);
	assert_int_equal(inputs_drop_doubles(&in, &problems), 0);
	problems_release(&problems);
	inputs_release(&in);
}

/* What one VM sent on two ways counts once; what two of its kernels sent, one after the other, does
 * not count as that, and what another VM sent is another's. */
static void test_sent_twice(void **state)
{
	static const uint64_t begins[][2] = {
		{0, 0}, {100, 200}, {150, 250}, {300, 400}, {100, 200}};
	struct packet packets[5][2] = {0};
	struct stream streams[5] = {0};
	struct inputs in = {.threads = 1};
	struct problems problems = {0};
	struct trace *traces[5];

	(void)state;
	in.topology.machines = calloc(5, sizeof(struct machine));
	assert_non_null(in.topology.machines);
	for (unsigned i = 0; i < 5; i++) {
		traces[i] = add(&in, i ? TRACE_HYPER : TRACE_DAT, "/sent");
		packets[i][0].begin = begins[i][0];
		packets[i][1].begin = begins[i][1];
		streams[i] = (struct stream){.packets = packets[i], .nr_packets = 2};
		traces[i]->streams = &streams[i];
		traces[i]->nr_streams = 1;
		add_machine(&in, traces[i], i ? 0 : -1, (int)i + 1);
		in.topology.machines[i].vm_pid = i == 4 ? 78 : 77;
	}
	assert_int_equal(inputs_drop_doubles(&in, &problems), 1);
	assert_int_equal(problems.nr, 1);
	assert_non_null(strstr(problems.list[0].text, "1 of the second one's 2 packets are"));
	assert_int_equal(in.nr_traces, 4);
	assert_ptr_equal(in.traces[1], traces[1]);
	assert_ptr_equal(in.traces[2], traces[3]);
	assert_ptr_equal(in.traces[3], traces[4]);
	for (unsigned i = 0; i < in.nr_traces; i++)
		in.traces[i]->nr_streams = 0;
	problems_release(&problems);
	inputs_release(&in);
}

/* A file of calls beside two traces may be of either: it joins none, and that is said. */
static void test_two_hosts(void **state)
{
	struct inputs in = {.threads = 1};
	struct error err = {0};

	(void)state;
	add(&in, TRACE_DAT, "/h/one.dat");
	add(&in, TRACE_FOLDED, "/h/hypercalls");
	add(&in, TRACE_DAT, "/h/two.dat");
	assert_int_equal(inputs_attach_folded(&in, NULL, &err), 0);
	assert_int_equal(in.nr_traces, 2);
	assert_int_equal(in.topology.problems.nr, 1);
	assert_non_null(strstr(in.topology.problems.list[0].text, "one.dat and /h/two.dat stand"));
	inputs_release(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_sent_twice),
		cmocka_unit_test(test_two_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
