/* SPDX-License-Identifier: Apache-2.0 */
/* How many hypercalls of one VM the recorder's BPF program writes, and that it counts the rest. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/types.h"
#include "channel/hypercalls.h"

/* What another vCPU does just before this one tries to begin a window. */
static void (*meanwhile)(void);

static void let_another_begin(void)
{
	void (*begin)(void) = meanwhile;

	meanwhile = NULL;
	if (begin)
		begin();
}

#define __sync_val_compare_and_swap(at, old, new)                                                  \
	(let_another_begin(), __sync_val_compare_and_swap(at, old, new))
#include "channel/vm_limits.h"
#undef __sync_val_compare_and_swap

#define VCPUS 8
#define CALLS 8000000
#define WINDOWS 1000

/* What docs/security.md says: of processes 1,000 calls and 10,000 marks a second; of a VM 40,960
 * records, of which the half of a ring that is left has room for four VMs'. */
static void the_rates_are_those_of_the_manual(void **state)
{
	const unsigned per_s[VM_USER_CALLS] = {[VM_FORGED] = 1000, [VM_MARK] = 10000};
	struct vm_limits l = {.since_ns = 5};
	unsigned written[VM_USER_CALLS] = {0}, firsts = 0, made = 0;

	(void)state;
	assert_int_equal(VM_WINDOW_NS * VM_WINDOWS_PER_S, 1000000000);
	assert_int_equal(VM_RECORDS * VM_WINDOWS_PER_S, 40960);
	assert_true(4 * VM_RECORDS * HC_RECORD_BYTES <= HC_RING_BYTES / 2);
	for (uint64_t now = 5; now < 1000000005; now += 20000, made++) { /* 50,000 a second */
		for (enum vm_user_call kind = 0; kind < VM_USER_CALLS; kind++) {
			bool first;

			vm_limits_at(&l, now);
			written[kind] += vm_limits_user(&l, kind, 0, &first);
			firsts += first;
		}
	}
	for (unsigned kind = 0; kind < VM_USER_CALLS; kind++) {
		assert_int_equal(written[kind], per_s[kind]);
		assert_int_equal(l.skipped[kind], made - written[kind]);
	}
	assert_int_equal(firsts, VM_WINDOWS_PER_S * VM_USER_CALLS);
	assert_true(vm_limits_skipped(&l) ==
		    ((uint64_t)l.skipped[VM_MARK] << 32 | l.skipped[VM_FORGED]));
}

/* Four billion calls do not become marks. */
static void counts_do_not_run_into_each_other(void **state)
{
	struct vm_limits l = {.skipped = {UINT32_MAX, 7}, .user = {{.nr = UINT32_MAX - 2}}};
	bool first;

	(void)state;
	l.user[VM_FORGED].from = l.user[VM_FORGED].nr - VM_FORGED_MOST;
	assert_false(vm_limits_user(&l, VM_FORGED, 0, &first));
	assert_true(first);
	assert_true(vm_limits_skipped(&l) == (uint64_t)7 << 32);
	l.user[VM_FORGED].from = l.user[VM_FORGED].nr; /* a window goes on past the last number */
	for (unsigned i = 0; i < VM_FORGED_MOST; i++)
		assert_true(vm_limits_user(&l, VM_FORGED, 0, &first));
	assert_false(vm_limits_user(&l, VM_FORGED, 0, &first));
}

/* An event whose time was read before the window's begins no other one. */
static void time_may_come_late(void **state)
{
	struct vm_limits l = {.since_ns = 1000};
	bool first;

	(void)state;
	for (unsigned i = 0; i < 2 * VM_FORGED_MOST; i++) {
		vm_limits_at(&l, i % 2 ? 900 : 1000 + VM_WINDOW_NS - 1);
		assert_true(vm_limits_user(&l, VM_FORGED, 0, &first) == (i < VM_FORGED_MOST));
	}
	vm_limits_at(&l, 1000 + VM_WINDOW_NS);
	assert_true(vm_limits_user(&l, VM_FORGED, 0, &first));
}

static struct vm_limits contested = {.since_ns = 1000};

static void begin_and_call(void)
{
	bool first;

	vm_limits_at(&contested, 1000 + VM_WINDOW_NS);
	for (unsigned i = 0; i < VM_FORGED_MOST; i++)
		assert_true(vm_limits_user(&contested, VM_FORGED, 0, &first));
}

/* Of two vCPUs that see a new window at once one begins it: what it has called since counts. */
static void one_vcpu_begins_a_window(void **state)
{
	bool first;

	(void)state;
	meanwhile = begin_and_call;
	vm_limits_at(&contested, 1001 + VM_WINDOW_NS);
	assert_null(meanwhile);
	assert_false(vm_limits_user(&contested, VM_FORGED, 0, &first));
	assert_true(first);
}

/* What a kernel sends, too. */
static void a_full_ring_and_the_rate_bound_records(void **state)
{
	const uint32_t mosts[] = {VM_RECORDS + 1000, VM_RECORDS - 1000, 0};

	(void)state;
	for (unsigned k = 0; k < ARRAY_SIZE(mosts); k++) {
		struct vm_limits l = {.since_ns = 1};
		unsigned room = VM_RECORDS - VM_RECORDS / VM_SPACE_PART;

		for (uint64_t now = 1; now < 3 * VM_WINDOW_NS; now += VM_WINDOW_NS) {
			unsigned got[3] = {0}, nr = 2 * VM_RECORDS;
			unsigned most = mosts[k] ? mosts[k] : nr;

			vm_limits_at(&l, now);
			for (unsigned i = 0; i < nr; i++)
				got[vm_limits_record(&l, VM_CALL, mosts[k])]++;
			assert_int_equal(got[VM_NO_ROOM], nr - most);
			assert_int_equal(got[VM_ROOM], most < room ? most : room);
		}
	}
}

/* A process that has its kernel switch without end takes no room from what the kernel sends. */
static void address_spaces_take_nothing_from_calls(void **state)
{
	const uint32_t most = 20000, spaces = VM_RECORDS / VM_SPACE_PART;
	struct vm_limits l = {.since_ns = 1};

	(void)state;
	for (uint64_t now = 1; now < 3 * VM_WINDOW_NS; now += VM_WINDOW_NS) {
		unsigned got[3] = {0};

		vm_limits_at(&l, now);
		for (unsigned i = 0; i < 2 * most; i++)
			got[vm_limits_record(&l, VM_SPACE, most)]++;
		assert_int_equal(got[VM_ROOM], spaces);
		assert_int_equal(got[VM_NO_ROOM], 2 * most - most / VM_SPACE_PART);
		for (unsigned i = 0; i < VM_RECORDS - spaces; i++)
			assert_int_equal(vm_limits_record(&l, VM_CALL, most), VM_ROOM);
		for (unsigned i = VM_RECORDS - spaces; i < most; i++)
			assert_int_equal(vm_limits_record(&l, VM_CALL, most),
					 VM_ROOM_WHILE_HALF_EMPTY);
	}
}

/* Whatever its processes send first, a kernel has half of what is recorded, at any rate. */
static void processes_leave_their_kernel_half(void **state)
{
	(void)state;
	for (uint32_t most = 1; most < 3 * VM_MARK_MOST; most++) {
		struct vm_limits l = {.since_ns = 1};
		unsigned left = 0;
		bool first;

		for (unsigned i = 0; i < 2 * VM_MARK_MOST; i++) {
			if (vm_limits_user(&l, VM_MARK, most, &first))
				vm_limits_record(&l, VM_CALL, most);
			if (vm_limits_user(&l, VM_FORGED, most, &first))
				vm_limits_record(&l, VM_CALL, most);
		}
		while (vm_limits_record(&l, VM_CALL, most) != VM_NO_ROOM)
			left++;
		assert_in_range(left, (most + 1) / 2, most);
	}
}

struct flood {
	struct vm_limits l;
	atomic_uint written, records;
	pthread_barrier_t start;
};

/* Of calls that were skipped, those of which no record tells are left to be told at the end.  What
 * is told is the VM's own: one whose process has the same number begins with nothing. */
static void what_is_told_is_not_told_again(void **state)
{
	struct vm_limits l = {.since_ns = 1}, other = {.since_ns = 1};
	bool first;

	(void)state;
	for (unsigned i = 0; i < VM_FORGED_MOST + 30; i++)
		vm_limits_user(&l, VM_FORGED, 0, &first);
	for (unsigned i = 0; i < VM_MARK_MOST + 5; i++)
		vm_limits_user(&l, VM_MARK, 0, &first);
	assert_int_equal(vm_limits_untold(&l, VM_FORGED), 30);
	assert_int_equal(vm_limits_untold(&l, VM_MARK), 5);
	vm_limits_tell(&l, UINT64_C(3) << 32 | 20);
	vm_limits_tell(&l, UINT64_C(4) << 32 | 10); /* it was overtaken */
	assert_int_equal(vm_limits_untold(&l, VM_FORGED), 10);
	assert_int_equal(vm_limits_untold(&l, VM_MARK), 1);
	vm_limits_tell(&l, vm_limits_skipped(&l));
	assert_int_equal(vm_limits_untold(&l, VM_FORGED), 0);
	assert_int_equal(vm_limits_untold(&l, VM_MARK), 0);
	vm_limits_user(&other, VM_FORGED, 0, &first);
	for (unsigned i = 0; i < VM_FORGED_MOST + 6; i++)
		vm_limits_user(&other, VM_FORGED, 0, &first);
	assert_int_equal(vm_limits_untold(&other, VM_FORGED), 7);
	/* Counters that went round. */
	l.skipped[VM_FORGED] = 2;
	l.told[VM_FORGED] = UINT32_MAX - 2;
	vm_limits_tell(&l, UINT32_MAX);
	assert_int_equal(vm_limits_untold(&l, VM_FORGED), 3);
	/* What is told was copied after what was skipped. */
	l.skipped[VM_FORGED] = 10;
	l.told[VM_FORGED] = 12;
	assert_int_equal(vm_limits_untold(&l, VM_FORGED), 0);
}

/* All of them see a new window at about the same time. */
static void *vcpu(void *data)
{
	struct flood *f = data;
	unsigned written = 0, records = 0;
	bool first;

	pthread_barrier_wait(&f->start);
	for (unsigned i = 0; i < CALLS; i++) {
		vm_limits_at(&f->l, 1 + (uint64_t)(i / (CALLS / WINDOWS)) * VM_WINDOW_NS);
		written += vm_limits_user(&f->l, VM_MARK, 0, &first);
		records += vm_limits_record(&f->l, i % 2 ? VM_SPACE : VM_CALL, 0) == VM_ROOM;
	}
	atomic_fetch_add(&f->written, written);
	atomic_fetch_add(&f->records, records);
	return NULL;
}

static void vcpus_at_once_are_counted_exactly(void **state)
{
	static struct flood f = {.l = {.since_ns = 1}};
	pthread_t threads[VCPUS];

	(void)state;
	assert_int_equal(pthread_barrier_init(&f.start, NULL, VCPUS), 0);
	for (unsigned i = 0; i < VCPUS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, vcpu, &f), 0);
	for (unsigned i = 0; i < VCPUS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&f.start);
	assert_int_equal(f.written + f.l.skipped[VM_MARK], VCPUS * CALLS);
	assert_int_equal(f.l.user[VM_MARK].nr, VCPUS * CALLS);
	assert_in_range(f.written, VM_MARK_MOST, WINDOWS * VM_MARK_MOST);
	assert_in_range(f.records, VM_RECORDS / VM_SPACE_PART, WINDOWS * VM_RECORDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rates_are_those_of_the_manual),
		cmocka_unit_test(counts_do_not_run_into_each_other),
		cmocka_unit_test(time_may_come_late),
		cmocka_unit_test(one_vcpu_begins_a_window),
		cmocka_unit_test(a_full_ring_and_the_rate_bound_records),
		cmocka_unit_test(address_spaces_take_nothing_from_calls),
		cmocka_unit_test(processes_leave_their_kernel_half),
		cmocka_unit_test(what_is_told_is_not_told_again),
		cmocka_unit_test(vcpus_at_once_are_counted_exactly),
	};

	return cmocka_run_group_tests_name("vm_limits", tests, NULL, NULL);
}
