/* SPDX-License-Identifier: Apache-2.0 */
#include "source/hyper/ring_file.h"
#include "base/write_all.h"
#include "channel/reader.h"
#include "source/hyper/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS_MIN 2u

/* All of it: 0, -ENODATA when the file ends before. */
static int read_all(int fd, void *to, size_t len_bytes, uint64_t at)
{
	uint8_t *next = to;

	while (len_bytes) {
		ssize_t n = pread(fd, next, len_bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		next += n;
		at += (uint64_t)n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

static bool read_region(int fd, struct ht_region *region)
{
	return !read_all(fd, region, sizeof(*region), 0) &&
	       !memcmp(region->magic, HT_REGION_MAGIC, sizeof(region->magic)) &&
	       region->version == HT_RING_VERSION && region->flags & HT_REGION_RELATIVE &&
	       region->nr_rings && region->nr_rings <= HT_RINGS_MAX &&
	       region->ring_bytes <= HT_RING_BYTES_MAX &&
	       region->ring_bytes >= HT_SLOT_BYTES * (1 + SLOTS_MIN) &&
	       !(region->ring_bytes % HT_SLOT_BYTES);
}

bool ring_file_is(int fd)
{
	struct ht_region region;

	return read_region(fd, &region);
}

static bool is_ring(const struct ht_ring *r, const struct ht_region *region, uint32_t cpu)
{
	return !memcmp(r->magic, HT_RING_MAGIC, sizeof(r->magic)) &&
	       r->version == HT_RING_VERSION && r->cpu == cpu && r->nonce == region->nonce &&
	       r->nr_slots == region->ring_bytes / HT_SLOT_BYTES - 1;
}

/* The copy of block @k, which is whole; 0 when it is no block. */
static int put_block(const uint8_t *block, uint64_t k, uint32_t cpu, int out)
{
	uint32_t len = ht_block_length(block, HT_SLOT_BLOCK_MAX);

	if (!len || len > HT_SLOT_BLOCK_MAX || hyper_seq(block) != (uint32_t)k ||
	    hyper_cpu(block) != cpu)
		return 0;
	return write_all(out, block, len);
}

/* @ring has room for a ring. */
static int copy_ring(int fd, const struct ht_region *region, uint64_t at, uint32_t cpu,
		     uint8_t *ring, int out)
{
	uint32_t slots = region->ring_bytes / HT_SLOT_BYTES - 1;
	const struct ht_ring *head = (const void *)ring;
	struct ht_ring after;
	uint64_t written, k;
	int ret = read_all(fd, ring, region->ring_bytes, at);

	if (!ret)
		ret = read_all(fd, &after, sizeof(after), at);
	if (ret || !is_ring(head, region, cpu) || !is_ring(&after, region, cpu))
		return ret;
	written = head->written;
	if (after.written < written)
		return 0;
	k = written >= slots ? written - slots + 1 : 0;
	for (; k < written && !ret; k++) {
		if (after.written - k < slots) /* else written over while it was read */
			ret = put_block(ring + (k % slots + 1) * HT_SLOT_BYTES, k, cpu, out);
	}
	return ret;
}

int ring_file_copy(int fd, int out)
{
	struct ht_region region;
	uint64_t at, left;
	struct stat st;
	uint8_t *ring;
	int ret = 0;

	if (fstat(fd, &st) || !read_region(fd, &region))
		return -ENODATA;
	ring = malloc(region.ring_bytes);
	if (!ring)
		return -ENOMEM;
	left = (uint64_t)st.st_size; /* rings do not overlap: so much can be in them */
	for (uint32_t cpu = 0; cpu < region.nr_rings && !ret && left >= region.ring_bytes; cpu++) {
		ret = read_all(fd, &at, sizeof(at), sizeof(region) + cpu * sizeof(at));
		if (ret || !at || at > (uint64_t)st.st_size - region.ring_bytes)
			continue;
		ret = copy_ring(fd, &region, at, cpu, ring, out);
		left -= region.ring_bytes;
	}
	free(ring);
	return ret;
}
