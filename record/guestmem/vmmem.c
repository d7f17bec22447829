/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* process_vm_readv() */
#include "record/guestmem/vmmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
/* Guests have more; heaps and stacks of VMMs, mostly, less. */
#define MAPPING_MIN (UINT64_C(1) << 20)
/* More is address space that was set aside, not memory. */
#define MAPPING_MAX (UINT64_C(4) << 40)
/* So many pages that are not there cost as much as one that is. */
#define ABSENT_PER_PAGE 16
#define MAPPINGS_MAX 4096u
#define GIB4 (UINT64_C(1) << 32)
#define HEAD_MAX 64

/* Memory below the hole, by machine type: QEMU's pc and q35, Firecracker, cloud-hypervisor, crosvm.
 */
static const uint64_t lows[] = {0xc0000000, 0x80000000, 0xe0000000,
				0xb0000000, 0xd0000000, 0xe8000000};

static int add_mapping(struct vm_memory *m, unsigned *room, uint64_t begin, uint64_t end)
{
	if (m->nr == *room) {
		unsigned more = *room ? *room * 2 : 64;
		struct vm_mapping *grown = reallocarray(m->list, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->list = grown;
		*room = more;
	}
	m->list[m->nr++] = (struct vm_mapping){begin, end};
	return 0;
}

/* The largest is, as a rule, the guest's memory. */
static int by_size(const void *a, const void *b)
{
	const struct vm_mapping *p = a, *q = b;
	uint64_t x = p->end - p->begin, y = q->end - q->begin;

	return (x < y) - (x > y);
}

static int read_maps(struct vm_memory *m, FILE *maps)
{
	unsigned room = 0;
	char line[4352];
	int ret = 0;

	while (!ret && m->nr < MAPPINGS_MAX && fgets(line, sizeof(line), maps)) {
		uint64_t begin, end;
		char perms[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, perms) != 3 ||
		    strncmp(perms, "rw", 2) || end - begin < MAPPING_MIN ||
		    end - begin > MAPPING_MAX)
			continue;
		ret = add_mapping(m, &room, begin, end);
	}
	return ret;
}

int vm_memory_open(struct vm_memory *m, int pid, struct error *err)
{
	char path[64];
	FILE *maps;
	int ret;

	*m = (struct vm_memory){.pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return fail(err, -errno, "cannot look into the memory of process %d: %s", pid,
			    strerror(errno));
	ret = read_maps(m, maps);
	fclose(maps);
	if (ret) {
		vm_memory_close(m);
		return fail(err, ret, "out of memory");
	}
	if (m->nr)
		qsort(m->list, m->nr, sizeof(*m->list), by_size);
	return 0;
}

void vm_memory_close(struct vm_memory *m)
{
	free(m->list);
	*m = (struct vm_memory){.pid = m->pid};
}

int vm_memory_read(const struct vm_memory *m, uint64_t at, void *to, size_t len_bytes)
{
	struct iovec local = {to, len_bytes};
	struct iovec remote = {(void *)(uintptr_t)at, len_bytes};
	ssize_t n = process_vm_readv(m->pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len_bytes ? 0 : -EFAULT;
}

uint64_t vm_memory_room(const struct vm_memory *m, uint64_t at)
{
	for (unsigned i = 0; i < m->nr; i++) {
		if (at >= m->list[i].begin && at < m->list[i].end)
			return m->list[i].end - at;
	}
	return 0;
}

static bool fits_at(const struct vm_memory *m, const struct vm_mapping *map, uint64_t offset,
		    size_t len_bytes, bool (*fits)(const void *bytes, void *data), void *data)
{
	_Alignas(16) uint8_t bytes[HEAD_MAX];

	return offset < map->end - map->begin && map->end - map->begin - offset >= len_bytes &&
	       !vm_memory_read(m, map->begin + offset, bytes, len_bytes) && fits(bytes, data);
}

bool vm_memory_find(const struct vm_memory *m, uint64_t gpa, size_t len_bytes,
		    bool (*fits)(const void *bytes, void *data), void *data, uint64_t *at)
{
	for (unsigned i = 0; i < m->nr; i++) {
		const struct vm_mapping *map = &m->list[i];

		if (fits_at(m, map, gpa, len_bytes, fits, data)) {
			*at = map->begin + gpa;
			return true;
		}
		/* What is above 4 GiB may stand behind what is below, or be a mapping of its own.
		 */
		for (unsigned k = 0; gpa >= GIB4 && k <= sizeof(lows) / sizeof(lows[0]); k++) {
			uint64_t low = k ? lows[k - 1] : 0;

			if (!fits_at(m, map, gpa - GIB4 + low, len_bytes, fits, data))
				continue;
			*at = map->begin + gpa - GIB4 + low;
			return true;
		}
	}
	return false;
}

/* ---- looking at all pages -------------------------------------------------------------------- */

#define BATCH 512 /* pages: one huge page's */

struct scan {
	const struct vm_memory *m;
	size_t len_bytes;
	bool (*look)(uint64_t at, const void *bytes, void *data);
	void *data;
	uint64_t pages[BATCH]; /* to be looked at */
	unsigned nr;
	_Alignas(16) uint8_t bytes[BATCH * HEAD_MAX];
	uint64_t *left; /* pages */
	bool done;
};

/* One page that cannot be read is passed over. */
static void look_at(struct scan *s)
{
	unsigned at = 0;

	while (at < s->nr && !s->done) {
		struct iovec local = {s->bytes, (s->nr - at) * s->len_bytes};
		struct iovec remote[BATCH];
		ssize_t n;
		unsigned got;

		for (unsigned i = at; i < s->nr; i++)
			remote[i - at] =
				(struct iovec){(void *)(uintptr_t)s->pages[i], s->len_bytes};
		n = process_vm_readv(s->m->pid, &local, 1, remote, s->nr - at, 0);
		if (n < 0 && errno != EFAULT)
			s->done = true;
		got = n > 0 ? (unsigned)((size_t)n / s->len_bytes) : 0;
		for (unsigned i = 0; i < got && !s->done; i++)
			s->done = !s->look(s->pages[at + i], s->bytes + i * s->len_bytes, s->data);
		at += got + (got < s->nr - at);
	}
	s->nr = 0;
}

#define PRESENT (UINT64_C(1) << 63)

static void scan_mapping(struct scan *s, int pagemap, const struct vm_mapping *map)
{
	uint64_t entries[BATCH], cost;

	for (uint64_t at = map->begin; at < map->end && !s->done && *s->left; at += BATCH * PAGE) {
		uint64_t pages = (map->end - at) / PAGE < BATCH ? (map->end - at) / PAGE : BATCH;
		ssize_t n = pread(pagemap, entries, pages * sizeof(*entries),
				  (off_t)(at / PAGE * sizeof(*entries)));

		for (unsigned i = 0; n > 0 && i < (size_t)n / sizeof(*entries); i++) {
			if (entries[i] & PRESENT)
				s->pages[s->nr++] = at + i * PAGE;
		}
		cost = s->nr + (pages - s->nr) / ABSENT_PER_PAGE;
		*s->left -= *s->left < cost ? *s->left : cost;
		look_at(s);
	}
}

void vm_memory_scan(const struct vm_memory *m, size_t len_bytes, uint64_t *pages,
		    bool (*look)(uint64_t at, const void *bytes, void *data), void *data)
{
	struct scan *s = calloc(1, sizeof(*s));
	char path[64];
	int pagemap;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", m->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (s && pagemap >= 0) {
		s->m = m;
		s->len_bytes = len_bytes;
		s->look = look;
		s->data = data;
		s->left = pages;
		for (unsigned i = 0; i < m->nr && !s->done; i++)
			scan_mapping(s, pagemap, &m->list[i]);
	}
	if (pagemap >= 0)
		close(pagemap);
	free(s);
}
