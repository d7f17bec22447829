/* SPDX-License-Identifier: Apache-2.0 */
/* Rings in the memory of a VM's process: what a guest wrote is read, what it lies about is not. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel/reader.h"
#include "channel/writer.h"
#include "record/guestmem/announce.h"
#include "record/guestmem/ring.h"
#include "record/guestmem/rings.h"

#define MEMORY (8u << 20)
#define REGION 0x10000u
#define RINGS 0x100000u
#define SLOTS 7u
#define RING_BYTES ((SLOTS + 1) * HT_SLOT_BYTES)
#define NONCE UINT64_C(0x123456789abcdef)
#define CPUS 2u

/* A process that has a guest's memory mapped, and does nothing. */
struct fake_vm {
	uint8_t *memory;
	pid_t pid;
	struct sink sink;
	FILE *out;			       /* where it leads */
	void (*meanwhile)(struct fake_vm *vm); /* what the guest does when a block is written out */
	struct ht_writer writers[CPUS];
	uint64_t events[CPUS];
};

static struct ht_region *region_of(struct fake_vm *vm)
{
	return (struct ht_region *)(vm->memory + REGION);
}

static struct ht_ring *ring_of(struct fake_vm *vm, unsigned cpu)
{
	return (struct ht_ring *)(vm->memory + RINGS + cpu * RING_BYTES);
}

static int write_out(struct sink *sink, enum sink_part kind, unsigned number, const void *data,
		     size_t len_bytes, struct error *err)
{
	struct fake_vm *vm = (struct fake_vm *)((char *)sink - offsetof(struct fake_vm, sink));

	assert_int_equal(kind, SINK_BLOCKS);
	assert_int_equal(number, 0);
	if (!vm->out)
		return fail(err, -EPIPE, "the link is lost");
	assert_int_equal(fwrite(data, 1, len_bytes, vm->out), len_bytes);
	if (vm->meanwhile)
		vm->meanwhile(vm);
	return 0;
}

static void make_vm(struct fake_vm *vm)
{
	static const struct sink_ops ops = {.write = write_out};
	struct ht_region *region;
	uint8_t sum = 0;
	int ready[2];

	memset(vm, 0, sizeof(*vm));
	vm->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(vm->memory != MAP_FAILED);
	region = region_of(vm);
	memcpy(region->magic, HT_REGION_MAGIC, 8);
	region->version = HT_RING_VERSION;
	region->nonce = NONCE;
	region->nr_rings = CPUS;
	region->ring_bytes = RING_BYTES;
	region->bytes = HT_SLOT_BYTES;
	for (unsigned i = 0; i < CPUS; i++) {
		struct ht_ring *ring = ring_of(vm, i);

		memcpy(ring->magic, HT_RING_MAGIC, 8);
		ring->version = HT_RING_VERSION;
		ring->cpu = i;
		ring->nonce = NONCE;
		ring->nr_slots = SLOTS;
		region->rings[i] = RINGS + i * RING_BYTES;
		ht_writer_init(&vm->writers[i], (uint16_t)i, 0);
	}
	assert_int_equal(pipe(ready), 0);
	vm->pid = fork();
	assert_true(vm->pid >= 0);
	if (!vm->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t at = 0; at < MEMORY; at += HT_SLOT_BYTES) /* it is there */
			sum += *(volatile uint8_t *)(vm->memory + at);
		if (write(ready[1], &sum, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &sum, 1), 1);
	close(ready[0]);
	close(ready[1]);
	vm->sink.ops = &ops;
	vm->out = tmpfile();
	assert_non_null(vm->out);
}

static void end_vm(struct fake_vm *vm)
{
	kill(vm->pid, SIGKILL);
	waitpid(vm->pid, NULL, 0);
}

static void drop_vm(struct fake_vm *vm)
{
	end_vm(vm);
	fclose(vm->out);
	munmap(vm->memory, MEMORY);
}

/* A block of @events switches, as the guest's module writes it. */
static void write_block(struct fake_vm *vm, unsigned cpu, unsigned events)
{
	struct ht_ring *ring = ring_of(vm, cpu);
	struct ht_slot *slot =
		(struct ht_slot *)((uint8_t *)ring + (ring->written % SLOTS + 1) * HT_SLOT_BYTES);
	struct ht_task task = {10, 10, false, "worker"};
	uint64_t tsc = 1000 * (ring->written + 1);

	ht_begin(&vm->writers[cpu], slot->block, HT_SLOT_BLOCK_MAX, tsc);
	for (unsigned i = 0; i < events; i++)
		assert_true(ht_switch(&vm->writers[cpu], tsc + i, &task, HT_SLEEPING));
	ht_end(&vm->writers[cpu]);
	vm->events[cpu] += events;
	slot->events = vm->events[cpu];
	__atomic_store_n(&ring->written, ring->written + 1, __ATOMIC_RELEASE);
}

static const struct ring_announcement announced = {
	.region = REGION, .nonce = NONCE, .ring_bytes = RING_BYTES, .nr_rings = CPUS};

static struct ring_set *open_rings(struct fake_vm *vm, const struct ring_announcement *a)
{
	uint64_t pages = 1 << 20;
	struct ring_set *s;
	struct error err = {0};

	assert_int_equal(ring_set_open(&s, vm->pid, a, &pages, &err), 0);
	return s;
}

static int drain(struct ring_set *s, struct sink *sink, struct error *err)
{
	uint64_t pages = 1 << 20;

	return ring_set_drain(s, &pages, sink, err);
}

/* Blocks in the file, by CPU; each is whole, and in order. */
static void count_blocks(struct fake_vm *vm, uint64_t blocks[CPUS], uint64_t events[CPUS])
{
	static uint8_t file[64u << 20];
	uint32_t next[CPUS] = {0};
	size_t len, at = 0;
	struct ht_reader r;

	memset(blocks, 0, CPUS * sizeof(*blocks));
	memset(events, 0, CPUS * sizeof(*events));
	rewind(vm->out);
	len = fread(file, 1, sizeof(file), vm->out);
	assert_true(len < sizeof(file));
	ht_reader_init(&r);
	while (at < len) {
		uint32_t n = ht_block_length(file + at, (uint32_t)(len - at));
		struct ht_item item;

		assert_true(n && n <= len - at);
		assert_int_equal(ht_block_open(&r, file + at, n), 0);
		assert_true(r.cpu < CPUS);
		assert_true(r.seq - 1 >= next[r.cpu]);
		next[r.cpu] = r.seq;
		while (ht_block_next(&r, &item))
			events[r.cpu] += item.opcode < HT_TASK;
		blocks[r.cpu]++;
		at += n;
	}
	assert_int_equal(r.stats.blocks_broken, 0);
}

static void test_drain(void **state)
{
	uint64_t blocks[CPUS], events[CPUS];
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	for (unsigned i = 0; i < 100; i++) {
		write_block(&vm, 0, i % 5 + 1);
		if (i % 3 == 0)
			write_block(&vm, 1, 40);
		assert_int_equal(drain(s, &vm.sink, NULL), 0);
	}
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 100);
	assert_int_equal(blocks[1], 34);
	assert_int_equal(events[0], vm.events[0]);
	assert_int_equal(events[1], vm.events[1]);
	assert_int_equal(ring_set_counts(s).blocks_lost, 0);
	assert_int_equal(ring_set_counts(s).broken, 0);
	ring_set_close(s);
	drop_vm(&vm);
}

/* What was written over is counted: blocks, and the events that were in them. */
static void test_overrun(void **state)
{
	uint64_t blocks[CPUS], events[CPUS];
	struct ring_counts c;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	write_block(&vm, 0, 3);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	for (unsigned i = 0; i < 50; i++)
		write_block(&vm, 0, 3 + i % 4);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	c = ring_set_counts(s);
	/* The slot that is written next may be half written already. */
	assert_int_equal(blocks[0], 1 + SLOTS - 1);
	assert_int_equal(c.blocks_lost, 50 - (SLOTS - 1));
	assert_int_equal(c.events_lost, vm.events[0] - events[0]);
	ring_set_close(s);
	drop_vm(&vm);
}

/* Addresses that lead nowhere: magic and nonce are looked for. */
static void test_found_anyway(void **state)
{
	static const struct ring_announcement lost = {.region = UINT64_C(1) << 40, .nonce = NONCE};
	static const struct ring_announcement any;
	uint64_t blocks[CPUS], events[CPUS];
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	region_of(&vm)->rings[1] = UINT64_C(1) << 41;
	write_block(&vm, 0, 2);
	write_block(&vm, 1, 2);
	s = open_rings(&vm, &lost);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 1);
	assert_int_equal(blocks[1], 1);
	ring_set_close(s);
	s = open_rings(&vm, &any);
	assert_int_equal(ring_set_nonce(s), NONCE);
	ring_set_close(s);
	drop_vm(&vm);
}

/* Memory of a guest of this guest is in this guest's, wherever: what it has there is not taken for
 * this guest's own, unless this guest has said so itself. */
static void test_of_a_guests_guest(void **state)
{
	static const struct ring_announcement any;
	struct error err = {0};
	struct fake_vm vm;
	uint64_t pages = 1 << 20;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	for (unsigned i = 0; i < CPUS; i++)
		region_of(&vm)->rings[i] += MEMORY / 2;
	assert_int_equal(ring_set_open(&s, vm.pid, &any, &pages, &err), -EREMOTE);
	assert_non_null(strstr(err.text, "guest of its guest"));
	assert_null(s);
	s = open_rings(&vm, &announced);
	ring_set_close(s);

	/* Its own counts, wherever it comes. */
	memcpy(vm.memory + REGION / 2, region_of(&vm), HT_SLOT_BYTES);
	memcpy(vm.memory + 2 * REGION, region_of(&vm), HT_SLOT_BYTES);
	for (unsigned i = 0; i < CPUS; i++)
		((struct ht_region *)(vm.memory + 2 * REGION))->rings[i] -= MEMORY / 2;
	s = open_rings(&vm, &any);
	write_block(&vm, 0, 3);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).blocks, 1);
	ring_set_close(s);
	drop_vm(&vm);
}

/* Where the blocks go takes no more. */
static void test_sink_fails(void **state)
{
	struct error err = {0};
	struct fake_vm vm;
	struct ring_set *s;
	FILE *out;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	write_block(&vm, 0, 3);
	out = vm.out;
	vm.out = NULL;
	assert_int_equal(drain(s, &vm.sink, &err), -EPIPE);
	assert_string_equal(err.text, "the link is lost");
	assert_int_equal(ring_set_counts(s).blocks, 0);
	vm.out = out;
	ring_set_close(s);
	drop_vm(&vm);
}

/* A table that changes all the time does not keep us looking at all pages; where there are none
 * left to be looked at, that is for the next time. */
static void test_searches(void **state)
{
	uint64_t none = 0, left = 1 << 20, blocks[CPUS], events[CPUS];
	unsigned searches = 0;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	region_of(&vm)->rings[0] = UINT64_C(1) << 41;
	write_block(&vm, 0, 2);
	s = open_rings(&vm, &announced);
	assert_int_equal(ring_set_drain(s, &none, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 0);
	assert_int_equal(ring_set_drain(s, &left, &vm.sink, NULL), 0);
	assert_true((1 << 20) - left >= MEMORY / HT_SLOT_BYTES); /* each page counts */
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 1);
	ring_set_close(s);

	ring_of(&vm, 0)->nr_slots = 0;
	s = open_rings(&vm, &announced);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t pages = 1 << 20;

		region_of(&vm)->rings[0] = (UINT64_C(1) << 41) + i * HT_SLOT_BYTES;
		assert_int_equal(ring_set_drain(s, &pages, &vm.sink, NULL), 0);
		searches += pages != 1 << 20;
	}
	assert_in_range(searches, 2, 12);
	ring_set_close(s);
	drop_vm(&vm);
}

/* The same rings in a device's memory: the region is where it begins, and nobody announces it. */
static void make_device(struct fake_vm *vm)
{
	memcpy(vm->memory, region_of(vm), HT_SLOT_BYTES);
	memset(region_of(vm), 0, HT_SLOT_BYTES);
	((struct ht_region *)vm->memory)->flags = HT_REGION_RELATIVE;
}

static const struct ring_announcement in_device = {.in_device = true};

static void test_device(void **state)
{
	uint64_t blocks[CPUS], events[CPUS], none = 0;
	struct ht_region *region;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	assert_int_equal(ring_set_open(&s, vm.pid, &in_device, &none, NULL), -ENODATA);
	make_device(&vm);
	region = (struct ht_region *)vm.memory;
	write_block(&vm, 0, 2);
	write_block(&vm, 1, 3);
	/* No page is looked at for it. */
	assert_int_equal(ring_set_open(&s, vm.pid, &in_device, &none, NULL), 0);
	assert_true(ring_set_in_device(s));
	assert_int_equal(ring_set_drain(s, &none, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	assert_int_equal(events[0], 2);
	assert_int_equal(events[1], 3);
	/* A module that goes, and another one that comes. */
	region->nonce = 0;
	assert_int_equal(ring_set_drain(s, &none, &vm.sink, NULL), -ENODEV);
	ring_set_close(s);
	assert_int_equal(ring_set_open(&s, vm.pid, &in_device, &none, NULL), -ENODATA);
	region->nonce = NONCE + 1;
	assert_int_equal(ring_set_open(&s, vm.pid, &in_device, &none, NULL), 0);
	assert_int_equal(ring_set_nonce(s), NONCE + 1);
	ring_set_close(s);
	drop_vm(&vm);
}

/* What was in a device's memory when it was seen first is not read, or not before it moves. */
static void test_device_of_an_earlier_life(void **state)
{
	uint64_t blocks[CPUS], events[CPUS];
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	make_device(&vm);
	write_block(&vm, 0, 2);
	write_block(&vm, 0, 2);
	s = open_rings(&vm, &in_device);
	ring_set_see(s, true);
	assert_int_equal(ring_set_has_moved(s), 0);
	write_block(&vm, 0, 5);
	write_block(&vm, 1, 3);
	assert_int_equal(ring_set_has_moved(s), 1);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 1);
	assert_int_equal(events[0], 5);
	assert_int_equal(events[1], 3);
	((struct ht_region *)vm.memory)->nonce = 0;
	assert_int_equal(ring_set_has_moved(s), -ENODEV);
	ring_set_close(s);
	drop_vm(&vm);
}

struct told {
	struct sink *sink;
	unsigned guests, notices;
	char notice[256];
};

static struct sink *place_guest(const struct rings_guest *guest, void *data)
{
	struct told *told = data;

	(void)guest;
	told->guests++;
	return told->sink;
}

static void note(const char *text, void *data)
{
	struct told *told = data;

	if (!strstr(text, "ivshmem"))
		return;
	told->notices++;
	snprintf(told->notice, sizeof(told->notice), "%.255s", text);
}

static struct rings *open_all(struct told *told, struct fake_vm *vm)
{
	const struct rings_options options = {.place = place_guest, .notice = note, .data = told};
	struct rings *r;

	*told = (struct told){.sink = &vm->sink};
	assert_int_equal(rings_open(&r, &options, NULL), 0);
	assert_int_equal(rings_share(r, vm->pid), 0);
	rings_tick(r);
	return r;
}

/* The next look into devices is a second later. */
static void next_look(struct rings *r)
{
	usleep(1100000);
	rings_tick(r);
}

static void test_devices_guests(void **state)
{
	uint64_t blocks[CPUS], events[CPUS];
	struct fake_vm vm;
	struct told told;
	struct rings *r;

	(void)state;
	make_vm(&vm);
	make_device(&vm);
	write_block(&vm, 0, 2);
	r = open_all(&told, &vm);
	next_look(r);
	assert_int_equal(told.guests, 0);
	/* The module is loaded: new rings are read from their first block. */
	((struct ht_region *)vm.memory)->nonce = NONCE + 1;
	for (unsigned i = 0; i < CPUS; i++)
		ring_of(&vm, i)->nonce = NONCE + 1;
	next_look(r);
	assert_int_equal(told.guests, 1);
	count_blocks(&vm, blocks, events);
	assert_int_equal(events[0], 2);
	rings_close(r);
	drop_vm(&vm);

	/* A VM that came while recording goes on: all of it is its own when it moves. */
	make_vm(&vm);
	make_device(&vm);
	write_block(&vm, 0, 2);
	r = open_all(&told, &vm);
	write_block(&vm, 0, 3);
	rings_tick(r);
	assert_int_equal(told.guests, 1);
	count_blocks(&vm, blocks, events);
	assert_int_equal(events[0], 5);
	rings_close(r);
	drop_vm(&vm);
}

/* Another process that has the same memory. */
static pid_t have_it_too(const struct fake_vm *vm)
{
	uint8_t sum = 0;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t at = 0; at < MEMORY; at += HT_SLOT_BYTES)
			sum += *(volatile uint8_t *)(vm->memory + at);
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

static void test_a_device_of_two_vms(void **state)
{
	struct fake_vm vm;
	struct told told;
	struct rings *r;
	pid_t other;

	(void)state;
	make_vm(&vm);
	make_device(&vm);
	other = have_it_too(&vm);
	r = open_all(&told, &vm);
	write_block(&vm, 0, 3);
	rings_tick(r);
	assert_int_equal(told.guests, 1);
	assert_int_equal(rings_share(r, other), 0);
	next_look(r);
	write_block(&vm, 0, 3);
	next_look(r);
	assert_int_equal(told.guests, 1);
	assert_int_equal(told.notices, 1);
	assert_non_null(strstr(told.notice, "same ivshmem memory"));
	assert_true(rings_guest(r, 0).ended);
	assert_non_null(strstr(rings_guest(r, 0).why, "another VM's"));
	assert_int_equal(rings_guest(r, 0).counts.blocks, 1);
	rings_close(r);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	drop_vm(&vm);
}

/* A ring that would end behind the device's memory is none, whatever stands where it begins. */
static void test_device_lies(void **state)
{
	static const uint64_t places[] = {MEMORY - HT_SLOT_BYTES,
					  MEMORY - RING_BYTES + HT_SLOT_BYTES, MEMORY, UINT64_MAX,
					  UINT64_MAX - RING_BYTES};
	struct ht_region *region;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	make_device(&vm);
	region = (struct ht_region *)vm.memory;
	write_block(&vm, 0, 1);
	memcpy(vm.memory + MEMORY - HT_SLOT_BYTES, ring_of(&vm, 0), HT_SLOT_BYTES);
	memcpy(vm.memory + MEMORY - RING_BYTES + HT_SLOT_BYTES, ring_of(&vm, 0), 2 * HT_SLOT_BYTES);
	memcpy(vm.memory + MEMORY - RING_BYTES, ring_of(&vm, 0), 2 * HT_SLOT_BYTES);
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		region->rings[0] = places[i];
		s = open_rings(&vm, &in_device);
		assert_int_equal(drain(s, &vm.sink, NULL), 0);
		assert_int_equal(ring_set_counts(s).blocks, 0);
		assert_int_equal(ring_set_counts(s).broken, 0); /* nor looked at */
		ring_set_close(s);
	}
	region->rings[0] = MEMORY - RING_BYTES;
	s = open_rings(&vm, &in_device);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).blocks, 1);
	ring_set_close(s);
	drop_vm(&vm);
}

static int try_open(struct fake_vm *vm)
{
	uint64_t pages = 1 << 20;
	struct ring_set *s;
	struct error err = {0};
	int ret = ring_set_open(&s, vm->pid, &announced, &pages, &err);

	ring_set_close(s);
	assert_true(!ret || *err.text);
	return ret;
}

static void test_lies(void **state)
{
	struct ht_region *region;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	region = region_of(&vm);
	region->nr_rings = UINT32_MAX;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->nr_rings = HT_RINGS_MAX;
	region->ring_bytes = HT_RING_BYTES_MAX;
	assert_int_equal(try_open(&vm), -E2BIG);
	region->nr_rings = CPUS;
	region->ring_bytes = 5000;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->ring_bytes = RING_BYTES + 8;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->ring_bytes = HT_RING_BYTES_MAX + HT_SLOT_BYTES;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->ring_bytes = 0;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->ring_bytes = RING_BYTES;
	region->nonce = NONCE + 1;
	assert_int_equal(try_open(&vm), -ENODATA);
	region->nonce = NONCE;

	/* A number of slots that is not the ring's: it is none. */
	ring_of(&vm, 0)->nr_slots = 1000000;
	write_block(&vm, 1, 1);
	s = open_rings(&vm, &announced);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).blocks, 1);
	/* Time does not go back. */
	ring_of(&vm, 1)->written = 0;
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	ring_of(&vm, 1)->written = 1;
	write_block(&vm, 1, 1);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).blocks, 1);
	ring_set_close(s);
	ring_of(&vm, 0)->nr_slots = SLOTS;

	/* A ring that is there, but not in the table; it is found when another one is looked for.
	 */
	region->rings[0] = 0;
	region->rings[1] = UINT64_C(1) << 41;
	write_block(&vm, 0, 1);
	s = open_rings(&vm, &announced);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).blocks, 3);
	ring_set_close(s);
	drop_vm(&vm);
}

static void test_bad_blocks(void **state)
{
	uint64_t blocks[CPUS], events[CPUS];
	struct ht_slot *slot;
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	for (unsigned i = 0; i < 5; i++)
		write_block(&vm, 0, 4);
	slot = (struct ht_slot *)((uint8_t *)ring_of(&vm, 0) + HT_SLOT_BYTES);
	slot[1].block[0] ^= 1;	  /* no magic */
	slot[2].block[5] = 0xff;  /* longer than a slot */
	slot[3].block[8] ^= 0x10; /* another's number */
	slot[4].block[4] = (HT_SLOT_BLOCK_MAX + 1) & 0xff;
	slot[4].block[5] = (HT_SLOT_BLOCK_MAX + 1) >> 8;
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	assert_int_equal(ring_set_counts(s).broken, 4);
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 1);
	/* A number that no guest reaches: the rest of the ring is not what it should be. */
	ring_of(&vm, 0)->written = UINT64_MAX - 3;
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	count_blocks(&vm, blocks, events);
	assert_int_equal(blocks[0], 1);
	ring_set_close(s);
	drop_vm(&vm);
}

static void writes_on(struct fake_vm *vm)
{
	if (ring_of(vm, 0)->written < 1000)
		write_block(vm, 0, 1);
}

static void writes_over(struct fake_vm *vm)
{
	vm->meanwhile = NULL;
	for (unsigned i = 0; i < 8; i++)
		write_block(vm, 0, 1);
}

static void goes_back(struct fake_vm *vm)
{
	ring_of(vm, 0)->written = 6;
}

static void takes_away(struct fake_vm *vm)
{
	ring_of(vm, 0)->nonce = 0;
}

/* Blocks 5 to 8 are read in two pieces, for the ring ends between them; the guest acts while the
 * first one is written out. */
static struct ring_counts drain_while(void (*acts)(struct fake_vm *vm))
{
	struct ring_counts c;
	struct fake_vm vm;
	struct ring_set *s;

	make_vm(&vm);
	s = open_rings(&vm, &announced);
	for (unsigned i = 0; i < 5; i++)
		write_block(&vm, 0, 1);
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		write_block(&vm, 0, 1);
	vm.meanwhile = acts;
	assert_int_equal(drain(s, &vm.sink, NULL), 0);
	c = ring_set_counts(s);
	ring_set_close(s);
	drop_vm(&vm);
	return c;
}

static void test_changes_while_read(void **state)
{
	struct ring_counts c = drain_while(NULL);

	(void)state;
	assert_true(c.blocks == 9 && !c.blocks_lost && !c.broken);
	/* More comes all the time: that is for the next look. */
	c = drain_while(writes_on);
	assert_true(c.blocks == 9 && !c.blocks_lost && !c.broken);
	/* Blocks 7 and 8 are gone before they are read: lost, not broken. */
	c = drain_while(writes_over);
	assert_true(c.blocks == 7 && c.blocks_lost == 2 && !c.broken);
	/* A ring that goes back is none, nor is one whose memory is the guest's again. */
	c = drain_while(goes_back);
	assert_true(c.blocks == 7 && !c.blocks_lost && !c.broken);
	c = drain_while(takes_away);
	assert_true(c.blocks == 7 && !c.blocks_lost && !c.broken);
}

static void test_ends(void **state)
{
	struct error err = {0};
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	write_block(&vm, 0, 4);
	assert_int_equal(drain(s, &vm.sink, &err), 0);
	region_of(&vm)->nonce = 0;
	assert_int_equal(drain(s, &vm.sink, &err), -ENODEV);
	region_of(&vm)->nonce = NONCE;
	assert_int_equal(drain(s, &vm.sink, &err), 0);
	end_vm(&vm);
	assert_int_equal(drain(s, &vm.sink, &err), -ESRCH);
	ring_set_close(s);
	drop_vm(&vm);
}

/* What a guest may send is bounded, and all of what was taken is whole. */
static void test_limit(void **state)
{
	uint64_t blocks[CPUS], events[CPUS], one;
	struct error err = {0};
	struct fake_vm vm;
	struct ring_set *s;

	(void)state;
	make_vm(&vm);
	s = open_rings(&vm, &announced);
	write_block(&vm, 0, 4);
	assert_int_equal(drain(s, &vm.sink, &err), 0);
	one = ring_set_counts(s).bytes;
	ring_set_limit(s, one * 3 + one / 2);
	for (unsigned i = 0; i < 5; i++)
		write_block(&vm, 0, 4);
	assert_int_equal(drain(s, &vm.sink, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "limit"));
	assert_true(ring_set_counts(s).bytes <= one * 3 + one / 2);
	count_blocks(&vm, blocks, events);
	assert_true(blocks[0] >= 2 && blocks[0] < 6);
	assert_int_equal(blocks[0], ring_set_counts(s).blocks);
	/* Less than what there is already: nothing more. */
	ring_set_limit(s, 1);
	write_block(&vm, 1, 4);
	assert_int_equal(drain(s, &vm.sink, &err), -EDQUOT);
	assert_int_equal(ring_set_counts(s).blocks, blocks[0]);
	ring_set_close(s);
	drop_vm(&vm);
}

struct race {
	struct fake_vm vm;
	atomic_bool stop;
};

static void *write_blocks(void *data)
{
	struct race *race = data;

	for (unsigned i = 0; i < 20000; i++)
		write_block(&race->vm, 0, 1 + i % 7);
	race->stop = true;
	return NULL;
}

/* A guest that writes as fast as it can while it is read: what comes out is whole, and what does
 * not is counted. */
static void test_race(void **state)
{
	static struct race race;
	uint64_t blocks[CPUS], events[CPUS];
	struct ring_counts c;
	struct ring_set *s;
	pthread_t writer;

	(void)state;
	make_vm(&race.vm);
	s = open_rings(&race.vm, &announced);
	write_block(&race.vm, 0, 1);
	assert_int_equal(drain(s, &race.vm.sink, NULL), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_blocks, &race), 0);
	while (!race.stop)
		assert_int_equal(drain(s, &race.vm.sink, NULL), 0);
	pthread_join(writer, NULL);
	assert_int_equal(drain(s, &race.vm.sink, NULL), 0);
	c = ring_set_counts(s);
	count_blocks(&race.vm, blocks, events);
	assert_int_equal(c.broken, 0);
	assert_int_equal(blocks[0], c.blocks);
	assert_int_equal(c.blocks + c.blocks_lost, 20001);
	assert_int_equal(events[0] + c.events_lost, race.vm.events[0]);
	ring_set_close(s);
	drop_vm(&race.vm);
}

#define KERNEL "0xffffffffc0401000"
#define USER "0x401000"
#define EXIT(tid, rip)                                                                             \
	"       CPU 0/KVM-" tid                                                                    \
	"     [001] d..1.    59.123450: kvm_exit: vcpu 0 reason vmmcall rip " rip                  \
	" info1 0x0000000000000000 info2 0x0000000000000000 intr_info 0x00000000"
#define CALL(tid)                                                                                  \
	"       CPU 0/KVM-" tid                                                                    \
	"     [001] d..1.    59.123456: kvm_hypercall: nr 0x5352010000000002 "                     \
	"a0 0x7f10000 a1 0x1000 a2 0xabc a3 0x100000"
#define CALL_BY(nr, nonce)                                                                         \
	"       CPU 0/KVM-166     [001] d..1.    59.123456: kvm_hypercall: nr " nr                 \
	" a0 0x7f10000 a1 0x1000 a2 " nonce " a3 0x100000"
#define OTHER_CALL(tid)                                                                            \
	"       CPU 0/KVM-" tid "     [001] d..1.    59.123456: kvm_hypercall: nr 0xa "            \
	"a0 0x1 a1 0x0 a2 0x0 a3 0xfd"

static void test_announcement(void **state)
{
	static struct announce l;
	struct announcement a;

	(void)state;
	assert_true(announce_line(&l, CALL("166"), &a));
	assert_int_equal(a.tid, 166);
	assert_int_equal(a.origin, HT_ORIGIN_UNKNOWN);
	assert_int_equal(a.what, HT_REGION_HERE);
	assert_int_equal(a.rings.region, 0x7f10000);
	assert_int_equal(a.rings.nonce, 0xabc);
	assert_int_equal(a.rings.nr_rings, 2);
	assert_int_equal(a.rings.ring_bytes, 0x100000);
	/* A thread's name is no evidence. */
	assert_true(announce_line(&l,
				  " x [9] -7 [000]-55      [002] d..1.    1.5: kvm_hypercall: nr "
				  "0x5352010100000001 a0 0x1 a1 0x2 a2 0x3 a3 0x4",
				  &a));
	assert_int_equal(a.tid, 55);
	assert_int_equal(a.what, HT_REGION_GONE);
	assert_false(
		announce_line(&l,
			      "qemu-1 [000] 1.0: kvm_hypercall: nr 0x5348 a0 0x1 a1 0x1 a2 0x1 "
			      "a3 0x1",
			      &a));
	assert_false(
		announce_line(&l, "qemu-1 [000] 1.0: kvm_hypercall: nr 0x5352010000000002 a0", &a));
	assert_false(announce_line(
		&l, ": kvm_hypercall: nr 0x5352010000000002 a0 0x1 a1 0x1 a2 0x1 a3 0x1", &a));
	assert_false(announce_line(&l, "", &a));
}

static enum ht_origin says(struct announce *l, const char *tid)
{
	struct announcement a;

	assert_true(announce_line(l, !strcmp(tid, "166") ? CALL("166") : CALL("422"), &a));
	return a.origin;
}

/* Whose an announcement is tells the exit before it, of the same thread, once. */
static void test_announced_by(void **state)
{
	static struct announce l;
	struct announcement a;

	(void)state;
	assert_false(announce_line(&l, EXIT("166", KERNEL), &a));
	assert_int_equal(says(&l, "166"), HT_ORIGIN_KERNEL);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_UNKNOWN);
	/* Two vCPUs, one in its kernel, one not; and two threads with one place (166 and 422). */
	announce_line(&l, EXIT("166", KERNEL), &a);
	announce_line(&l, EXIT("167", USER), &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_KERNEL);
	announce_line(&l, EXIT("166", KERNEL), &a);
	announce_line(&l, EXIT("166", USER), &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_USER);
	announce_line(&l, EXIT("166", KERNEL), &a);
	assert_int_equal(says(&l, "422"), HT_ORIGIN_UNKNOWN);
	for (unsigned i = 0; i < 9; i++) { /* one that does not stop does not drive out the other */
		announce_line(&l, EXIT("422", USER), &a);
		assert_int_equal(says(&l, "422"), HT_ORIGIN_USER);
	}
	assert_int_equal(says(&l, "166"), HT_ORIGIN_KERNEL);
	/* Three of a place do not drive out the fourth. */
	announce_line(&l, EXIT("166", KERNEL), &a);
	announce_line(&l, EXIT("230", USER), &a);
	announce_line(&l, EXIT("294", USER), &a);
	announce_line(&l, EXIT("358", USER), &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_KERNEL);
	/* What the kernel overwrote may have been another exit. */
	announce_line(&l, EXIT("166", KERNEL), &a);
	announce_line(&l, "CPU:1 [LOST 17 EVENTS]", &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_UNKNOWN);
	/* An exit is of the next call, announcement or not; and of none on another CPU. */
	announce_line(&l, EXIT("166", KERNEL), &a);
	assert_false(announce_line(&l, OTHER_CALL("166"), &a));
	assert_int_equal(says(&l, "166"), HT_ORIGIN_UNKNOWN);
	announce_line(&l, " a-166 [003] d..1. 5.1: kvm_exit: vcpu 0 reason vmmcall rip " KERNEL,
		      &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_UNKNOWN);
	/* Linux before 5.10; a page that processes execute; an exit that cannot be read. */
	announce_line(&l, " a-166 [001] d..1. 5.1: kvm_exit: reason VMCALL rip " KERNEL " info 0 0",
		      &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_KERNEL);
	announce_line(&l, EXIT("166", "0xffffffffff600400"), &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_USER);
	announce_line(&l, EXIT("166", KERNEL), &a);
	announce_line(&l, " a-166 [001] d..1. 5.1: kvm_exit: vcpu 0 reason vmmcall", &a);
	assert_int_equal(says(&l, "166"), HT_ORIGIN_UNKNOWN);
}

/* What another version of the format says, or none, nobody understands. */
static void test_announced_otherwise(void **state)
{
	static struct announce l;
	struct announcement a;

	(void)state;
	assert_true(announce_line(&l, CALL_BY("0x5352010000000002", "0xabc"), &a));
	assert_false(announce_line(&l, CALL_BY("0x5352020000000002", "0xabc"), &a));
	assert_false(announce_line(&l, CALL_BY("0x5352000000000002", "0xabc"), &a));
	assert_false(announce_line(&l, CALL_BY("0x5352017f00000002", "0xabc"), &a));
	assert_false(announce_line(&l, CALL_BY("0x5353010000000002", "0xabc"), &a));
	assert_false(announce_line(&l, CALL_BY("0x5352010000000002", "0x0"), &a));
}

/* More than is read in one look waits for the next.  What one look costs at most is as many lines.
 */
#define LOOK_LINES 4096

static void test_announcement_flood(void **state)
{
	static struct announce l;
	struct announcement a;
	unsigned heard = 0, looks = 0;
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (unsigned i = 0; i < 3 * LOOK_LINES; i++)
			dprintf(ends[1], "%s\n", i % 2 ? CALL("166") : EXIT("166", USER));
		_exit(0);
	}
	close(ends[1]);
	l.pipe = ends[0];
	while (heard < 3 * LOOK_LINES / 2) {
		unsigned now = 0;

		announce_look(&l);
		while (announce_next(&l, &a)) {
			assert_int_equal(a.origin, HT_ORIGIN_USER);
			now++;
		}
		assert_true(now <= LOOK_LINES / 2);
		heard += now;
		looks++;
	}
	assert_true(looks >= 3);
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_device_lies),
		cmocka_unit_test(test_found_anyway),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_bad_blocks),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_changes_while_read),
		cmocka_unit_test(test_of_a_guests_guest),
		cmocka_unit_test(test_sink_fails),
		cmocka_unit_test(test_searches),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_device_of_an_earlier_life),
		cmocka_unit_test(test_devices_guests),
		cmocka_unit_test(test_a_device_of_two_vms),
		cmocka_unit_test(test_race),
		cmocka_unit_test(test_announcement),
		cmocka_unit_test(test_announced_by),
		cmocka_unit_test(test_announced_otherwise),
		cmocka_unit_test(test_announcement_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
