/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces are of one kernel, by what both recorded: traces whose clocks all have one UUID, and
 * that switch threads as they say. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "clock/kin.h"

#define MS UINT64_C(1000000)
#define BEGIN (1000 * MS)
#define NR 400
#define PACKET 10u	 /* events */
#define PERIOD (20 * MS) /* 8 s in all: windows have gaps between them */
#define SHIFT MS	 /* of kernels, so that no two switch at once */
#define TRACES_MAX 16u

struct kernel {
	struct trace trace;
	struct stream stream;
	struct packet packets[NR / PACKET];
	struct event events[NR];
};

struct kernels {
	struct kernel list[TRACES_MAX];
	struct topology_input in[TRACES_MAX];
	struct declared declared[TRACES_MAX];
};

static size_t nr_read; /* events, wanted or not */

static int begin_reading(struct cursor *c, struct error *err)
{
	size_t *at = calloc(1, sizeof(*at));

	(void)err;
	assert_non_null(at);
	*at = (size_t)c->packet * PACKET;
	c->buffer = at;
	return 0;
}

static unsigned read_some(struct cursor *c, struct event *events, unsigned room)
{
	const struct kernel *k = (const struct kernel *)c->stream->reader;
	size_t *at = c->buffer;
	unsigned nr = 0;

	while (*at < (size_t)c->packet_end * PACKET && nr < room && c->records_left) {
		const struct event *e = &k->events[(*at)++];

		c->records_left--;
		nr_read++;
		if (c->wants[e->kind])
			events[nr++] = *e;
	}
	return nr;
}

static void end_reading(struct cursor *c)
{
	free(c->buffer);
}

static const struct trace_ops ops = {
	.cursor_init = begin_reading, .cursor_next = read_some, .cursor_release = end_reading};

/* Trace @i is of the kernel @of; @mute: it has other events than switches. */
static void add(struct kernels *w, unsigned i, unsigned of, bool mute)
{
	struct kernel *k = &w->list[i];

	for (unsigned n = 0; n < NR; n++) {
		struct event *e = &k->events[n];

		*e = (struct event){.kind = mute ? EV_IRQ_ENTRY : EV_SCHED_SWITCH,
				    .time.v = BEGIN + n * PERIOD + of * SHIFT,
				    .arg = {1 + n, 2 + n}};
	}
	for (unsigned n = 0; n < NR / PACKET; n++)
		k->packets[n] = (struct packet){.begin = k->events[n * PACKET].time.v,
						.end = k->events[(n + 1) * PACKET - 1].time.v,
						.len_bytes = PACKET * 40};
	k->stream = (struct stream){
		.trace = &k->trace, .packets = k->packets, .nr_packets = NR / PACKET, .reader = k};
	k->trace = (struct trace){.ops = &ops,
				  .streams = &k->stream,
				  .nr_streams = 1,
				  .nr_cpus = 1,
				  .len_bytes = NR * 40,
				  .clock = {.kind = CLOCK_MONO, .uuid = {7}}};
	w->in[i].trace = &k->trace;
}

static struct kernels *make(unsigned nr)
{
	struct kernels *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	for (unsigned i = 0; i < nr; i++)
		add(w, i, i, false);
	return w;
}

static struct kin find(struct kernels *w, unsigned nr)
{
	struct kin kin;

	assert_int_equal(kin_find(&kin, w->in, w->declared, nr), 0);
	return kin;
}

static void switches_say_who_is_one(void **state)
{
	struct kernels *w = make(3);
	struct kin kin;

	(void)state;
	add(w, 2, 0, false);
	kin = find(w, 3);
	assert_false(kin_share_clock(&kin, 0, 1));
	assert_true(kin.list[1].refuted);
	assert_int_equal(kin.list[1].not_of, 0);
	assert_true(kin_borne_out(&kin, 0, 2));
	kin_release(&kin);
	free(w);
}

/* Who has no switches contradicts nobody; nothing bears it out either. */
static void who_has_no_switches_contradicts_nothing(void **state)
{
	struct kernels *w = make(2);
	struct kin kin;

	(void)state;
	add(w, 1, 1, true);
	kin = find(w, 2);
	assert_true(kin_share_clock(&kin, 0, 1));
	assert_false(kin_borne_out(&kin, 0, 1));
	kin_release(&kin);
	free(w);
}

/* Only the first @nr events of a trace are switches. */
static void keep_switches(struct kernel *k, unsigned nr)
{
	for (unsigned n = nr; n < NR; n++)
		k->events[n].kind = EV_IRQ_ENTRY;
}

/* Fewer switches than five say nothing, for or against. */
static void few_switches_say_nothing(void **state)
{
	(void)state;
	for (unsigned nr = 4; nr <= 6; nr++) {
		struct kernels *w = make(3);
		struct kin kin;

		add(w, 2, 0, false);
		keep_switches(&w->list[0], nr);
		kin = find(w, 3);
		/* The first one is before the other kernel's, and contradicts nothing. */
		assert_true(kin.list[1].refuted == (nr > 5));
		assert_true(kin_borne_out(&kin, 0, 2) == (nr >= 5));
		kin_release(&kin);
		free(w);
	}
}

/* Two VMs of one host, as the recorder knows. */
static void two_processes_are_two_kernels(void **state)
{
	struct kernels *w = make(2);
	struct kin kin;

	(void)state;
	add(w, 1, 0, false);
	for (unsigned i = 0; i < 2; i++) {
		w->in[i].parent = "iron";
		w->in[i].vm_pid = 7 + (int)i;
	}
	kin = find(w, 2);
	assert_false(kin_share_clock(&kin, 0, 1));
	kin_release(&kin);
	w->in[1].vm_pid = 7;
	kin = find(w, 2);
	assert_true(kin_share_clock(&kin, 0, 1));
	kin_release(&kin);
	free(w);
}

/* Each kernel that a trace claims costs reading both: who claims so many has none. */
static void claims_are_bounded(void **state)
{
	(void)state;
	for (unsigned others = 7; others <= 8; others++) {
		struct kernels *w = make(others + 2);
		struct kin kin;

		add(w, others + 1, others, false);
		kin = find(w, others + 2);
		assert_true(kin_share_clock(&kin, others, others + 1) == (others < 8));
		kin_release(&kin);
		free(w);
	}
}

/* As add(), of kernel 0, a switch each us; each comes so many of them early. */
static void add_dense(struct kernels *w, unsigned i, unsigned early)
{
	add(w, i, 0, false);
	for (unsigned n = 0; n < NR; n++) {
		struct event *e = &w->list[i].events[n];

		e->time.v = BEGIN + n * MS / 1000;
		e->arg[0] = 1 + (n + early) % NR;
		e->arg[1] = 1 + e->arg[0];
	}
	for (unsigned n = 0; n < NR / PACKET; n++) {
		struct packet *p = &w->list[i].packets[n];

		p->begin = w->list[i].events[n * PACKET].time.v;
		p->end = w->list[i].events[(n + 1) * PACKET - 1].time.v;
	}
}

/* Each switch costs the same, however many there are at once. */
static void neighbours_are_bounded(void **state)
{
	(void)state;
	for (unsigned early = 50; early <= 100; early += 50) {
		struct kernels *w = make(2);
		struct kin kin;

		add_dense(w, 0, 0);
		add_dense(w, 1, early);
		kin = find(w, 2);
		assert_true(kin_share_clock(&kin, 0, 1));
		assert_true(kin_borne_out(&kin, 0, 1) == (early == 50));
		kin_release(&kin);
		free(w);
	}
}

/* What only one of them recorded is not read: it would cost, and tell nothing. */
static void a_short_common_time_is_read_alone(void **state)
{
	struct kernels *w = make(2);
	struct kin kin;

	(void)state;
	add_dense(w, 0, 0);
	add(w, 1, 0, false);
	nr_read = 0;
	kin = find(w, 2);
	assert_int_equal(nr_read, NR + PACKET);
	kin_release(&kin);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_say_who_is_one),
		cmocka_unit_test(who_has_no_switches_contradicts_nothing),
		cmocka_unit_test(few_switches_say_nothing),
		cmocka_unit_test(a_short_common_time_is_read_alone),
		cmocka_unit_test(two_processes_are_two_kernels),
		cmocka_unit_test(claims_are_bounded),
		cmocka_unit_test(neighbours_are_bounded),
	};

	return cmocka_run_group_tests_name("clock_kin", tests, NULL, NULL);
}
