// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels in memory: a ring of blocks per CPU, which nobody but this CPU writes.  The host reads
 * them out of the VM's memory ("memory": a hypercall says where they are), or a program in the
 * guest through /dev/sonde_guest ("device").  Layout: docs/formats/hypertrace.md, By shared memory.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>

#include "hypercall.h"
#include "stream.h"

static unsigned int ring_kib = 1024;
module_param(ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "memory of a CPU's ring in KiB, a power of two from 16 to 4096 (1024)");

static struct ht_region *region;
static unsigned int region_order, ring_order;

static void announce(enum ht_announcement what)
{
	struct ht_call call = {
		.nr = (u64)HT_ANNOUNCE_MAGIC << 48 | (u64)HT_RING_VERSION << 40 | (u64)what << 32 |
		      region->nr_rings,
		.a0 = virt_to_phys(region),
		.a1 = region->bytes,
		.a2 = region->nonce,
		.a3 = region->ring_bytes,
	};

	hypercall(&call);
}

static void memory_announce(void)
{
	announce(HT_REGION_HERE);
}

static void free_region(void)
{
	region->nonce = 0;
	free_pages((unsigned long)region, region_order);
	region = NULL;
}

static int device_open(void)
{
	u64 nonce;

	if (!is_power_of_2(ring_kib) || ring_kib < 16 || ring_kib > 4096) {
		pr_err("ring_kib=%u is not a power of two from 16 to 4096\n", ring_kib);
		return -EINVAL;
	}
	ring_order = get_order(ring_kib << 10);
	region_order = get_order(struct_size(region, rings, nr_cpu_ids));
	region = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, region_order);
	if (!region)
		return -ENOMEM;
	do {
		get_random_bytes(&nonce, sizeof(nonce));
	} while (!nonce);
	region->version = HT_RING_VERSION;
	region->nr_rings = nr_cpu_ids;
	region->ring_bytes = ring_kib << 10;
	region->bytes = PAGE_SIZE << region_order;
	region->nonce = nonce;
	memcpy(region->magic, HT_REGION_MAGIC, sizeof(region->magic));
	return 0;
}

static int memory_open(void)
{
	return hypercalls_work() ? device_open() : -ENODEV;
}

static void free_ring(struct stream *s)
{
	if (!s->ring)
		return;
	s->ring->nonce = 0;
	free_pages((unsigned long)s->ring, ring_order);
	s->ring = NULL;
}

static void device_close(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		free_ring(per_cpu_ptr(&sonde_streams, cpu));
	free_region();
}

static void memory_close(void)
{
	announce(HT_REGION_GONE);
	device_close();
}

static int ring_add_cpu(struct stream *s)
{
	struct page *pages = alloc_pages_node(cpu_to_node(s->cpu),
					      GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, ring_order);
	struct ht_ring *ring;

	if (!pages) {
		pr_err("no %u KiB in one piece for the ring of CPU %u; a smaller ring_kib may do\n",
		       ring_kib, s->cpu);
		return -ENOMEM;
	}
	ring = page_address(pages);
	ring->version = HT_RING_VERSION;
	ring->cpu = s->cpu;
	ring->nr_slots = (ring_kib << 10) / HT_SLOT_BYTES - 1;
	ring->nonce = region->nonce;
	memcpy(ring->magic, HT_RING_MAGIC, sizeof(ring->magic));
	s->slot = 0;
	/* Whoever sees a ring sees its header: read_blocks() … */
	smp_store_release(&s->ring, ring);
	/* … and the host. */
	smp_store_release(&region->rings[s->cpu], virt_to_phys(ring));
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
	/* Who sees the count sees the block. */
	smp_store_release(&ring->written, ring->written + 1);
	/* Who sees the next block's bytes sees that this one's predecessor there is gone. */
	smp_wmb();
	s->slot = s->slot + 1 == ring->nr_slots ? 0 : s->slot + 1;
}

const struct channel memory_channel = {
	.name = "memory",
	.open = memory_open,
	.close = memory_close,
	.add_cpu = ring_add_cpu,
	.begin = ring_begin,
	.end = ring_end,
	.readable = true,
	.announce = memory_announce,
};

const struct channel device_channel = {
	.name = "device",
	.open = device_open,
	.close = device_close,
	.add_cpu = ring_add_cpu,
	.begin = ring_begin,
	.end = ring_end,
	.readable = true,
};
