/* SPDX-License-Identifier: Apache-2.0 */
/* On whose thread a vCPU runs is the host's word: what a trace of a guest claims is put to the test
 * by its events, and what two claim is neither's, but for what the recorder knows. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "clock/homes.h"
#include "clock/kin.h"

#define TID 100
#define PERIOD 1000
#define INSIDE 600 /* of each period the thread runs its guest so long */
#define VMS_MAX 5

struct world {
	unsigned nr_vms;
	struct trace traces[1 + VMS_MAX];
	struct sample samples[1 + VMS_MAX];
	struct tick_list events;
	struct declared declared[1 + VMS_MAX];
	struct declared_vm vm;
	struct declared_vcpu vcpu;
	struct topology_input in[1 + VMS_MAX];
	struct kinship kinship[1 + VMS_MAX];
	struct kin kin;
	struct candidate candidates[1 + VMS_MAX];
	struct machine machines[1 + VMS_MAX];
	struct vcpu_hint hints[1 + VMS_MAX];
	struct placed placed[1 + VMS_MAX];
	struct clock_piece same;
};

/* A host, [0], and VMs that each claim its thread; their clocks are the host's. */
static void make(struct world *w, unsigned nr_vms)
{
	memset(w, 0, sizeof(*w));
	w->nr_vms = nr_vms;
	w->same = (struct clock_piece){.mult = UINT64_C(1) << CLOCK_SHIFT};
	w->vm = (struct declared_vm){.pid = 7};
	w->vcpu = (struct declared_vcpu){.tid = TID};
	w->declared[0].vms.list = &w->vm;
	w->declared[0].vcpus.list = &w->vcpu;
	w->declared[0].vms.nr = w->declared[0].vcpus.nr = 1;
	assert_int_equal(map_put(&w->declared[0].by_thread, TID, 0), 0);
	w->kin = (struct kin){.list = w->kinship, .nr = 1 + nr_vms};
	for (unsigned i = 0; i <= nr_vms; i++) {
		w->traces[i].clock.kind = CLOCK_TSC;
		w->samples[i].trace = w->in[i].trace = &w->traces[i];
		w->kinship[i].kernel = i;
		w->candidates[i] = (struct candidate){.in = &w->in[i],
						      .sample = &w->samples[i],
						      .kin = &w->kin,
						      .index = i,
						      .declared = &w->declared[i]};
		w->hints[i].host_tid = TID;
		w->machines[i].to_parent = (struct clock_model){.pieces = &w->same, .nr_pieces = 1};
		snprintf(w->machines[i].name, sizeof(w->machines[i].name), "machine-%u", i);
		w->placed[i] =
			(struct placed){.machine = &w->machines[i], .candidate = &w->candidates[i]};
		if (!i)
			continue;
		w->machines[i].vcpus = &w->hints[i];
		w->machines[i].nr_vcpus = 1;
		w->placed[i].parent = w->placed[i].l0 = &w->placed[0];
	}
}

static void unmake(struct world *w)
{
	map_release(&w->declared[0].by_thread);
	free(w->samples[0].stays.list);
	free(w->events.list);
}

/* ---- one claims a thread ---- */

/* Of @all events @outside are where the thread ran no guest; whether the claim is refuted. */
static bool test(unsigned all, unsigned outside)
{
	struct world w;
	bool refuted;

	make(&w, 2);
	for (uint64_t i = 1; i <= all; i++) {
		uint64_t *t = sample_add(&w.events);

		assert_non_null(t);
		*t = i * PERIOD + (i <= outside ? INSIDE + 100 : INSIDE / 2);
		assert_int_equal(stay_list_add(&w.samples[0].stays, TID, 0, i * PERIOD,
					       i * PERIOD + INSIDE, false),
				 0);
	}
	w.samples[0].end = (all + 2) * PERIOD;
	sample_settle(&w.samples[0]);
	w.samples[1].events = &w.events;
	w.samples[1].nr_cpus = 1;
	assert_int_equal(homes_test(&w.placed[1], &refuted), 0);
	assert_int_equal(w.machines[1].nr_vcpus, refuted ? 0 : 1);
	unmake(&w);
	return refuted;
}

static void events_must_be_where_the_thread_ran_a_guest(void **state)
{
	(void)state;
	assert_false(test(1000, 0));
	assert_false(test(1000, 100));
	assert_true(test(1000, 101));
	assert_true(test(1000, 1000));
	/* So few tell nothing; of the last, behind all stays, it is not known anyway. */
	assert_true(test(101, 101));
	assert_false(test(100, 100));
}

/* ---- two do ---- */

/* Who has it in the end, bit by bit from 1 << 1 on. */
static unsigned settle(struct world *w, unsigned problems)
{
	struct topology t = {0};
	unsigned have = 0;

	assert_int_equal(homes_settle(&t, w->placed, 1 + w->nr_vms), 0);
	assert_int_equal(t.problems.nr, problems);
	for (unsigned i = 1; i <= w->nr_vms; i++)
		have |= (unsigned)(w->machines[i].nr_vcpus > 0) << i;
	problems_release(&t.problems);
	unmake(w);
	return have;
}

/* Of which machines the recorder knows that they are the thread's process. */
static void the_recorders_word_settles_it(void **state)
{
	/* nobody's; of the first; of the second; of both */
	static const unsigned whose[] = {0, 1 << 1, 1 << 2, 0};

	(void)state;
	for (unsigned known = 0; known < ARRAY_SIZE(whose); known++) {
		struct world w;

		make(&w, 2);
		w.in[1].vm_pid = known & 1 ? 7 : 0;
		w.in[2].vm_pid = known & 2 ? 7 : 8;
		assert_int_equal(settle(&w, 1), whose[known]);
	}
}

/* Where both have it, and nobody says that they are two. */
static void traces_of_one_kernel_share_it(void **state)
{
	struct world w;

	(void)state;
	make(&w, 2);
	w.kinship[1].claims = w.kinship[2].claims = true;
	w.kinship[2].kernel = 1;
	assert_int_equal(settle(&w, 0), 1 << 1 | 1 << 2);
	/* Their word is all that there is of clocks that cannot be compared. */
	make(&w, 2);
	w.traces[2].clock.kind = CLOCK_MONO;
	snprintf(w.declared[1].boot_id, sizeof(w.declared[1].boot_id), "b00t");
	snprintf(w.declared[2].boot_id, sizeof(w.declared[2].boot_id), "b00t");
	assert_int_equal(settle(&w, 0), 1 << 1 | 1 << 2);
}

/* One says that it is the other's kernel, and what both recorded says that it lies. */
static void a_claim_that_events_refute_shares_nothing(void **state)
{
	struct world w;

	(void)state;
	make(&w, 2);
	w.kinship[1].claims = w.kinship[2].claims = true;
	snprintf(w.declared[1].boot_id, sizeof(w.declared[1].boot_id), "b00t");
	snprintf(w.declared[2].boot_id, sizeof(w.declared[2].boot_id), "b00t");
	assert_int_equal(settle(&w, 1), 0);
}

/* What its host saw of a guest has the host's own word of whose thread that is. */
static void what_its_host_saw_contests_nothing(void **state)
{
	struct world w;

	(void)state;
	make(&w, 2);
	w.traces[2].format = TRACE_HYPER;
	assert_int_equal(settle(&w, 0), 1 << 1 | 1 << 2);
}

/* However many do, and whichever of them comes last. */
static void a_crowd_has_no_more_than_two(void **state)
{
	struct world w;

	(void)state;
	for (unsigned nr = 2; nr <= VMS_MAX; nr++) {
		make(&w, nr);
		assert_int_equal(settle(&w, 1), 0);
		for (unsigned known = 1; known <= nr; known++) {
			make(&w, nr);
			w.in[known].vm_pid = 7;
			assert_int_equal(settle(&w, 1), 1 << known);
		}
	}
	/* The first and the last are one kernel's: so is neither's word better than that between. */
	make(&w, 3);
	w.kinship[1].claims = w.kinship[3].claims = true;
	w.kinship[3].kernel = 1;
	assert_int_equal(settle(&w, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_must_be_where_the_thread_ran_a_guest),
		cmocka_unit_test(the_recorders_word_settles_it),
		cmocka_unit_test(traces_of_one_kernel_share_it),
		cmocka_unit_test(a_claim_that_events_refute_shares_nothing),
		cmocka_unit_test(what_its_host_saw_contests_nothing),
		cmocka_unit_test(a_crowd_has_no_more_than_two),
	};

	return cmocka_run_group_tests_name("clock_homes", tests, NULL, NULL);
}
