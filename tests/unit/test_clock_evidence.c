/* SPDX-License-Identifier: Apache-2.0 */
/* Single pieces of evidence, each on samples and lists that are made up: what is counted, and whose
 * word counts. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>

#include "clock/exact.h"
#include "clock/bounds/pairs.h"
#include "clock/readings.h"
#include "clock/reference.h"
#include "clock/sample/watch.h"
#include "arch/exits.h"

#define VCPU_TID 100

/* ---- exact clocks: what breaks causality is counted ------------------------------------------ */

#define STAYS 1000
#define PERIOD 1000
#define INSIDE 600 /* of each period the vCPU runs so long */

struct exact_world {
	struct trace traces[2];
	struct sample samples[2];
	struct tick_list events;
	struct declared declared[2];
	struct declared_vm vm;
	struct declared_vcpu vcpu;
	struct candidate candidates[2];
	struct machine machines[2];
	struct vcpu_hint hint;
	struct placed placed[2];
};

static void add_event(struct exact_world *w, uint64_t host_tick)
{
	uint64_t *t = sample_add(&w->events);

	assert_non_null(t);
	*t = host_tick + (uint64_t)w->vcpu.relation.offset;
}

/* @outside events happen @late ticks after an exit. */
static void make_exact(struct exact_world *w, unsigned outside, uint64_t late)
{
	memset(w, 0, sizeof(*w));
	w->vm = (struct declared_vm){.pid = 7};
	w->vcpu = (struct declared_vcpu){
		.tid = VCPU_TID, .has_relation = true, .relation = {.offset = 5000000}};
	for (unsigned i = 0; i < 2; i++) {
		w->traces[i].clock.kind = CLOCK_TSC;
		w->samples[i].trace = &w->traces[i];
		w->candidates[i].sample = &w->samples[i];
		w->candidates[i].declared = &w->declared[i];
		w->placed[i] =
			(struct placed){.machine = &w->machines[i], .candidate = &w->candidates[i]};
	}
	w->placed[1].parent = w->placed[1].l0 = &w->placed[0];
	w->declared[0].vms.list = &w->vm;
	w->declared[0].vcpus.list = &w->vcpu;
	w->declared[0].vms.nr = w->declared[0].vcpus.nr = 1;
	w->candidates[1].vm = &w->vm;
	w->hint.host_tid = VCPU_TID;
	w->machines[1].vcpus = &w->hint;
	w->machines[1].nr_vcpus = 1;
	for (uint64_t i = 1; i <= STAYS; i++) {
		assert_int_equal(stay_list_add(&w->samples[0].stays, VCPU_TID, 0, i * PERIOD,
					       i * PERIOD + INSIDE, false),
				 0);
		add_event(w, i * PERIOD + (outside && i % 100 == 50 && outside-- ? INSIDE + late
										 : INSIDE / 2));
	}
	w->samples[0].end = (STAYS + 2) * PERIOD;
	sample_settle(&w->samples[0]);
	w->samples[1].events = &w->events;
	w->samples[1].nr_cpus = 1;
	w->samples[1].first = w->events.list[0];
	w->samples[1].last = w->events.list[w->events.nr - 1];
}

static void unmake_exact(struct exact_world *w)
{
	clock_model_release(&w->machines[1].to_parent);
	free(w->samples[0].stays.list);
	free(w->events.list);
}

static void an_exact_clocks_violations_are_counted(void **state)
{
	static const struct constraints none;

	(void)state;
	for (unsigned outside = 0; outside <= 10; outside += 5) {
		struct exact_world w;

		make_exact(&w, outside, 77);
		assert_int_equal(exact_align(&w.placed[1], &none, false, NULL), 1);
		assert_int_equal(w.machines[1].to_parent.method, CLOCK_METHOD_TSC);
		assert_int_equal(w.machines[1].to_parent.nr_violations, outside);
		assert_int_equal(w.machines[1].to_parent.worst_violation_ns, outside ? 77 : 0);
		unmake_exact(&w);
	}
}

/* More than one in a hundred: it is not believed, and why is said. */
static void an_offset_that_breaks_causality_is_refused(void **state)
{
	static const struct constraints none;
	struct exact_world w;

	(void)state;
	make_exact(&w, 10, 77);
	w.vcpu.relation.offset -= INSIDE / 2 + 10; /* all events come too late */
	assert_int_equal(exact_align(&w.placed[1], &none, false, NULL), 0);
	assert_int_equal(w.machines[1].to_parent.nr_pieces, 0);
	assert_non_null(strstr(w.candidates[1].refuted, "contradicts 1000 of 1000"));
	unmake_exact(&w);
}

/* Where the host's trace covers nothing of it, a relation stands that is listed if all others that
 * it may stand for fail. */
static void what_others_failing_leaves_is_believed(void **state)
{
	static const struct constraints none;
	struct declared_vcpu inner = {.tid = 3, .has_relation = true};
	struct exact_world w;

	(void)state;
	make_exact(&w, 0, 0);
	w.samples[0].begin = 2 * STAYS * PERIOD;
	w.samples[0].end = 5 * STAYS * PERIOD;
	inner.relation.offset = 3 * STAYS * PERIOD;
	w.declared[1].vcpus.list = &inner;
	w.declared[1].vcpus.nr = 1;
	assert_int_equal(exact_align(&w.placed[1], &none, false, NULL), 1);
	assert_int_equal(w.machines[1].to_parent.pieces[0].bound_ns, 0);
	assert_int_equal(clock_to_l0(&w.machines[1].to_parent, (ticks_t){w.events.list[9]}),
			 w.events.list[9] - 5000000);
	assert_non_null(
		strstr(w.machines[1].evidence, "nothing in the traces puts it to the test"));
	unmake_exact(&w);
	/* A rest is not listed: that what it is a rest of has failed proves nothing. */
	make_exact(&w, 0, 0);
	w.vcpu.relation.offset -= INSIDE / 2 + 10;
	w.declared[1].vcpus.list = &inner;
	w.declared[1].vcpus.nr = 1;
	assert_int_equal(exact_align(&w.placed[1], &none, false, NULL), 0);
	unmake_exact(&w);
	/* Of two that nothing tests neither is. */
	make_exact(&w, 0, 0);
	w.samples[0].begin = 2 * STAYS * PERIOD;
	w.samples[0].end = 3 * STAYS * PERIOD;
	inner.relation.offset = 3 * STAYS * PERIOD;
	w.declared[1].vcpus.list = &inner;
	w.declared[1].vcpus.nr = 1;
	assert_int_equal(exact_align(&w.placed[1], &none, false, NULL), 0);
	unmake_exact(&w);
}

/* ---- UUIDs: of clones none is known by it ---------------------------------------------------- */

static void make_named(struct trace *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->hostname, name, strlen(name) + 1);
}

/* A host that lists one VM, and @clones machines with its UUID; the host stands at @host. */
static void check_clones(unsigned clones, unsigned host)
{
	struct trace traces[3];
	struct sample samples[3] = {0};
	struct declared declared[3] = {0};
	struct topology_input in[3] = {0};
	struct candidate list[3] = {0};
	struct problems problems = {0};
	struct declared_vm vm = {.pid = 7, .has_uuid = true, .uuid = {1, 2, 3}};
	const struct kin kin = {.list = (struct kinship[3]){{0}}, .nr = 3};
	unsigned nr = clones + 1;

	for (unsigned i = 0; i < nr; i++) {
		make_named(&traces[i], i == host ? "iron" : "vm");
		samples[i].trace = in[i].trace = &traces[i];
		declared[i].has_uuid = true;
		memcpy(declared[i].uuid, vm.uuid, sizeof(vm.uuid));
	}
	declared[host].uuid[0] = 99;
	declared[host].vms.list = &vm;
	declared[host].vms.nr = 1;
	assert_int_equal(parents_find(list, in, samples, declared, &kin, nr, &problems, NULL), 0);
	for (unsigned i = 0; i < nr; i++) {
		bool is_known = i != host && clones == 1;

		assert_int_equal(list[i].proven, is_known);
		assert_int_equal(list[i].parent, is_known ? (int)host : PARENT_UNKNOWN);
	}
	parents_release(list, nr);
	problems_release(&problems);
}

static void a_uuid_of_two_is_nobodys(void **state)
{
	(void)state;
	for (unsigned host = 0; host < 3; host++) {
		check_clones(2, host);
		if (host < 2)
			check_clones(1, host);
	}
}

/* A machine that has the UUID of its neighbour, as it says, and was recorded as process 8. */
static void a_neighbours_uuid_does_not_count(void **state)
{
	struct declared_vm vms[] = {{.pid = 7, .has_uuid = true, .uuid = {1}},
				    {.pid = 8, .has_uuid = true, .uuid = {2}}};
	struct trace traces[2];

	(void)state;
	make_named(&traces[0], "iron");
	make_named(&traces[1], "vm");
	for (int pid = 7; pid <= 8; pid++) {
		struct sample samples[2] = {{.trace = &traces[0]}, {.trace = &traces[1]}};
		struct declared declared[2] = {{.vms = {.list = vms, .nr = 2}},
					       {.has_uuid = true, .uuid = {1}}};
		struct topology_input in[2] = {
			{.trace = &traces[0]},
			{.trace = &traces[1], .parent = "iron", .recorded = true, .vm_pid = pid}};
		const struct kin kin = {.list = (struct kinship[2]){{0}}, .nr = 2};
		struct candidate list[2] = {0};
		struct problems problems = {0};

		assert_int_equal(
			parents_find(list, in, samples, declared, &kin, 2, &problems, NULL), 0);
		assert_int_equal(list[1].parent, 0);
		assert_int_equal(list[1].vm->pid, pid);
		assert_int_equal(list[1].proven, pid == 7);
		assert_int_equal(problems.nr, pid == 8);
		parents_release(list, 2);
		problems_release(&problems);
	}
}

/* Recorded through its host, with that one's boot ID: a container; but not where it is a VM's
 * process. */
static void a_known_vm_is_not_its_hosts_kernel(void **state)
{
	struct trace traces[2];

	(void)state;
	make_named(&traces[0], "iron");
	make_named(&traces[1], "vm");
	for (int pid = 0; pid <= 8; pid += 8) {
		struct sample samples[2] = {{.trace = &traces[0]}, {.trace = &traces[1]}};
		struct declared declared[2] = {{.boot_id = "b00t"}, {.boot_id = "b00t"}};
		struct topology_input in[2] = {
			{.trace = &traces[0]},
			{.trace = &traces[1], .parent = "iron", .recorded = true, .vm_pid = pid}};
		struct candidate list[2] = {0};
		struct problems problems = {0};
		struct kin kin;

		assert_int_equal(kin_find(&kin, in, declared, 2), 0);
		assert_true(kin_share_clock(&kin, 0, 1)); /* nothing contradicts it */
		assert_false(kin_borne_out(&kin, 0, 1));
		assert_int_equal(
			parents_find(list, in, samples, declared, &kin, 2, &problems, NULL), 0);
		assert_int_equal(list[1].parent, 0);
		assert_int_equal(list[1].same_clock, pid == 0);
		parents_release(list, 2);
		problems_release(&problems);
		kin_release(&kin);
	}
}

/* ---- lists: of the start, of the end --------------------------------------------------------- */

static void a_relation_is_of_the_start_or_of_the_end(void **state)
{
	struct declared_vm vm = {.pid = 7};
	struct declared_vcpu vcpus[3] = {
		{.has_relation = true, .relation.offset = 1, .cause = STATE_CAUSE_START},
		{.has_relation = true, .relation.offset = 2, .cause = STATE_CAUSE_END},
		{.has_relation = true, .relation.offset = 2, .cause = STATE_CAUSE_END},
	};
	struct declared d = {.vms = {&vm, 1, 1}, .vcpus = {vcpus, 3, 3}};
	const struct relation_votes *before, *after;
	struct relation_votes list[4];

	(void)state;
	assert_int_equal(declared_relations(&d, &vm, list, 4), 2);
	assert_int_equal(list[0].relation.offset, 2);
	assert_int_equal(list[0].votes, 2);
	assert_false(list[0].at_start);
	assert_true(list[0].at_end);
	assert_true(list[1].at_start);
	assert_false(list[1].at_end);
	assert_true(declared_change(list, 2, &before, &after));
	assert_int_equal(before->relation.offset, 1);
	assert_int_equal(after->relation.offset, 2);
	/* One that was listed all the time was not changed. */
	vcpus[2].cause = STATE_CAUSE_START;
	assert_int_equal(declared_relations(&d, &vm, list, 4), 2);
	assert_true(list[0].at_start && list[0].at_end);
	assert_false(declared_change(list, 2, &before, &after));
}

/* ---- readings: the two around the moment ----------------------------------------------------- */

#define READINGS 5
#define APART UINT64_C(1000000000)

/* The guest's clock runs at another rate between any two of its readings. */
static uint64_t guest_clock(uint64_t tsc)
{
	static const double rate[READINGS + 1] = {0.5, 0.5004, 0.4997, 0.5008, 0.4995, 0.5};
	double ns = 0;
	unsigned i = 0;

	for (; i < READINGS && tsc > APART; i++, tsc -= APART)
		ns += rate[i] * (double)APART;
	return (uint64_t)llround(ns + rate[i] * (double)tsc);
}

static void the_readings_around_a_moment_count(void **state)
{
	struct trace host_trace = {.clock.kind = CLOCK_MONO}, guest_trace = host_trace;
	struct declared_clock own[READINGS], hosts[READINGS];
	struct declared guest = {.trace = &guest_trace, .clocks = {own, READINGS, READINGS}};
	struct declared host = {.trace = &host_trace, .clocks = {hosts, READINGS, READINGS}};
	struct tsc_relation r = {.offset = 0};
	struct constraints c = {0};
	unsigned checked = 0;

	(void)state;
	for (uint64_t i = 0; i < READINGS; i++) {
		own[i] = (struct declared_clock){(i + 1) * APART, 10,
						 (int64_t)guest_clock((i + 1) * APART), -1, -1};
		hosts[i] =
			(struct declared_clock){(i + 1) * APART + APART / 2, 10,
						(int64_t)(i + 1) * APART / 2 + APART / 4, -1, -1};
	}
	assert_int_equal(readings_constraints(&c, &guest, &host, &r), 0);
	assert_int_equal(c.nr, 2 * (READINGS + READINGS));
	for (size_t i = 0; i < c.nr; i++) {
		uint64_t tsc = 2 * c.list[i].y; /* the host's clock runs evenly */
		int64_t off = (int64_t)guest_clock(tsc) - (int64_t)c.list[i].x;

		/* Beyond the readings of either, less is known. */
		if (tsc < hosts[0].tsc - APART / 10 || tsc > own[READINGS - 1].tsc + APART / 10)
			continue;
		/* The guest shows x when the host shows y at most (upper), or at least. */
		assert_true(c.list[i].upper ? off >= 0 : off <= 0);
		assert_in_range(llabs(off), 0, 1100);
		checked++;
	}
	assert_int_equal(checked, 2 * (READINGS - 1 + READINGS - 1));
	constraints_release(&c);
}

/* ---- L0's counter ---------------------------------------------------------------------------- */

static void a_counters_rate_is_measured(void **state)
{
	static const uint64_t told_khz[] = {2500000, 2501000, 2510000, 1000000, 1, UINT64_MAX};
	struct trace trace = {.clock.kind = CLOCK_TSC, .path = "x"};
	struct machine machine = {0};
	struct topology t = {.machines = &machine, .nr_machines = 1};
	struct sample s = {.trace = &trace, .first = UINT64_C(5) << 32};
	struct declared declared = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) { /* 2.5 GHz: 2 ticks to 0.8 ns */
		struct mono_point *p = sample_add(&s.monos);
		uint64_t ticks = s.first + i * 10000000;

		assert_non_null(p);
		*p = (struct mono_point){ticks - 500, ticks + 500, 777000 + i * 4000000};
		s.last = ticks + 500;
	}
	assert_int_equal(reference_find(&t, &s, &declared, 0, false, NULL), 0);
	assert_true(t.ticks_are_ns);
	assert_in_range(t.tsc_khz, 2499999, 2500001);
	assert_non_null(strstr(machine.evidence, "cycle counter of 2500000 kHz"));
	clock_model_release(&machine.clock);
	for (unsigned i = 0; i < ARRAY_SIZE(told_khz); i++) {
		bool fits = llabs((int64_t)told_khz[i] - 2500000) < 1500;
		struct error err = {0};

		machine.evidence[0] = '\0';
		assert_int_equal(reference_find(&t, &s, &declared, told_khz[i], false, &err),
				 fits ? 0 : -EINVAL);
		assert_true(fits || strstr(err.text, "runs at 2500000 kHz"));
		assert_in_range(t.tsc_khz, 2499999, 2500001);
		clock_model_release(&machine.clock);
	}
	free(s.monos.list);
}

/* ---- whose calls ---- */

#define CALLS 200
#define COPIES 20

/* Without anything to measure it by, what is told of it counts, by whomever. */
static void a_counters_rate_is_told(void **state)
{
	struct trace trace = {.clock.kind = CLOCK_TSC, .path = "x"};
	struct machine machine = {0};
	struct sample s = {.trace = &trace, .first = 1000, .last = 2000};

	(void)state;
	for (unsigned by_user = 0; by_user < 2; by_user++) {
		struct topology t = {.machines = &machine, .nr_machines = 1};
		struct declared declared = {.tsc_khz = by_user ? 1000000 : 2400000};

		assert_int_equal(
			reference_find(&t, &s, &declared, by_user ? 2400000 : 0, false, NULL), 0);
		assert_true(t.ticks_are_ns);
		assert_int_equal(t.tsc_khz, 2400000);
		assert_int_equal(clock_to_l0(&machine.clock, (ticks_t){24000000}), 10000000);
		clock_model_release(&machine.clock);
	}
}

struct copied {
	struct trace traces[2];
	struct sample host, guest;
	struct declared_vm vms[2];
	struct declared_vcpu vcpus[2];
	struct declared declared;
	struct call_index *index;
};

static void add_call(struct call_list *l, uint64_t key, uint64_t time, int32_t tid)
{
	struct call *c = sample_add(l);

	assert_non_null(c);
	*c = (struct call){key, time, tid, 0};
}

/* Thread 100 makes the guest's calls, and thread 900 each of them @copies times, 5 ticks later. */
static void make_copied(struct copied *w, unsigned copies)
{
	memset(w, 0, sizeof(*w));
	w->host.trace = &w->traces[0];
	w->guest.trace = &w->traces[1];
	w->traces[0].clock.kind = w->traces[1].clock.kind = CLOCK_TSC;
	for (uint64_t i = 1; i <= CALLS; i++) {
		add_call(&w->guest.requests, i, i * 1000, -1);
		add_call(&w->guest.acks, i, i * 1000 + 50, -1);
		add_call(&w->host.calls, i, i * 1000 + 20, VCPU_TID);
		for (unsigned k = 0; k < copies; k++)
			add_call(&w->host.calls, i, i * 1000 + 25 + k, 900);
	}
	for (int i = 0; i < 2; i++) {
		w->vms[i] = (struct declared_vm){.pid = 7 + i};
		w->vcpus[i] = (struct declared_vcpu){.vm = (uint32_t)i, .tid = i ? 900 : VCPU_TID};
		assert_int_equal(
			map_put(&w->declared.by_thread, (uint32_t)w->vcpus[i].tid, (uint32_t)i), 0);
	}
	w->declared.vms.list = w->vms;
	w->declared.vcpus.list = w->vcpus;
	w->declared.vms.nr = w->declared.vcpus.nr = 2;
	sample_settle(&w->host);
	assert_int_equal(call_index_make(&w->index, &w->host), 0);
}

static void unmake_copied(struct copied *w)
{
	call_index_release(w->index);
	map_release(&w->declared.by_thread);
	free(w->host.calls.list);
	free(w->guest.requests.list);
	free(w->guest.acks.list);
}

/* Copies that fit as well as the original: nobody knows, but where the host lists its VMs. */
static void whose_call_it_is_the_host_lists(void **state)
{
	struct copied w;

	(void)state;
	make_copied(&w, 1);
	for (unsigned i = 0; i < 3; i++) {
		const struct pair_guest guest = {&w.guest, &w.declared, i < 2 ? &w.vms[i] : NULL};

		assert_int_equal(pairs_count(w.index, &guest), i < 2 ? CALLS : 0);
		assert_int_equal(pairs_thread(w.index, &guest), i == 0	 ? VCPU_TID
								: i == 1 ? 900
									 : -1);
	}
	unmake_copied(&w);
}

/* Who makes one call again and again does not hide who made it once. */
static void many_copies_are_none(void **state)
{
	struct copied w;

	(void)state;
	make_copied(&w, COPIES);
	assert_int_equal(pairs_count(w.index, &(struct pair_guest){.sample = &w.guest}), CALLS);
	assert_int_equal(pairs_thread(w.index, &(struct pair_guest){.sample = &w.guest}), VCPU_TID);
	unmake_copied(&w);
}

/* A payload that the guest recorded twice is of neither time. */
static void what_a_guest_says_twice_tells_nothing(void **state)
{
	struct copied w;

	(void)state;
	make_copied(&w, 0);
	add_call(&w.guest.requests, 7, (CALLS + 1) * 1000, -1);
	add_call(&w.guest.acks, 7, (CALLS + 1) * 1000 + 50, -1);
	assert_int_equal(pairs_count(w.index, &(struct pair_guest){.sample = &w.guest}), CALLS - 1);
	unmake_copied(&w);
}

/* Two threads that each made calls of their own count; what both made is no pair of either. */
static void what_two_made_is_of_neither(void **state)
{
	struct copied w;

	(void)state;
	make_copied(&w, 0);
	for (size_t i = 0; i < w.host.calls.nr; i++)
		w.host.calls.list[i].tid = i < CALLS / 2 ? VCPU_TID : 900;
	for (uint64_t i = CALLS / 2 + 1; i <= CALLS / 2 + COPIES; i++)
		add_call(&w.host.calls, i, i * 1000 + 25, VCPU_TID);
	call_index_release(w.index);
	sample_settle(&w.host);
	assert_int_equal(call_index_make(&w.index, &w.host), 0);
	assert_int_equal(pairs_count(w.index, &(struct pair_guest){.sample = &w.guest}),
			 CALLS - COPIES);
	unmake_copied(&w);
}

/* A trace may name as many threads as it has calls.  So many are looked at, the rest is left out. */
static void makers_are_bounded(void **state)
{
	const uint64_t most = 65536, all = most + 100;
	struct copied w = {0};

	(void)state;
	w.host.trace = &w.traces[0];
	w.guest.trace = &w.traces[1];
	w.traces[0].clock.kind = w.traces[1].clock.kind = CLOCK_TSC;
	for (uint64_t i = 1; i <= all; i++) {
		add_call(&w.guest.requests, i, i * 1000, -1);
		add_call(&w.host.calls, i, i * 1000 + 20, (int32_t)i);
	}
	sample_settle(&w.host);
	assert_int_equal(call_index_make(&w.index, &w.host), 0);
	assert_int_equal(pairs_count(w.index, &(struct pair_guest){.sample = &w.guest}), most);
	unmake_copied(&w);
}

/* ---- the add-on's calls ---- */

#define IN_KERNEL INT64_C(-0x3fbff000)
#define IN_USER 0x401000

static void leave_guest(struct watch *w, uint64_t time, int64_t rip)
{
	const struct event list[] = {
		{.kind = EV_KVM_ENTRY, .time = {time}, .tid = -1},
		{.kind = EV_KVM_EXIT,
		 .time = {time + 1},
		 .tid = -1,
		 .arg = {0x81, 0, rip, ISA_SVM}},
	};

	assert_int_equal(watch_events(w, list, ARRAY_SIZE(list)), 0);
}

/* Who asks for the time by a call of its own, and who gets the answer. */
static void a_process_asks_for_no_time(void **state)
{
	const struct event ask = {.kind = EV_VMSYNC_GH_HOST, .time = {12}, .tid = -1, .arg = {1}},
			   answer = {.kind = EV_VMSYNC_HG_HOST,
				     .time = {14},
				     .tid = -1,
				     .arg = {2}},
			   to = {.kind = EV_SCHED_SWITCH, .time = {9}, .tid = -1, .arg = {0, 5}},
			   other = {
				   .kind = EV_SCHED_SWITCH, .time = {13}, .tid = -1, .arg = {5, 6}};
	const struct {
		int64_t rip;
		bool leaves; /* another thread comes before the answer */
		size_t calls;
	} cases[] = {
		{IN_KERNEL, false, 2}, {IN_USER, false, 0}, {0, false, 0}, {IN_KERNEL, true, 1}};
	struct trace trace = {.clock = {.kind = CLOCK_MONO}};
	struct stream stream = {.trace = &trace};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct watch w;

		watch_init(&w, &stream);
		w.until = UINT64_MAX;
		w.notes_max = 1000;
		assert_int_equal(watch_events(&w, &to, 1), 0);
		leave_guest(&w, 10, cases[i].rip);
		assert_int_equal(watch_events(&w, &ask, 1), 0);
		if (cases[i].leaves)
			assert_int_equal(watch_events(&w, &other, 1), 0);
		assert_int_equal(watch_events(&w, &answer, 1), 0);
		assert_int_equal(w.calls.nr, cases[i].calls);
		watch_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_clocks_violations_are_counted),
		cmocka_unit_test(an_offset_that_breaks_causality_is_refused),
		cmocka_unit_test(what_others_failing_leaves_is_believed),
		cmocka_unit_test(a_uuid_of_two_is_nobodys),
		cmocka_unit_test(a_neighbours_uuid_does_not_count),
		cmocka_unit_test(a_known_vm_is_not_its_hosts_kernel),
		cmocka_unit_test(a_relation_is_of_the_start_or_of_the_end),
		cmocka_unit_test(the_readings_around_a_moment_count),
		cmocka_unit_test(a_counters_rate_is_measured),
		cmocka_unit_test(a_counters_rate_is_told),
		cmocka_unit_test(whose_call_it_is_the_host_lists),
		cmocka_unit_test(many_copies_are_none),
		cmocka_unit_test(what_a_guest_says_twice_tells_nothing),
		cmocka_unit_test(what_two_made_is_of_neither),
		cmocka_unit_test(makers_are_bounded),
		cmocka_unit_test(a_process_asks_for_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
