// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels in memory: a ring of blocks per CPU, which nobody but this CPU writes.  The host reads
 * them out of the VM's memory ("memory": a hypercall says where they are) or out of a device's
 * ("ivshmem": they are where the host looks), or a program in the guest through /dev/sonde_guest
 * ("device").  Layout: docs/formats/hypertrace.md, By shared memory.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/rwsem.h>

#include "hypercall.h"
#include "ivshmem.h"
#include "stream.h"

#define RING_KIB_MIN 16

static unsigned int ring_kib = 1024;
module_param(ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "memory of a CPU's ring in KiB, a power of two from 16 to 4096 (1024)");

/*
 * Region and rings may lie in memory to which others write, too: what is in them is for others to
 * read, and everything that the module itself goes by is here or in struct stream.
 */
static struct ht_region *region;
static u64 region_nonce, region_bytes;
static unsigned int region_order, ring_order, ring_bytes;
static void *device_memory; /* region and rings, where a device has them */

static void announce(enum ht_announcement what)
{
	struct ht_call call = {
		.nr = (u64)HT_ANNOUNCE_MAGIC << 48 | (u64)HT_RING_VERSION << 40 | (u64)what << 32 |
		      nr_cpu_ids,
		.a0 = virt_to_phys(region),
		.a1 = region_bytes,
		.a2 = region_nonce,
		.a3 = ring_bytes,
	};

	hypercall(&call);
}

static void memory_announce(void)
{
	announce(HT_REGION_HERE);
}

static int check_ring_kib(const char **why)
{
	if (is_power_of_2(ring_kib) && ring_kib >= RING_KIB_MIN && ring_kib <= 4096)
		return 0;
	pr_err("ring_kib=%u is not a power of two from 16 to 4096\n", ring_kib);
	*why = "ring_kib is wrong";
	return -EINVAL;
}

/* The region is there for whoever looks when its nonce is; where no host is to look, nameless. */
static void fill_region(u64 bytes, u32 flags, bool named)
{
	region_bytes = bytes;
	do {
		get_random_bytes(&region_nonce, sizeof(region_nonce));
	} while (!region_nonce);
	region->version = HT_RING_VERSION;
	region->flags = flags;
	region->nr_rings = nr_cpu_ids;
	region->ring_bytes = ring_bytes;
	region->bytes = bytes;
	if (named)
		memcpy(region->magic, HT_REGION_MAGIC, sizeof(region->magic));
	smp_store_release(&region->nonce, region_nonce);
}

static int pages_open(const char **why, bool named)
{
	int ret = check_ring_kib(why);

	if (ret)
		return ret;
	ring_bytes = ring_kib << 10;
	ring_order = get_order(ring_bytes);
	region_order = get_order(struct_size(region, rings, nr_cpu_ids));
	region = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, region_order);
	*why = "no memory";
	if (!region)
		return -ENOMEM;
	fill_region(PAGE_SIZE << region_order, 0, named);
	return 0;
}

static int memory_open(const char **why)
{
	return hypercalls_work(why) ? pages_open(why, true) : -ENODEV;
}

/* A program in the guest says who gets it: a host that looks through memory does not. */
static int device_open(const char **why)
{
	return pages_open(why, false);
}

static void pages_close(void)
{
	unsigned int cpu;

	WRITE_ONCE(region->nonce, 0);
	for_each_possible_cpu (cpu) {
		struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

		if (!s->ring)
			continue;
		WRITE_ONCE(s->ring->nonce, 0);
		free_pages((unsigned long)s->ring, ring_order);
		s->ring = NULL;
	}
	free_pages((unsigned long)region, region_order);
	region = NULL;
}

static void memory_close(void)
{
	announce(HT_REGION_GONE);
	pages_close();
}

static struct ht_ring *ring_in_device(unsigned int cpu)
{
	return device_memory + region_bytes + (size_t)cpu * ring_bytes;
}

/* Rings as large as ring_kib, or as the device has room for: its memory is given, not chosen. */
static int take_device(void *memory, size_t bytes, const char **why)
{
	size_t table = PAGE_ALIGN(struct_size(region, rings, nr_cpu_ids));

	ring_bytes = ring_kib << 10;
	while (ring_bytes >= RING_KIB_MIN << 10 &&
	       (bytes < table || (bytes - table) / nr_cpu_ids < ring_bytes))
		ring_bytes /= 2;
	if (ring_bytes < RING_KIB_MIN << 10) {
		*why = "the device has too little memory for so many CPUs";
		return -ENOSPC;
	}
	device_memory = memory;
	region = memory;
	WRITE_ONCE(region->nonce, 0); /* what an earlier load left ends here */
	smp_wmb();
	memset(region, 0, table);
	fill_region(table, HT_REGION_RELATIVE, true);
	return 0;
}

/* Whether the channel is closed or the device is removed under it. */
static void lose_device(void)
{
	unsigned int cpu;

	down_write(&sonde_rings_lock);
	cpus_read_lock();
	streams_leave_rings();
	WRITE_ONCE(region->nonce, 0);
	for_each_possible_cpu (cpu)
		WRITE_ONCE(ring_in_device(cpu)->nonce, 0);
	device_memory = NULL;
	region = NULL;
	cpus_read_unlock();
	up_write(&sonde_rings_lock);
}

static int ivshmem_open(const char **why)
{
	static const struct ivshmem_user user = {.take = take_device, .lose = lose_device};
	int ret = check_ring_kib(why);

	return ret ? ret : ivshmem_take(&user, why);
}

static struct ht_ring *ring_of_pages(unsigned int cpu)
{
	struct page *pages = alloc_pages_node(cpu_to_node(cpu),
					      GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, ring_order);

	if (pages)
		return page_address(pages);
	pr_err("no %u KiB in one piece for the ring of CPU %u; a smaller ring_kib may do\n",
	       ring_kib, cpu);
	return NULL;
}

static void ring_start(struct stream *s, struct ht_ring *ring, u64 address)
{
	ring->version = HT_RING_VERSION;
	ring->cpu = s->cpu;
	s->nr_slots = ring_bytes / HT_SLOT_BYTES - 1;
	ring->nr_slots = s->nr_slots;
	ring->nonce = region_nonce;
	memcpy(ring->magic, HT_RING_MAGIC, sizeof(ring->magic));
	s->slot = 0;
	s->written = 0;
	/* Whoever sees a ring sees its header: read_blocks() … */
	smp_store_release(&s->ring, ring);
	/* … and the host. */
	smp_store_release(&region->rings[s->cpu], address);
}

static int pages_add_cpu(struct stream *s)
{
	struct ht_ring *ring = ring_of_pages(s->cpu);

	if (!ring)
		return -ENOMEM;
	ring_start(s, ring, virt_to_phys(ring));
	return 0;
}

static int ivshmem_add_cpu(struct stream *s)
{
	struct ht_ring *ring;

	if (!device_memory)
		return -ENODEV; /* it was removed */
	ring = ring_in_device(s->cpu);
	memset(ring, 0, HT_SLOT_BYTES);
	ring_start(s, ring, (void *)ring - device_memory);
	return 0;
}

static struct ht_slot *slot_at(struct ht_ring *ring, u32 slot)
{
	return (void *)ring + (slot + 1) * HT_SLOT_BYTES;
}

static void ring_begin(struct stream *s)
{
	ht_begin(&s->w, slot_at(s->ring, s->slot)->block, HT_SLOT_BLOCK_MAX, s->now);
}

static void ring_end(struct stream *s)
{
	struct ht_ring *ring = s->ring;

	s->bytes += ht_end(&s->w);
	slot_at(ring, s->slot)->events = s->events;
	/* Who sees the count sees the block: read_blocks() this one, the host the ring's. */
	smp_store_release(&s->written, s->written + 1);
	smp_store_release(&ring->written, s->written);
	/* Who sees the next block's bytes sees that this one's predecessor there is gone. */
	smp_wmb();
	s->slot = s->slot + 1 == s->nr_slots ? 0 : s->slot + 1;
}

const struct channel memory_channel = {
	.name = "memory",
	.open = memory_open,
	.close = memory_close,
	.add_cpu = pages_add_cpu,
	.begin = ring_begin,
	.end = ring_end,
	.readable = true,
	.announce = memory_announce,
};

const struct channel device_channel = {
	.name = "device",
	.open = device_open,
	.close = pages_close,
	.add_cpu = pages_add_cpu,
	.begin = ring_begin,
	.end = ring_end,
	.readable = true,
};

const struct channel ivshmem_channel = {
	.name = "ivshmem",
	.open = ivshmem_open,
	.close = ivshmem_give_back,
	.add_cpu = ivshmem_add_cpu,
	.begin = ring_begin,
	.end = ring_end,
	.readable = true,
};
