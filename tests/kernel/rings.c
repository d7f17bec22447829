/* SPDX-License-Identifier: Apache-2.0 */
/* See rings.h. */
#define _GNU_SOURCE
#include "tests/kernel/rings.h"

#include "channel/reader.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define RINGS 64
/* Where a "pc" machine with less memory than this has it all in one piece. */
#define POLL_MS 2

struct reader {
	pid_t pid;
	uint64_t base; /* of guest memory in the process */
	uint64_t nonce;
	uint64_t at[RINGS], next[RINGS], events[RINGS];
	unsigned nr;
	uint64_t lost_blocks, lost_events;
	FILE *out;
};

static bool peek(const struct reader *r, uint64_t gpa, void *to, size_t len)
{
	struct iovec mine = {to, len};
	struct iovec theirs = {(void *)(r->base + gpa), len};

	return process_vm_readv(r->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)len;
}

/* Tries the process' mappings as guest memory until the nonce proves one right. */
static bool find_region(struct reader *r, uint64_t gpa, struct ht_region *region)
{
	char path[64], line[512];
	uint64_t begin, end;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", r->pid);
	maps = fopen(path, "r");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) != 2 || end - begin <= gpa)
			continue;
		r->base = begin;
		found = peek(r, gpa, region, sizeof(*region)) &&
			!memcmp(region->magic, HT_REGION_MAGIC, 8) && region->nonce == r->nonce;
	}
	fclose(maps);
	return found && region->nr_rings <= HT_RINGS_MAX;
}

static unsigned events_in(const uint8_t *block, uint32_t len)
{
	static struct ht_reader reader;
	struct ht_item item;
	unsigned nr = 0;

	ht_reader_init(&reader);
	if (ht_block_open(&reader, block, len))
		return 0;
	while (ht_block_next(&reader, &item))
		nr += item.opcode < HT_TASK || item.opcode > HT_TABLE_LAST;
	return nr;
}

static bool ring_header(const struct reader *r, unsigned i, struct ht_ring *ring)
{
	return peek(r, r->at[i], ring, sizeof(*ring)) && !memcmp(ring->magic, HT_RING_MAGIC, 8) &&
	       ring->nonce == r->nonce && ring->nr_slots && ring->nr_slots < 4096;
}

static void read_ring(struct reader *r, unsigned i)
{
	static struct ht_slot slot;
	struct ht_ring ring, after;

	if (!ring_header(r, i, &ring))
		return;
	while (r->next[i] < ring.written) {
		uint64_t oldest =
			ring.written >= ring.nr_slots ? ring.written - ring.nr_slots + 1 : 0;
		uint64_t k = r->next[i] < oldest ? oldest : r->next[i];
		uint32_t len;

		if (!peek(r, r->at[i] + (k % ring.nr_slots + 1) * HT_SLOT_BYTES, &slot,
			  sizeof(slot)) ||
		    !ring_header(r, i, &after))
			return;
		if (after.written >= k + ring.nr_slots) {
			ring = after;
			continue;
		}
		len = ht_block_length(slot.block, sizeof(slot.block));
		r->lost_blocks += k - r->next[i];
		r->lost_events += slot.events - r->events[i] - events_in(slot.block, len);
		fwrite(slot.block, len, 1, r->out);
		r->events[i] = slot.events;
		r->next[i] = k + 1;
	}
}

int rings_save(char **args)
{
	static struct ht_region region;
	struct reader r = {.pid = atoi(args[0]), .nonce = strtoull(args[3], NULL, 16)};
	struct pollfd in = {.fd = 0, .events = POLLIN};
	uint64_t gpa = strtoull(args[1], NULL, 16);
	char c;

	r.out = fopen(args[4], "wb");
	if (!r.out || !find_region(&r, gpa, &region)) {
		fprintf(stderr, "no region at %s in the memory of process %s\n", args[1], args[0]);
		return 1;
	}
	r.nr = region.nr_rings < RINGS ? region.nr_rings : RINGS;
	do {
		peek(&r, gpa + sizeof(region), r.at, r.nr * sizeof(r.at[0]));
		for (unsigned i = 0; i < r.nr; i++)
			if (r.at[i])
				read_ring(&r, i);
	} while (poll(&in, 1, POLL_MS) == 0 || read(0, &c, 1) == 1);
	for (unsigned i = 0; i < r.nr; i++)
		if (r.at[i])
			read_ring(&r, i);
	fclose(r.out);
	fprintf(stderr, "rings %u lost blocks %" PRIu64 " events %" PRIu64 "\n", r.nr,
		r.lost_blocks, r.lost_events);
	return 0;
}
