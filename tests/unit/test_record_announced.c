/* SPDX-License-Identifier: Apache-2.0 */
/* What VMs announce, and what their host makes of it: a kernel's word leads to rings, a lie to a
 * pause, a process's word to a notice.  The announcements are made up; the guest's memory is a
 * process's. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/guestmem/announce.h"
#include "record/guestmem/rings.h"

#define MEMORY (8u << 20)
#define REGION 0x10000u
#define RINGS 0x100000u
#define SLOTS 7u
#define RING_BYTES ((SLOTS + 1) * HT_SLOT_BYTES)
#define NONCE UINT64_C(0x123456789abcdef)

static struct announcement said; /* what will be heard next */
static unsigned times;		 /* ... so often */
static unsigned notices;
static char noticed[300];

/* ---- what is heard ------------------------------------------------------------------------- */

int announce_open(struct announce *a, struct error *err)
{
	(void)err;
	a->pipe = -1;
	return 0;
}

void announce_close(struct announce *a)
{
	(void)a;
}

void announce_look(struct announce *a)
{
	(void)a;
}

bool announce_next(struct announce *a, struct announcement *out)
{
	(void)a;
	*out = said;
	return times && times--;
}

static void announce(struct rings *r, pid_t pid, enum ht_origin origin, uint64_t region,
		     uint64_t nonce)
{
	said = (struct announcement){
		.tid = pid,
		.origin = origin,
		.what = HT_REGION_HERE,
		.rings = {
			.region = region, .nonce = nonce, .ring_bytes = RING_BYTES, .nr_rings = 1}};
	times = 1;
	rings_tick(r);
	assert_int_equal(times, 0);
}

/* ---- a VM ---------------------------------------------------------------------------------- */

/* A guest's rings: the region is at REGION, and the memory so large that it is a VM's. */
static uint8_t *make_memory(void)
{
	uint8_t *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ht_region *region = (struct ht_region *)(memory + REGION);
	struct ht_ring *ring = (struct ht_ring *)(memory + RINGS);

	assert_true(memory != MAP_FAILED);
	memcpy(region->magic, HT_REGION_MAGIC, 8);
	region->version = HT_RING_VERSION;
	region->nonce = NONCE;
	region->nr_rings = 1;
	region->ring_bytes = RING_BYTES;
	region->bytes = HT_SLOT_BYTES;
	region->rings[0] = RINGS;
	memcpy(ring->magic, HT_RING_MAGIC, 8);
	ring->version = HT_RING_VERSION;
	ring->nonce = NONCE;
	ring->nr_slots = SLOTS;
	return memory;
}

static pid_t begin_vm(const uint8_t *memory)
{
	uint8_t sum = 0;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t at = 0; at < MEMORY; at += HT_SLOT_BYTES) /* it is there */
			sum += *(volatile const uint8_t *)(memory + at);
		if (write(ready[1], &sum, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &sum, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_vm(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void on_notice(const char *text, void *data)
{
	(void)data;
	notices++;
	snprintf(noticed, sizeof(noticed), "%s", text);
}

static struct sink *leave_out(const struct rings_guest *guest, void *data)
{
	(void)guest;
	(void)data;
	return NULL;
}

static struct rings *open_all(void)
{
	static const struct rings_options options = {.place = leave_out, .notice = on_notice};
	struct rings *r;

	assert_int_equal(rings_open(&r, &options, NULL), 0);
	notices = 0;
	return r;
}

/* ---- ---------------------------------------------------------------------------------------- */

/* What is not where it is said to be is looked for once; then there is a pause, in which only what
 * is said is looked at, and nothing is told again. */
static void who_lies_is_not_looked_for_again(void **state)
{
	uint8_t *memory = make_memory();
	pid_t vm = begin_vm(memory);
	struct rings *r = open_all();

	(void)state;
	announce(r, vm, HT_ORIGIN_KERNEL, REGION + HT_SLOT_BYTES, NONCE + 1);
	assert_int_equal(rings_nr_guests(r), 0);
	assert_int_equal(notices, 1);
	assert_non_null(strstr(noticed, "has no rings of a guest"));
	announce(r, vm, HT_ORIGIN_KERNEL, REGION + HT_SLOT_BYTES, NONCE);
	assert_int_equal(rings_nr_guests(r), 0);
	announce(r, vm, HT_ORIGIN_KERNEL, REGION, NONCE);
	assert_int_equal(rings_nr_guests(r), 1);
	assert_int_equal(notices, 1);
	rings_close(r);
	/* Who has not lied has it looked for. */
	r = open_all();
	announce(r, vm, HT_ORIGIN_KERNEL, REGION + HT_SLOT_BYTES, NONCE);
	assert_int_equal(rings_nr_guests(r), 1);
	rings_close(r);
	end_vm(vm);
	munmap(memory, MEMORY);
}

/* A process's word leads nowhere, however often it is given; it is told once of each VM. */
static void a_processs_word_is_told_once(void **state)
{
	uint8_t *memory = make_memory();
	pid_t vms[2] = {begin_vm(memory), begin_vm(memory)};
	struct rings *r = open_all();

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		announce(r, vms[i % 2], i < 4 ? HT_ORIGIN_USER : HT_ORIGIN_UNKNOWN, REGION, NONCE);
		assert_int_equal(notices, i ? 2 : 1);
		assert_non_null(strstr(noticed, "user code in the VM"));
	}
	assert_int_equal(rings_nr_guests(r), 0);
	rings_close(r);
	for (unsigned i = 0; i < 2; i++)
		end_vm(vms[i]);
	munmap(memory, MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_lies_is_not_looked_for_again),
		cmocka_unit_test(a_processs_word_is_told_once),
	};

	return cmocka_run_group_tests_name("record_announced", tests, NULL, NULL);
}
