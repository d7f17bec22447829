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
#define NR_VMS 2

struct world {
	struct trace traces[1 + NR_VMS];
	struct sample samples[1 + NR_VMS];
	struct tick_list events;
	struct declared declared[1 + NR_VMS];
	struct declared_vm vm;
	struct declared_vcpu vcpu;
	struct topology_input in[1 + NR_VMS];
	struct kinship kinship[1 + NR_VMS];
	struct kin kin;
	struct candidate candidates[1 + NR_VMS];
	struct machine machines[1 + NR_VMS];
	struct vcpu_hint hints[1 + NR_VMS];
	struct placed placed[1 + NR_VMS];
	struct clock_piece same;
};

/* A host, [0], and VMs that each claim its thread; their clocks are the host's. */
static void make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->same = (struct clock_piece){.mult = UINT64_C(1) << CLOCK_SHIFT};
	w->vm = (struct declared_vm){.pid = 7};
	w->vcpu = (struct declared_vcpu){.tid = TID};
	w->declared[0].vms.list = &w->vm;
	w->declared[0].vcpus.list = &w->vcpu;
	w->declared[0].vms.nr = w->declared[0].vcpus.nr = 1;
	assert_int_equal(map_put(&w->declared[0].by_thread, TID, 0), 0);
	w->kin = (struct kin){.list = w->kinship, .nr = 1 + NR_VMS};
	for (unsigned i = 0; i <= NR_VMS; i++) {
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

	make(&w);
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

/* Who has it in the end; -1: nobody, 0: both. */
static int settle(struct world *w, unsigned problems)
{
	struct topology t = {0};
	bool has[NR_VMS];

	homes_settle(&t, w->placed, 1 + NR_VMS);
	assert_int_equal(t.problems.nr, problems);
	for (unsigned i = 0; i < NR_VMS; i++)
		has[i] = w->machines[1 + i].nr_vcpus;
	problems_release(&t.problems);
	unmake(w);
	return has[0] && has[1] ? 0 : has[0] ? 1 : has[1] ? 2 : -1;
}

/* Of which machines the recorder knows that they are the thread's process. */
static void the_recorders_word_settles_it(void **state)
{
	static const int whose[] = {-1, 1, 2,
				    -1}; /* nobody's; of the first; of the second; of both */

	(void)state;
	for (unsigned known = 0; known < ARRAY_SIZE(whose); known++) {
		struct world w;

		make(&w);
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
	make(&w);
	w.kinship[1].claims = w.kinship[2].claims = true;
	w.kinship[2].kernel = 1;
	assert_int_equal(settle(&w, 0), 0);
	/* Their word is all that there is of clocks that cannot be compared. */
	make(&w);
	w.traces[2].clock.kind = CLOCK_MONO;
	snprintf(w.declared[1].boot_id, sizeof(w.declared[1].boot_id), "b00t");
	snprintf(w.declared[2].boot_id, sizeof(w.declared[2].boot_id), "b00t");
	assert_int_equal(settle(&w, 0), 0);
}

/* One says that it is the other's kernel, and what both recorded says that it lies. */
static void a_claim_that_events_refute_shares_nothing(void **state)
{
	struct world w;

	(void)state;
	make(&w);
	w.kinship[1].claims = w.kinship[2].claims = true;
	snprintf(w.declared[1].boot_id, sizeof(w.declared[1].boot_id), "b00t");
	snprintf(w.declared[2].boot_id, sizeof(w.declared[2].boot_id), "b00t");
	assert_int_equal(settle(&w, 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_must_be_where_the_thread_ran_a_guest),
		cmocka_unit_test(the_recorders_word_settles_it),
		cmocka_unit_test(traces_of_one_kernel_share_it),
		cmocka_unit_test(a_claim_that_events_refute_shares_nothing),
	};

	return cmocka_run_group_tests_name("clock_homes", tests, NULL, NULL);
}
