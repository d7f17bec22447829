/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind an ivshmem device, in which a guest kept its rings, opened as a trace. */
#define _GNU_SOURCE /* memfd_create() */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "channel/writer.h"
#include "source/hyper/ring_file.h"
#include "source/trace.h"

#define SLOTS 4u
#define RING_BYTES ((SLOTS + 1) * HT_SLOT_BYTES)
#define CPUS 2u
#define FILE_BYTES (HT_SLOT_BYTES + CPUS * RING_BYTES)
#define NONCE UINT64_C(0xabcdef)

struct device {
	int fd;
	uint8_t *memory;
	char path[32];
	struct ht_writer writers[CPUS];
};

static struct ht_region *region_of(const struct device *d)
{
	return (struct ht_region *)d->memory;
}

static struct ht_ring *ring_of(const struct device *d, unsigned cpu)
{
	return (struct ht_ring *)(d->memory + HT_SLOT_BYTES + cpu * RING_BYTES);
}

static void make_device(struct device *d)
{
	d->fd = memfd_create("device", MFD_CLOEXEC);
	assert_true(d->fd >= 0 && !ftruncate(d->fd, FILE_BYTES));
	d->memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	assert_true(d->memory != MAP_FAILED);
	snprintf(d->path, sizeof(d->path), "/proc/self/fd/%d", d->fd);
	*region_of(d) = (struct ht_region){
		.version = HT_RING_VERSION,
		.flags = HT_REGION_RELATIVE,
		.nonce = NONCE,
		.nr_rings = CPUS,
		.ring_bytes = RING_BYTES,
		.bytes = HT_SLOT_BYTES,
	};
	memcpy(region_of(d)->magic, HT_REGION_MAGIC, 8);
	for (unsigned i = 0; i < CPUS; i++) {
		struct ht_ring *ring = ring_of(d, i);

		memcpy(ring->magic, HT_RING_MAGIC, 8);
		ring->version = HT_RING_VERSION;
		ring->cpu = i;
		ring->nonce = NONCE;
		ring->nr_slots = SLOTS;
		region_of(d)->rings[i] = HT_SLOT_BYTES + i * RING_BYTES;
		ht_writer_init(&d->writers[i], (uint16_t)i, 0);
	}
}

static void drop_device(struct device *d)
{
	munmap(d->memory, FILE_BYTES);
	close(d->fd);
}

static struct ht_slot *slot_of(const struct device *d, unsigned cpu, uint64_t block)
{
	return (struct ht_slot *)((uint8_t *)ring_of(d, cpu) + (block % SLOTS + 1) * HT_SLOT_BYTES);
}

/* Block k is one switch at 1000 * (k + 1). */
static void write_blocks(struct device *d, unsigned cpu, unsigned nr)
{
	struct ht_ring *ring = ring_of(d, cpu);
	const struct ht_task task = {10, 10, false, "worker"};

	while (nr--) {
		uint64_t tsc = 1000 * (ring->written + 1);

		ht_begin(&d->writers[cpu], slot_of(d, cpu, ring->written)->block, HT_SLOT_BLOCK_MAX,
			 tsc);
		assert_true(ht_switch(&d->writers[cpu], tsc, &task, HT_SLEEPING));
		ht_end(&d->writers[cpu]);
		ring->written++;
	}
}

/* Switches of a CPU in the trace, and the time of the first. */
static unsigned switches(const struct device *d, unsigned cpu, uint64_t *first)
{
	struct event events[64];
	struct error err = {0};
	struct trace *t;
	unsigned nr = 0;

	*first = 0;
	assert_int_equal(trace_open(&t, d->path, &err), 0);
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct stream *s = &t->streams[i];
		struct cursor c;
		unsigned got;

		if ((unsigned)s->cpu != cpu)
			continue;
		assert_int_equal(cursor_init(&c, s, 0, s->nr_packets, 0, &err), 0);
		while ((got = cursor_next(&c, events, ARRAY_SIZE(events)))) {
			for (unsigned e = 0; e < got; e++) {
				if (events[e].kind != EV_SCHED_SWITCH)
					continue;
				*first = nr++ ? *first : events[e].time.v;
			}
		}
		cursor_release(&c);
	}
	trace_release(t);
	return nr;
}

static void test_opens(void **state)
{
	struct device d;
	uint64_t first;

	(void)state;
	make_device(&d);
	write_blocks(&d, 0, 3);
	write_blocks(&d, 1, 11);
	assert_int_equal(switches(&d, 0, &first), 3);
	assert_int_equal(first, 1000);
	/* The newest; not the slot that may be half written. */
	assert_int_equal(switches(&d, 1, &first), SLOTS - 1);
	assert_int_equal(first, 9000);
	/* A module that was unloaded leaves what it wrote. */
	region_of(&d)->nonce = ring_of(&d, 0)->nonce = ring_of(&d, 1)->nonce = 0;
	assert_int_equal(switches(&d, 0, &first), 3);
	drop_device(&d);
}

/* Of blocks in a file one is missing, and the last is cut off: a gap begins with the last event
 * that is there. */
static void test_gaps(void **state)
{
	struct event e[16];
	struct error err = {0};
	struct cursor c;
	struct device d;
	struct trace *t;
	uint8_t blocks[3 * HT_SLOT_BYTES];
	long one;
	int fd = memfd_create("blocks", MFD_CLOEXEC);

	(void)state;
	make_device(&d);
	write_blocks(&d, 0, 3);
	assert_true(fd >= 0);
	assert_int_equal(ring_file_copy(d.fd, fd), 0);
	one = lseek(fd, 0, SEEK_CUR) / 3;
	assert_int_equal(pread(fd, blocks, (size_t)one * 3, 0), one * 3);
	assert_int_equal(pwrite(fd, blocks + 2 * one, (size_t)one, one), one);
	assert_int_equal(ftruncate(fd, 2 * one + 20), 0);
	snprintf(d.path, sizeof(d.path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, d.path, &err), 0);
	assert_int_equal(cursor_init(&c, &t->streams[0], 0, t->streams[0].nr_packets,
				     WANT(SCHED_SWITCH), &err),
			 0);
	assert_int_equal(cursor_next(&c, e, ARRAY_SIZE(e)), 4);
	assert_int_equal(e[0].time.v, 1000);
	assert_int_equal(e[1].kind, EV_LOST);
	assert_int_equal(e[1].time.v, 1000);
	assert_int_equal(e[1].arg[1], 1000);
	assert_int_equal(e[1].arg[2], 3000);
	assert_int_equal(e[2].time.v, 3000);
	assert_int_equal(e[3].kind, EV_LOST);
	assert_int_equal(e[3].time.v, 3000);
	assert_int_equal(cursor_next(&c, e, ARRAY_SIZE(e)), 0);
	cursor_release(&c);
	trace_release(t);
	close(fd);
	drop_device(&d);
}

static long copied(const struct device *d, int *ret)
{
	int out = memfd_create("copy", MFD_CLOEXEC);
	long len;

	assert_true(out >= 0);
	*ret = ring_file_copy(d->fd, out);
	len = lseek(out, 0, SEEK_CUR);
	close(out);
	return len;
}

/* Events that the guest's own kernel had no room for: so many, from the last one before. */
static void test_dropped(void **state)
{
	struct event e[16];
	struct error err = {0};
	struct cursor c;
	struct device d;
	struct trace *t;

	(void)state;
	make_device(&d);
	write_blocks(&d, 0, 2);
	ht_lost(&d.writers[0], 5);
	write_blocks(&d, 0, 1);
	assert_int_equal(trace_open(&t, d.path, &err), 0);
	assert_int_equal(cursor_init(&c, &t->streams[0], 0, t->streams[0].nr_packets,
				     WANT(SCHED_SWITCH), &err),
			 0);
	assert_int_equal(cursor_next(&c, e, ARRAY_SIZE(e)), 4);
	assert_int_equal(e[1].time.v, 2000);
	assert_int_equal(e[2].kind, EV_LOST);
	assert_int_equal(e[2].arg[0], 5);
	assert_int_equal(e[2].arg[1], 2000);
	assert_int_equal(e[2].arg[2], 3000);
	assert_int_equal(e[3].time.v, 3000);
	cursor_release(&c);
	trace_release(t);
	drop_device(&d);
}

static void test_lies(void **state)
{
	struct ht_region honest;
	struct device d;
	long all, one;
	uint64_t written;
	int ret;

	(void)state;
	make_device(&d);
	write_blocks(&d, 0, 3);
	write_blocks(&d, 1, 3);
	all = copied(&d, &ret);
	assert_int_equal(ret, 0);
	one = all / 6;
	honest = *region_of(&d);

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		change;                                                                            \
		assert_false(ring_file_is(d.fd));                                                  \
		assert_int_equal(copied(&d, &ret), 0);                                             \
		assert_int_equal(ret, -ENODATA);                                                   \
		*region_of(&d) = honest;                                                           \
	} while (0)
	REFUSED(region_of(&d)->magic[0] = 'X');
	REFUSED(region_of(&d)->flags = 0);
	REFUSED(region_of(&d)->version = 2);
	REFUSED(region_of(&d)->nr_rings = 0);
	REFUSED(region_of(&d)->nr_rings = HT_RINGS_MAX + 1);
	REFUSED(region_of(&d)->ring_bytes = 5000);
	REFUSED(region_of(&d)->ring_bytes = 2 * HT_SLOT_BYTES);
	REFUSED(region_of(&d)->ring_bytes = HT_RING_BYTES_MAX + HT_SLOT_BYTES);

	/* More rings than there are, and rings that lead out of the file. */
	region_of(&d)->nr_rings = HT_RINGS_MAX;
	assert_int_equal(copied(&d, &ret), all);
	region_of(&d)->nr_rings = CPUS;
	region_of(&d)->rings[1] = UINT64_MAX - 100;
	assert_int_equal(copied(&d, &ret), 3 * one);
	region_of(&d)->rings[1] = FILE_BYTES - RING_BYTES + 1;
	assert_int_equal(copied(&d, &ret), 3 * one);
	/* Another CPU's ring, another load's, another size. */
	region_of(&d)->rings[1] = region_of(&d)->rings[0];
	assert_int_equal(copied(&d, &ret), 3 * one);
	region_of(&d)->rings[1] = honest.bytes + RING_BYTES;
	ring_of(&d, 1)->nonce++;
	assert_int_equal(copied(&d, &ret), 3 * one);
	ring_of(&d, 1)->nonce--;
	ring_of(&d, 1)->nr_slots = 1000000;
	assert_int_equal(copied(&d, &ret), 3 * one);
	ring_of(&d, 1)->nr_slots = SLOTS;
	/* Blocks that are none, or not where they stand. */
	slot_of(&d, 1, 0)->block[0] ^= 1;
	slot_of(&d, 1, 1)->block[8] ^= 1;
	assert_int_equal(copied(&d, &ret), 4 * one);
	slot_of(&d, 1, 2)->block[6] ^= 1;
	assert_int_equal(copied(&d, &ret), 3 * one);
	written = ring_of(&d, 0)->written;
	ring_of(&d, 0)->written = UINT64_MAX;
	assert_int_equal(copied(&d, &ret), 0);
	ring_of(&d, 0)->written = written;
	/* A file that is shorter than it says. */
	assert_int_equal(ftruncate(d.fd, HT_SLOT_BYTES + RING_BYTES), 0);
	assert_int_equal(copied(&d, &ret), 3 * one);
	assert_int_equal(ftruncate(d.fd, HT_SLOT_BYTES), 0);
	assert_int_equal(copied(&d, &ret), 0);
	drop_device(&d);
}

static void test_empty(void **state)
{
	struct error err = {0};
	struct device d;
	struct trace *t;

	(void)state;
	make_device(&d);
	assert_int_equal(trace_open(&t, d.path, &err), -ENODATA);
	assert_non_null(strstr(err.text, "nothing in them"));
	drop_device(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),	cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_dropped), cmocka_unit_test(test_lies),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
