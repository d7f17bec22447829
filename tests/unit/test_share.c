/* SPDX-License-Identifier: Apache-2.0 */
/* sonde share holds to its operator's rules: who is told at all, and how finely, from what the BPF
 * program tells to the bytes in a guest's memory.  The program, and the list of VMs, are made up;
 * the guests' memory is this process's. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"
#include "channel/holdups.h"
#include "record/steal/stolen_bpf.h"
#include "record/steal/stolen_share.h"
#include "record/host/tasks.h"
#include "record/host/vmm.h"
#include "record/host/vms.h"

#define NEIGHBOUR 1u /* a process that is another VM */
#define TWIN INT32_MAX
#define RINGS 2u
#define RING_BYTES 4096u
#define REGION_BYTES (ST_PAGE_BYTES + RINGS * RING_BYTES)
#define NONCE UINT64_C(0x1122334455667788)
#define HOLDUPS_MAX 128
#define PENDING 64 /* records of a vCPU that the board keeps at most */
#define CYCLES 30

struct stolen_bpf {
	void (*take)(void *data, const struct holdup *h);
	void *data;
	struct holdup list[HOLDUPS_MAX];
	unsigned nr;
};

static struct stolen_bpf program;
static uint8_t *region;
static bool has_twin; /* another process's VM has the same name */
static char noticed[400];
static unsigned begun, ended;
static bool another_shares;

/* ---- what the host is asked ---------------------------------------------------------------- */

/* Who really shares on this machine is no matter here. */
int flock(int fd, int operation)
{
	(void)fd;
	(void)operation;
	errno = EWOULDBLOCK;
	return another_shares ? -1 : 0;
}

int stolen_bpf_open(struct stolen_bpf **out, uint64_t least_ns,
		    void (*take)(void *data, const struct holdup *h), void *data, struct error *err)
{
	(void)least_ns;
	(void)err;
	program.take = take;
	program.data = data;
	*out = &program;
	return 0;
}

void stolen_bpf_poll(struct stolen_bpf *b)
{
	for (unsigned i = 0; i < b->nr; i++)
		b->take(b->data, &b->list[i]);
	b->nr = 0;
}

uint64_t stolen_bpf_lost(const struct stolen_bpf *b)
{
	(void)b;
	return 0;
}

void stolen_bpf_close(struct stolen_bpf *b)
{
	(void)b;
}

bool in_pid_namespace(void)
{
	return false;
}

void vmm_describe(struct vm_info *vm)
{
	snprintf(vm->name, sizeof(vm->name), "%s", vm->pid == (int)NEIGHBOUR ? "b" : "a");
}

void vm_source_open(struct vm_source *s)
{
	s->kvm_dir = -1;
}

void vm_source_close(struct vm_source *s)
{
	(void)s;
}

int vms_find(struct vm_source *s, struct vms *out)
{
	static struct vm_info list[2];

	(void)s;
	list[0] = (struct vm_info){.pid = getpid()};
	list[1] = (struct vm_info){.pid = TWIN};
	vmm_describe(&list[0]);
	vmm_describe(&list[1]);
	*out = (struct vms){.list = list, .nr = has_twin ? 2 : 1};
	return 0;
}

void vms_release(struct vms *v)
{
	(void)v;
}

/* ---- what the program tells ---------------------------------------------------------------- */

static struct holdup *tell(enum holdup_kind kind, uint64_t time_ns)
{
	struct holdup *h = &program.list[program.nr++];

	assert_true(program.nr <= HOLDUPS_MAX);
	*h = (struct holdup){
		.kind = (uint16_t)kind,
		.tid = (uint32_t)getpid(),
		.tgid = (uint32_t)getpid(),
		.time_ns = time_ns,
		.tsc_ratio = UINT64_C(1) << 32,
		.generation = 1,
	};
	return h;
}

static struct holdup *announce(uint64_t time_ns)
{
	struct holdup *h = tell(HU_ANNOUNCE, time_ns);

	h->announce.nr = (uint64_t)ST_ANNOUNCE_MAGIC << 48 | (uint64_t)ST_VERSION << 40 | RINGS;
	h->announce.at = (uint64_t)(uintptr_t)region;
	h->announce.room = h->announce.bytes = REGION_BYTES;
	h->announce.nonce = NONCE;
	h->announce.ring_bytes = RING_BYTES;
	return h;
}

static struct holdup *take_back(uint64_t time_ns)
{
	struct holdup *h = announce(time_ns);

	h->announce.nr |= (uint64_t)ST_GONE << 32;
	return h;
}

static struct holdup *leave(uint64_t time_ns, uint64_t held_ns)
{
	struct holdup *h = tell(HU_EXIT, time_ns);

	h->exit.begin_ns = time_ns - held_ns;
	h->exit.held_ns = held_ns;
	return h;
}

/* The guest announces its region, its only vCPU waits twice while the neighbour runs, for a bit
 * more than a step and for less than one, and makes an exit of its own. */
static void live(uint64_t now)
{
	struct holdup *h = tell(HU_EXIT, now);

	h->tgid = NEIGHBOUR;
	h->tid = NEIGHBOUR;
	announce(now);
	tell(HU_EXIT, now + 10);
	tell(HU_WAIT, now + 1000)->runner = NEIGHBOUR;
	tell(HU_RUN, now + 1000 + 1700123);
	tell(HU_WAIT, now + 3000000)->runner = NEIGHBOUR;
	tell(HU_RUN, now + 3000000 + 150456);
	leave(now + 4000000, 77777);
}

static void on_notice(const char *text, void *data)
{
	(void)data;
	snprintf(noticed, sizeof(noticed), "%s", text);
}

static void on_guest(const struct stolen_guest *guest, void *data)
{
	(void)data;
	begun += !guest->ended;
	ended += guest->ended;
}

static struct st_ring *ring_of(unsigned i)
{
	return (struct st_ring *)(region + ST_PAGE_BYTES + i * RING_BYTES);
}

static void make_region(void)
{
	struct st_region *g;

	region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	assert_true(region != MAP_FAILED);
	g = (struct st_region *)region;
	*g = (struct st_region){.version = ST_VERSION,
				.nr_rings = RINGS,
				.nonce = NONCE,
				.ring_bytes = RING_BYTES,
				.bytes = REGION_BYTES};
	memcpy(g->magic, ST_REGION_MAGIC, sizeof(g->magic));
	for (unsigned i = 0; i < RINGS; i++) {
		struct st_own *own = &ring_of(i)->own;

		*own = (struct st_own){.version = ST_VERSION,
				       .cpu = i,
				       .vcpu = i,
				       .nonce = NONCE,
				       .ring_bytes = RING_BYTES};
		memcpy(own->magic, ST_RING_MAGIC, sizeof(own->magic));
	}
}

static struct stolen_share *open_share(const char *const *wanted, bool all, uint64_t resolution_ns)
{
	const struct stolen_share_options options = {
		.rules = {.vms = wanted,
			  .nr_vms = *wanted != NULL,
			  .all_vms = all,
			  .resolution_ns = resolution_ns},
		.guest = on_guest,
		.notice = on_notice,
	};
	struct stolen_share *s;
	struct error err = {0};
	int ret;

	has_twin = false;
	begun = ended = 0;
	*noticed = '\0';
	make_region();
	ret = stolen_share_open(&s, &options, &err);
	if (ret == -ENODEV) { /* no cycle counter */
		print_message("# skip: %s\n", err.text);
		skip();
	}
	assert_int_equal(ret, 0);
	return s;
}

/* One look, while @wanted alone may listen; false: nothing was written into the guest's memory. */
static bool share(const char *wanted, bool all, uint64_t resolution_ns, bool twin_comes)
{
	struct stolen_share *s = open_share(&wanted, all, resolution_ns);
	uint8_t before[REGION_BYTES];
	bool is_told;

	memcpy(before, region, REGION_BYTES);
	has_twin = twin_comes;
	live((uint64_t)now_ns(CLOCK_MONOTONIC));
	stolen_share_tick(s);
	is_told = memcmp(before, region, REGION_BYTES) != 0;
	assert_int_equal(begun, is_told);
	if (is_told)
		assert_int_equal(ring_of(0)->told.ended, ring_of(0)->told.begun);
	stolen_share_close(s);
	return is_told;
}

static void done(void)
{
	munmap(region, REGION_BYTES);
}

static void nobody_is_told_who_is_not_named(void **state)
{
	char own[32];

	(void)state;
	snprintf(own, sizeof(own), "pid:%d", (int)getpid());
	assert_true(share("a", false, 1, false));
	done();
	assert_true(share(own, false, 1, false));
	done();
	assert_true(share(NULL, true, 1, false));
	done();
	assert_false(share("b", false, 1, false));
	assert_non_null(strstr(noticed, "is none of the VMs that --vm names"));
	done();
	assert_false(share(NULL, false, 1, false));
	done();
}

/* A second VM of that name begins after the operator has been asked. */
static void a_name_of_two_is_nobodys(void **state)
{
	(void)state;
	assert_false(share("a", false, 1, true));
	assert_non_null(strstr(noticed, "means VMs of two processes"));
	done();
	assert_true(share(NULL, true, 1, true));
	done();
}

/* Of the neighbour whole steps only; what the vCPU's own exits took it can measure itself. */
static void others_times_are_told_in_steps(void **state)
{
	const struct st_told *told;

	(void)state;
	assert_true(share("a", false, STOLEN_RESOLUTION_NS, false));
	told = &ring_of(0)->told;
	assert_int_equal(told->totals[ST_VM].ns, STOLEN_RESOLUTION_NS);
	assert_int_equal(told->totals[ST_VM].count, 2);
	assert_int_equal(told->totals[ST_VM].longest_ns, STOLEN_RESOLUTION_NS);
	assert_int_equal(told->totals[ST_HYPERVISOR].ns, 77777);
	assert_true(told->bound_ns >= STOLEN_RESOLUTION_NS);
	/* The second wait is no record: when it was, nobody is told. */
	assert_int_equal(told->written, 2);
	assert_int_equal(ring_of(0)->records[0].kind, ST_VM);
	assert_int_equal(ring_of(0)->records[0].length_ns, STOLEN_RESOLUTION_NS);
	assert_int_equal(ring_of(0)->records[1].kind, ST_HYPERVISOR);
	assert_int_equal(ring_of(0)->records[1].length_ns, 77777);
	done();
	assert_true(share("a", false, 1, false));
	told = &ring_of(0)->told;
	assert_int_equal(told->totals[ST_VM].ns, 1700123 + 150456);
	assert_int_equal(told->written, 3);
	done();
}

/* What is left of a step is of its own class: what neighbours took does not become the host's. */
static void what_is_left_stays_with_its_class(void **state)
{
	struct stolen_share *s = open_share(&(const char *){NULL}, true, STOLEN_RESOLUTION_NS);
	uint64_t now = (uint64_t)now_ns(CLOCK_MONOTONIC);

	(void)state;
	live(now);
	tell(HU_WAIT, now + 5000000)->runner = TWIN; /* none that runs a vCPU */
	tell(HU_RUN, now + 5000000 + 600000);
	stolen_share_tick(s);
	assert_int_equal(ring_of(0)->told.totals[ST_VM].ns, STOLEN_RESOLUTION_NS);
	assert_int_equal(ring_of(0)->told.totals[ST_HOST].ns, 0);
	stolen_share_close(s);
	done();
}

/* The memory is the guest's again when the host has said so. */
static void the_last_word_is_said(void **state)
{
	(void)state;
	assert_true(share("a", false, STOLEN_RESOLUTION_NS, false));
	assert_true(ring_of(0)->told.begun == ST_LAST_WORD);
	assert_true(ring_of(0)->told.ended == ST_LAST_WORD);
	assert_int_equal(ring_of(1)->told.begun, 0);
	done();
}

/* ---- whose memory it is -------------------------------------------------------------------- */

static struct stolen_share *open_for_all(void)
{
	const char *nobody = NULL;

	return open_share(&nobody, true, 1);
}

/* Where the VM's memory is, is not known any more; or its kernel began anew. */
static void nothing_is_written_into_memory_that_may_be_anothers(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 2; how++) {
		struct stolen_share *s = open_for_all();
		uint64_t now = (uint64_t)now_ns(CLOCK_MONOTONIC);
		uint8_t before[REGION_BYTES];
		struct holdup *h;

		live(now);
		stolen_share_tick(s);
		assert_int_equal(ring_of(0)->told.written, 3);
		memcpy(before, region, REGION_BYTES);
		h = leave(now + 5000000, 1000);
		h->generation += how == 0;
		h->tsc_offset += how == 1;
		stolen_share_tick(s);
		for (unsigned i = 0; i < PENDING + 10; i++) {
			h = leave(now + 6000000 + i * 10000, 1000);
			h->generation += how == 0;
			h->tsc_offset += how == 1;
		}
		stolen_share_tick(s);
		stolen_share_close(s);
		assert_memory_equal(before, region, REGION_BYTES);
		done();
	}
}

static void a_region_is_what_it_says_it_is(void **state)
{
	struct stolen_share *s = open_for_all();
	uint64_t now = (uint64_t)now_ns(CLOCK_MONOTONIC);

	(void)state;
	region[0] ^= 1; /* of its magic */
	announce(now);
	stolen_share_tick(s);
	assert_int_equal(begun, 0);
	region[0] ^= 1;
	announce(now + NS_PER_SEC)->announce.nr += UINT64_C(1) << 40; /* another version */
	stolen_share_tick(s);
	assert_int_equal(begun, 0);
	announce(now + 2 * NS_PER_SEC);
	stolen_share_tick(s);
	assert_int_equal(begun, 1);
	stolen_share_close(s);
	done();
}

/* What a guest may ask of its host, however often it announces and takes back. */
static void a_guest_that_comes_and_goes_keeps_nobody_busy(void **state)
{
	struct stolen_share *s = open_for_all();
	uint64_t now = (uint64_t)now_ns(CLOCK_MONOTONIC);

	(void)state;
	announce(now);
	take_back(now + 1000)->announce.nonce++; /* not what was announced */
	stolen_share_tick(s);
	assert_int_equal(begun, 1);
	assert_int_equal(ended, 0);
	take_back(now + 2000);
	announce(now + 3000);
	stolen_share_tick(s);
	assert_int_equal(begun, 1);
	assert_int_equal(ended, 1);
	for (unsigned i = 1; i <= CYCLES; i++) {
		announce(now + i * NS_PER_SEC);
		take_back(now + i * NS_PER_SEC + 1000);
	}
	stolen_share_tick(s);
	assert_in_range(begun + ended, 10, 20); /* the operator reads no more */
	stolen_share_close(s);
	done();
}

static void who_is_silent_is_forgotten(void **state)
{
	struct stolen_share *s = open_for_all();

	(void)state;
	announce((uint64_t)now_ns(CLOCK_MONOTONIC) - 20 * NS_PER_SEC);
	stolen_share_tick(s);
	assert_int_equal(begun, 1);
	assert_int_equal(ended, 1);
	stolen_share_close(s);
	done();
}

/* A process that ran a vCPU a while ago may be another one by now. */
static void a_vm_of_long_ago_is_no_vm(void **state)
{
	struct stolen_share *s = open_for_all();
	uint64_t now = (uint64_t)now_ns(CLOCK_MONOTONIC);
	struct holdup *h = tell(HU_EXIT, now - 62 * NS_PER_SEC);

	(void)state;
	h->tgid = NEIGHBOUR;
	h->tid = NEIGHBOUR;
	announce(now);
	tell(HU_WAIT, now + 1000)->runner = NEIGHBOUR;
	tell(HU_RUN, now + 1000 + 1700123);
	stolen_share_tick(s);
	assert_int_equal(ring_of(0)->told.totals[ST_VM].ns, 0);
	assert_int_equal(ring_of(0)->told.totals[ST_HOST].ns, 1700123);
	stolen_share_close(s);
	done();
}

/* Each would undo what the other one told. */
static void two_do_not_share(void **state)
{
	const struct stolen_share_options options = {.rules = {.all_vms = true}};
	struct stolen_share *s;
	struct error err = {0};

	(void)state;
	another_shares = true;
	assert_int_equal(stolen_share_open(&s, &options, &err), -EBUSY);
	another_shares = false;
	assert_null(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_told_who_is_not_named),
		cmocka_unit_test(a_name_of_two_is_nobodys),
		cmocka_unit_test(others_times_are_told_in_steps),
		cmocka_unit_test(what_is_left_stays_with_its_class),
		cmocka_unit_test(the_last_word_is_said),
		cmocka_unit_test(nothing_is_written_into_memory_that_may_be_anothers),
		cmocka_unit_test(a_region_is_what_it_says_it_is),
		cmocka_unit_test(a_guest_that_comes_and_goes_keeps_nobody_busy),
		cmocka_unit_test(who_is_silent_is_forgotten),
		cmocka_unit_test(a_vm_of_long_ago_is_no_vm),
		cmocka_unit_test(two_do_not_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
