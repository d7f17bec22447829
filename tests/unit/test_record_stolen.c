/* SPDX-License-Identifier: Apache-2.0 */
/* What holds vCPUs up: waits are cut by who runs, guests are told where they asked for it and
 * nowhere else, and read it as it was told. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel/holdups.h"
#include "record/steal/stolen_board.h"
#include "record/steal/stolen_read.h"
#include "record/steal/stolen_rules.h"
#include "record/steal/stolen_track.h"
#include "record/host/vms.h"

/* ---- stretches ----------------------------------------------------------------------------- */

#define VM_A 100u
#define VM_B 200u
#define HOST_TASK 7u
#define HOLDS_MAX 64

struct taken {
	struct hold list[HOLDS_MAX];
	unsigned nr;
};

static void take(void *data, const struct hold *hold)
{
	struct taken *t = data;

	assert_true(t->nr < HOLDS_MAX);
	t->list[t->nr++] = *hold;
}

static void put(struct stolen_track *t, enum holdup_kind kind, uint32_t tgid, uint64_t time,
		uint32_t cpu, uint32_t runner)
{
	const struct holdup h = {
		.kind = (uint16_t)kind,
		.tid = tgid ? tgid + 1 : 0,
		.tgid = tgid,
		.time_ns = time,
		.cpu = cpu,
		.runner = runner,
	};

	stolen_track_put(t, &h);
}

static void put_exit(struct stolen_track *t, uint32_t tgid, uint64_t time, uint64_t held,
		     uint32_t sum_nr)
{
	const struct holdup h = {
		.kind = HU_EXIT,
		.tid = tgid + 1,
		.tgid = tgid,
		.time_ns = time,
		.tsc_ratio = 1ull << 32,
		.exit = {.begin_ns = time - held,
			 .held_ns = held,
			 .sum_ns = sum_nr * 10,
			 .longest_ns = 10,
			 .sum_nr = sum_nr,
			 .reason = 0x400},
	};

	stolen_track_put(t, &h);
}

static void assert_hold(const struct hold *h, uint32_t tgid, int64_t begin, int64_t length,
			enum st_class kind)
{
	assert_int_equal(h->tgid, tgid);
	assert_int_equal(h->begin_ns, begin);
	assert_int_equal(h->length_ns, length);
	assert_int_equal(h->kind, kind);
}

static void test_classes(void **state)
{
	struct taken got = {.nr = 0};
	struct stolen_track *t = stolen_track_new(take, &got);

	(void)state;
	assert_non_null(t);
	put_exit(t, VM_B, 500, 0, 1); /* B is a VM */
	got.nr = 0;
	put(t, HU_WAIT, VM_A, 1000, 3, HOST_TASK);
	put(t, HU_RUNNER, 0, 1100, 3, VM_B);
	put(t, HU_RUNNER, 0, 1150, 4, VM_A); /* elsewhere */
	put(t, HU_RUNNER, 0, 1300, 3, VM_A);
	put(t, HU_RUNNER, 0, 1600, 3, 0);
	put(t, HU_RUN, VM_A, 2000, 3, 0);
	put(t, HU_RUNNER, 0, 2100, 3, VM_B); /* nobody waits any more */
	assert_int_equal(got.nr, 4);
	assert_hold(&got.list[0], VM_A, 1000, 100, ST_HOST);
	assert_hold(&got.list[1], VM_A, 1100, 200, ST_VM);
	assert_hold(&got.list[2], VM_A, 1300, 300, ST_OWN);
	assert_hold(&got.list[3], VM_A, 1600, 400, ST_NOBODY);
	/* One host task after the other is one stretch. */
	got.nr = 0;
	put(t, HU_WAIT, VM_A, 3000, 3, HOST_TASK);
	put(t, HU_RUNNER, 0, 3100, 3, HOST_TASK + 1);
	put(t, HU_RUN, VM_A, 3200, 3, 0);
	assert_int_equal(got.nr, 1);
	assert_hold(&got.list[0], VM_A, 3000, 200, ST_HOST);
	stolen_track_free(t);
}

/* Whoever is told does not learn when another VM ran: only in which step, and how much in all. */
static void test_resolution(void **state)
{
	const struct stolen_rules rules = {.resolution_ns = 1000};
	uint64_t rest = 0, all = 0, told = 0, x = 88172645463325252u;
	int64_t now = 123456;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		int64_t begin, length;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		begin = now += (int64_t)(x % 5000);
		length = (int64_t)(x >> 32) % (i % 2 ? 400 : 7000);
		all += (uint64_t)length;
		stolen_coarsen(&rules, &begin, &length, &rest);
		assert_int_equal(begin % 1000, 0);
		assert_int_equal(length % 1000, 0);
		assert_true(begin <= now && now - begin < 1000);
		told += (uint64_t)length;
		assert_true(told <= all && all - told < 1000);
	}
	assert_true(told > 1000000);
	assert_true(stolen_is_of_others(ST_VM) && stolen_is_of_others(ST_HOST) &&
		    stolen_is_of_others(ST_OWN) && stolen_is_of_others(ST_NOBODY));
	assert_false(stolen_is_of_others(ST_HYPERVISOR));
}

/* Two that differ by less than a step are told alike. */
static void test_resolution_hides(void **state)
{
	const struct stolen_rules rules = {.resolution_ns = STOLEN_RESOLUTION_NS};
	int64_t begins[] = {5000000, 5999999}, lengths[] = {2000000, 2999999};
	uint64_t rests[2] = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		stolen_coarsen(&rules, &begins[i], &lengths[i], &rests[i]);
	assert_int_equal(begins[0], begins[1]);
	assert_int_equal(lengths[0], lengths[1]);
}

static void test_who_may_listen(void **state)
{
	static const char *const vms[] = {"web-1", "ad8dc0f8-1e07-4e26-8eac-0d0f0fd8c5a0", ""};
	const struct stolen_rules some = {.vms = vms, .nr_vms = 3}, all = {.all_vms = true};
	const struct stolen_rules nobody = {.nr_vms = 0};
	const struct vms none = {0};
	struct vm_info vm = {.name = "web-1"}, other = {.name = "web-10"}, nameless = {.pid = 7};

	(void)state;
	assert_true(stolen_may_listen(&some, &vm, &none));
	assert_false(stolen_may_listen(&some, &other, &none));
	assert_false(stolen_may_listen(&some, &nameless, &none));
	snprintf(other.uuid, sizeof(other.uuid), "AD8DC0F8-1E07-4E26-8EAC-0D0F0FD8C5A0");
	assert_true(stolen_may_listen(&some, &other, &none));
	snprintf(nameless.name, sizeof(nameless.name), "%s",
		 vms[1]); /* another's UUID for a name */
	assert_false(stolen_may_listen(&some, &nameless, &none));
	assert_false(stolen_may_listen(&nobody, &vm, &none));
	assert_true(stolen_may_listen(&all, &nameless, &none));
}

/* A number with something behind it names no process, whoever asks. */
static void test_no_number(void **state)
{
	static const char *const names[] = {"pid:7x"};
	const struct stolen_rules rules = {.vms = names, .nr_vms = 1};
	struct vm_info vm = {.pid = 7, .name = "web-1"};
	const struct vms one = {.list = &vm, .nr = 1};

	(void)state;
	assert_false(stolen_is_name(names[0]));
	assert_false(stolen_may_listen(&rules, &vm, &one));
}

/* What means two VMs means none; each of them can be named in another way. */
static void test_namesakes(void **state)
{
	static const char *const names[] = {"web-2", "web-1"}, *const pids[] = {"pid:8"};
	static const char *const uuids[] = {"ad8dc0f8-1e07-4e26-8eac-0d0f0fd8c5a0"};
	const struct stolen_rules by_name = {.vms = names, .nr_vms = 2};
	const struct stolen_rules by_pid = {.vms = pids, .nr_vms = 1};
	const struct stolen_rules by_uuid = {.vms = uuids, .nr_vms = 1}, all = {.all_vms = true};
	struct vm_info list[] = {{.pid = 7, .name = "web-1"},
				 {.pid = 7, .name = "web-1", .fd = 9}, /* the same process */
				 {.pid = 8, .name = "web-1"},
				 {.pid = 9, .name = "pid:8"}};
	const struct vms one = {.list = list, .nr = 2}, two = {.list = list, .nr = 4};
	int found[2];

	(void)state;
	snprintf(list[0].uuid, sizeof(list[0].uuid), "%s", uuids[0]);
	assert_true(stolen_may_listen(&by_name, &list[0], &one));
	assert_null(stolen_ambiguous(&by_name, &one, found));
	assert_string_equal(stolen_ambiguous(&by_name, &two, found), "web-1");
	assert_true(found[0] == 7 && found[1] == 8);
	assert_null(stolen_ambiguous(&all, &two, found));
	for (unsigned i = 0; i < two.nr; i++) {
		assert_false(stolen_may_listen(&by_name, &list[i], &two));
		assert_true(stolen_may_listen(&by_pid, &list[i], &two) == (list[i].pid == 8));
		assert_true(stolen_may_listen(&by_uuid, &list[i], &two) == !i);
		assert_true(stolen_may_listen(&all, &list[i], &two));
	}
	/* A UUID is taken from a command line, too. */
	snprintf(list[2].uuid, sizeof(list[2].uuid), "%s", uuids[0]);
	assert_false(stolen_may_listen(&by_uuid, &list[0], &two));
	assert_string_equal(stolen_ambiguous(&by_uuid, &two, found), uuids[0]);
}

static void test_moves(void **state)
{
	struct taken got = {.nr = 0};
	struct stolen_track *t = stolen_track_new(take, &got);

	(void)state;
	assert_non_null(t);
	put(t, HU_RUN, VM_A, 900, 1, 0);
	put(t, HU_RUN, VM_B, 900, 2, 0);
	put(t, HU_WAIT, VM_A, 1000, 1, HOST_TASK);
	put(t, HU_WAIT, VM_B, 1000, 1, HOST_TASK);
	put(t, HU_MOVE, VM_A, 1200, 2, VM_B);
	put(t, HU_RUNNER, 0, 1250, 1, 0); /* only B waits there */
	put(t, HU_RUN, VM_A, 1300, 2, 0);
	put(t, HU_RUN, VM_B, 1400, 1, 0);
	assert_int_equal(got.nr, 4);
	assert_hold(&got.list[0], VM_A, 1000, 200, ST_HOST);
	assert_hold(&got.list[1], VM_B, 1000, 250, ST_HOST);
	assert_hold(&got.list[2], VM_A, 1200, 100, ST_VM);
	assert_true(got.list[2].moved);
	assert_hold(&got.list[3], VM_B, 1250, 150, ST_NOBODY);
	assert_true(got.list[3].moved);
	stolen_track_free(t);
}

static void test_exits(void **state)
{
	struct taken got = {.nr = 0};
	struct stolen_track *t = stolen_track_new(take, &got);

	(void)state;
	assert_non_null(t);
	put_exit(t, VM_A, 5000, 300, 4);
	assert_int_equal(got.nr, 2);
	assert_int_equal(got.list[0].sum_nr, 4);
	assert_int_equal(got.list[0].sum_ns, 40);
	assert_hold(&got.list[1], VM_A, 4700, 300, ST_HYPERVISOR);
	assert_int_equal(got.list[1].reason, 0x400);
	assert_int_equal(got.list[1].tsc_ratio, 1ull << 32);
	stolen_track_free(t);
}

/* Events without those that belong to them, twice, on CPUs that there cannot be; of more threads
 * than are kept. */
static void test_disorder(void **state)
{
	struct taken got = {.nr = 0};
	struct stolen_track *t = stolen_track_new(take, &got);

	(void)state;
	assert_non_null(t);
	put(t, HU_RUN, VM_A, 1000, 1, 0);
	put(t, HU_MOVE, VM_A, 1100, 1, 0);
	put(t, HU_WAIT, VM_A, 1200, 1, HOST_TASK);
	put(t, HU_WAIT, VM_A, 1300, 2, HOST_TASK);
	put(t, HU_RUNNER, 0, 1350, 1, 0);
	put(t, HU_WAIT, VM_A, 1400, UINT32_MAX, HOST_TASK);
	put(t, HU_RUNNER, 0, 1400, UINT32_MAX, HOST_TASK);
	put(t, HU_RUN, VM_A, 1500, 2, 0);
	assert_int_equal(got.nr, 1);
	assert_hold(&got.list[0], VM_A, 1300, 200, ST_HOST);
	for (uint32_t i = 0; i < 40000; i++)
		put(t, HU_WAIT, 1000 + i, 2000 + i, 1, HOST_TASK);
	put(t, HU_RUNNER, 0, 1000, 5, VM_A);
	assert_int_equal(got.nr, 1);
	stolen_track_free(t);
}

/* ---- a guest's memory ---------------------------------------------------------------------- */

#define MEMORY (1u << 20)
#define REGION 0x4000u
#define RINGS 3u
#define RING_BYTES 4096u
#define REGION_BYTES (ST_PAGE_BYTES + RINGS * RING_BYTES)
#define NONCE UINT64_C(0x1122334455667788)
#define VCPU(i) ((i)*2) /* APIC IDs with holes */

struct fake_vm {
	int fd;
	uint8_t *memory;
	pid_t pid;
};

static struct st_region *region_of(struct fake_vm *vm)
{
	return (void *)(vm->memory + REGION);
}

static struct st_ring *ring_of(struct fake_vm *vm, unsigned i)
{
	return (void *)(vm->memory + REGION + ST_PAGE_BYTES + i * RING_BYTES);
}

static void make_ring(struct fake_vm *vm, unsigned i)
{
	struct st_own *own = &ring_of(vm, i)->own;

	*own = (struct st_own){.version = ST_VERSION,
			       .cpu = i,
			       .nonce = NONCE,
			       .vcpu = VCPU(i),
			       .ring_bytes = RING_BYTES};
	memcpy(own->magic, ST_RING_MAGIC, sizeof(own->magic));
}

static void make_vm(struct fake_vm *vm)
{
	struct st_region *g;

	vm->fd = memfd_create("guest", MFD_CLOEXEC);
	assert_true(vm->fd >= 0 && !ftruncate(vm->fd, MEMORY));
	vm->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, vm->fd, 0);
	assert_true(vm->memory != MAP_FAILED);
	memset(vm->memory, 0xaa, MEMORY);
	g = region_of(vm);
	memset(g, 0, REGION_BYTES);
	*g = (struct st_region){.version = ST_VERSION,
				.nr_rings = RINGS,
				.nonce = NONCE,
				.ring_bytes = RING_BYTES,
				.bytes = REGION_BYTES};
	memcpy(g->magic, ST_REGION_MAGIC, sizeof(g->magic));
	for (unsigned i = 0; i < RINGS; i++)
		make_ring(vm, i);
	vm->pid = fork();
	assert_true(vm->pid >= 0);
	if (!vm->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void drop_vm(struct fake_vm *vm)
{
	kill(vm->pid, SIGKILL);
	waitpid(vm->pid, NULL, 0);
	munmap(vm->memory, MEMORY);
	close(vm->fd);
}

static struct stolen_place place_of(const struct fake_vm *vm)
{
	return (struct stolen_place){
		.pid = vm->pid,
		.at = (uint64_t)(uintptr_t)vm->memory + REGION,
		.room = MEMORY - REGION,
		.generation = 1,
		.nonce = NONCE,
		.bytes = REGION_BYTES,
		.nr_rings = RINGS,
		.ring_bytes = RING_BYTES,
	};
}

static const struct stolen_state nothing_special = {.lost = 5, .bound_ns = 17};

/* Nothing but the region was written to. */
static void assert_untouched(const struct fake_vm *vm)
{
	for (size_t i = 0; i < MEMORY; i++) {
		if (i < REGION || i >= REGION + REGION_BYTES)
			assert_int_equal(vm->memory[i], 0xaa);
	}
}

static void add(struct stolen_board *b, uint32_t vcpu, enum st_class kind, uint64_t begin,
		uint64_t length)
{
	const struct st_record r = {.begin_tsc = begin, .length_ns = length, .kind = (uint8_t)kind};

	assert_true(stolen_board_add(b, vcpu, &r, 0, 0));
}

/* Told, and read as the guest's program reads it, out of a file that holds the region. */
static void test_told(void **state)
{
	struct stolen_place place;
	struct stolen_board *b;
	struct stolen_reader *r;
	struct st_record list[200];
	uint64_t next = 0, missed = 0;
	struct st_told told;
	struct fake_vm vm;
	char path[64];
	int fd;

	(void)state;
	make_vm(&vm);
	place = place_of(&vm);
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	for (unsigned i = 0; i < 10; i++)
		add(b, VCPU(1), i % 2 ? ST_HOST : ST_VM, 1000 + i, 50 + i);
	assert_true(stolen_board_add(b, VCPU(2), &(struct st_record){.length_ns = 70, .kind = 4}, 7,
				     30));
	assert_false(stolen_board_add(b, 1, &(struct st_record){.length_ns = 1}, 0, 0));
	assert_false(stolen_board_add(b, VCPU(1), &(struct st_record){.kind = ST_CLASSES}, 0, 0));
	stolen_board_set_clock(b, VCPU(1), 5000, 1000000);
	assert_int_equal(stolen_board_tell(b, &nothing_special, false), 0);
	assert_untouched(&vm);

	/* As the device shows it: from its first page on. */
	fd = memfd_create("device", MFD_CLOEXEC);
	assert_int_equal(write(fd, region_of(&vm), REGION_BYTES), REGION_BYTES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(stolen_reader_open(&r, path, NULL), 0);
	assert_int_equal(stolen_reader_nr(r), RINGS);
	assert_false(stolen_reader_told(r, 0, &told));
	assert_true(stolen_reader_told(r, 1, &told));
	assert_int_equal(told.written, 10);
	assert_int_equal(told.until_tsc, 5000);
	assert_int_equal(told.tsc_hz, 1000000);
	assert_int_equal(told.lost, 5);
	assert_int_equal(told.bound_ns, 17);
	assert_int_equal(told.totals[ST_VM].count, 5);
	assert_int_equal(told.totals[ST_VM].ns, 50 + 52 + 54 + 56 + 58);
	assert_int_equal(told.totals[ST_HOST].longest_ns, 59);
	assert_int_equal(stolen_reader_take(r, 1, &told, list, 200, &next, &missed), 10);
	assert_int_equal(list[9].begin_tsc, 1009);
	assert_int_equal(list[9].length_ns, 59);
	assert_int_equal(missed, 0);
	assert_true(stolen_reader_told(r, 2, &told));
	assert_int_equal(told.written, 0);
	assert_int_equal(told.totals[ST_HYPERVISOR].count, 7);
	assert_int_equal(told.totals[ST_HYPERVISOR].longest_ns, 30);
	stolen_reader_close(r);
	close(fd);
	stolen_board_end(b);
	assert_true(ring_of(&vm, 1)->told.begun == ST_LAST_WORD);
	assert_int_not_equal(stolen_board_tell(b, &nothing_special, true), 0);
	stolen_board_close(b);
	drop_vm(&vm);
}

/* More than the ring has room for, in tellings of all sizes. */
static void test_wraps(void **state)
{
	const uint32_t slots = st_slots(RING_BYTES);
	uint64_t next = 0, missed = 0, sum = 0;
	struct stolen_place place;
	struct stolen_board *b;
	struct stolen_reader *r;
	struct st_record list[200];
	struct st_told told;
	struct fake_vm vm;
	char path[64];
	unsigned nr;

	(void)state;
	make_vm(&vm);
	place = place_of(&vm);
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	for (unsigned i = 0, n = 0; i < 60; i++) {
		for (unsigned k = 0; k < i * 7 % 200; k++, n++) {
			add(b, VCPU(0), ST_HOST, n, n);
			sum += n;
		}
		assert_int_equal(stolen_board_tell(b, &nothing_special, i % 2), 0);
	}
	assert_untouched(&vm);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", vm.fd);
	assert_int_equal(stolen_reader_open(&r, path, NULL), -EINVAL); /* it begins elsewhere */
	memmove(vm.memory, vm.memory + REGION, REGION_BYTES);
	assert_int_equal(stolen_reader_open(&r, path, NULL), 0);
	assert_true(stolen_reader_told(r, 0, &told));
	assert_int_equal(told.totals[ST_HOST].ns, sum);
	assert_int_equal(told.totals[ST_HOST].count, told.written);
	nr = stolen_reader_take(r, 0, &told, list, 200, &next, &missed);
	assert_int_equal(nr, slots);
	assert_int_equal(missed, told.written - slots);
	for (unsigned i = 0; i < nr; i++)
		assert_int_equal(list[i].begin_tsc, told.written - slots + i);
	/* A host that lies leads nobody astray. */
	told.written = UINT64_MAX;
	next = 0;
	assert_int_equal(stolen_reader_take(r, 0, &told, list, 200, &next, &missed), 0);
	stolen_reader_close(r);
	stolen_board_close(b);
	drop_vm(&vm);
}

/* Memory that could not be written to once is not written to any more, whatever is there then. */
static void test_once_gone(void **state)
{
	const struct st_record r = {.length_ns = 1};
	struct stolen_place place;
	struct stolen_board *b;
	struct fake_vm vm;
	uint32_t begun;

	(void)state;
	make_vm(&vm);
	place = place_of(&vm);
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	add(b, VCPU(0), ST_HOST, 1, 1);
	assert_int_equal(stolen_board_tell(b, &nothing_special, true), 0);
	begun = ring_of(&vm, 0)->told.begun;
	ring_of(&vm, 0)->own.nonce ^= 1;
	assert_int_not_equal(stolen_board_tell(b, &nothing_special, true), 0);
	ring_of(&vm, 0)->own.nonce ^= 1;
	assert_int_not_equal(stolen_board_tell(b, &nothing_special, false), 0);
	assert_int_not_equal(stolen_board_tell(b, &nothing_special, true), 0);
	assert_false(stolen_board_add(b, VCPU(0), &r, 0, 0));
	stolen_board_end(b);
	assert_true(ring_of(&vm, 0)->told.begun == begun);
	stolen_board_close(b);
	drop_vm(&vm);
}

static int try_place(struct stolen_place place)
{
	struct stolen_board *b;
	int ret = stolen_board_open(&b, &place, NULL);

	stolen_board_close(b);
	return ret;
}

static void test_lies(void **state)
{
	struct stolen_place good, bad;
	struct stolen_board *board;
	struct error err = {0};
	struct fake_vm vm;

	(void)state;
	make_vm(&vm);
	good = place_of(&vm);
	assert_int_equal(try_place(good), 0);
	bad = good;
	bad.room = REGION_BYTES - 1; /* it ends in what is no guest's memory */
	assert_int_equal(try_place(bad), -EINVAL);
	bad.room = 0;
	assert_int_equal(stolen_board_open(&board, &bad, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is no memory of its own"));
	bad = good;
	bad.at += 8;
	assert_int_equal(try_place(bad), -EINVAL);
	bad = good;
	bad.at += ST_PAGE_BYTES; /* a ring is no region */
	bad.room -= ST_PAGE_BYTES;
	assert_int_equal(try_place(bad), -ENODATA);
	bad = good;
	bad.nr_rings = UINT64_C(1) << 52; /* times bytes: 0 */
	bad.bytes = ST_PAGE_BYTES;
	assert_int_equal(try_place(bad), -EINVAL);
	bad = good;
	bad.ring_bytes = 0;
	bad.bytes = ST_PAGE_BYTES;
	assert_int_equal(try_place(bad), -EINVAL);
	bad = good;
	bad.nr_rings = RINGS + 1; /* more than the region says */
	bad.bytes += RING_BYTES;
	assert_int_equal(try_place(bad), -ENODATA);
	bad = good;
	bad.bytes += ST_PAGE_BYTES; /* which no ring has */
	assert_int_equal(try_place(bad), -EINVAL);
	bad = good;
	bad.room = UINT64_C(1) << 40;
	bad.nr_rings = 1;
	bad.ring_bytes = ST_RING_BYTES_MAX + ST_PAGE_BYTES;
	bad.bytes = ST_PAGE_BYTES + bad.ring_bytes;
	assert_int_equal(try_place(bad), -EINVAL);
	bad.nr_rings = 64; /* 64 MiB and a page */
	bad.ring_bytes = ST_RING_BYTES_MAX;
	bad.bytes = ST_PAGE_BYTES + bad.nr_rings * bad.ring_bytes;
	assert_int_equal(try_place(bad), -EINVAL);
	bad = good;
	bad.nonce++;
	assert_int_equal(try_place(bad), -ENODATA);
	bad = good;
	bad.pid = INT32_MAX;
	assert_int_equal(try_place(bad), -ENODATA);
	assert_untouched(&vm);
	drop_vm(&vm);
}

/* A page that is the guest's for something else now is not written to. */
static void test_taken_away(void **state)
{
	struct stolen_place place;
	struct stolen_board *b;
	struct fake_vm vm;

	(void)state;
	make_vm(&vm);
	place = place_of(&vm);
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	add(b, VCPU(0), ST_HOST, 1, 1);
	assert_int_equal(stolen_board_tell(b, &nothing_special, true), 0);
	memset(ring_of(&vm, 0), 0x55, RING_BYTES);
	for (unsigned i = 0; i < 200; i++) {
		const struct st_record r = {.length_ns = 1};

		stolen_board_add(b, VCPU(0), &r, 0, 0);
	}
	assert_int_equal(stolen_board_tell(b, &nothing_special, true), -ENODEV);
	stolen_board_end(b);
	for (unsigned i = 0; i < RING_BYTES; i++)
		assert_int_equal(((uint8_t *)ring_of(&vm, 0))[i], 0x55);
	stolen_board_close(b);
	/* ... nor when the module took it back, or begun anew: all of its mark but the nonce is
	 * there. */
	memset(ring_of(&vm, 0), 0, RING_BYTES);
	make_ring(&vm, 0);
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	ring_of(&vm, 0)->own.nonce = 0;
	assert_false(stolen_board_add(b, VCPU(0), &(struct st_record){.length_ns = 1}, 0, 0));
	assert_int_equal(ring_of(&vm, 0)->told.begun, 0);
	stolen_board_close(b);
	/* ... nor when another CPU's ring stands there. */
	ring_of(&vm, 1)->own.cpu = 2;
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	assert_false(stolen_board_add(b, VCPU(1), &(struct st_record){.length_ns = 1}, 0, 0));
	assert_int_equal(ring_of(&vm, 1)->told.begun, 0);
	place.ring_bytes *= 2;
	assert_int_equal(stolen_board_again(b, &place, NULL), -EINVAL);
	stolen_board_close(b);
	drop_vm(&vm);
}

/* However many vCPUs have no ring, the rings are looked through once: what comes later is found
 * when it is announced. */
static void test_looked_through(void **state)
{
	const struct st_record r = {.length_ns = 1};
	struct stolen_place place;
	struct stolen_board *b;
	struct fake_vm vm;

	(void)state;
	make_vm(&vm);
	place = place_of(&vm);
	ring_of(&vm, 0)->own = (struct st_own){.vcpu = VCPU(2)}; /* not online yet */
	ring_of(&vm, 1)->own.vcpu = 77;
	assert_int_equal(stolen_board_open(&b, &place, NULL), 0);
	assert_false(stolen_board_add(b, 1000, &r, 0, 0));
	ring_of(&vm, 1)->own.vcpu = VCPU(1);
	assert_false(stolen_board_add(b, VCPU(1), &r, 0, 0));
	assert_true(stolen_board_add(b, VCPU(2), &r, 0, 0));
	assert_false(stolen_board_add(b, UINT32_MAX, &r, 0, 0));
	assert_int_equal(stolen_board_again(b, &place, NULL), 0);
	assert_true(stolen_board_add(b, VCPU(1), &r, 0, 0));
	stolen_board_close(b);
	drop_vm(&vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_resolution),
		cmocka_unit_test(test_resolution_hides),
		cmocka_unit_test(test_who_may_listen),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_namesakes),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_once_gone),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_looked_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
