/* SPDX-License-Identifier: Apache-2.0 */
#include "record/steal/stolen_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES 1000 /* a telling is a copy of some hundred bytes */

struct stolen_reader {
	int fd;
	uint8_t *map;
	size_t bytes;
	uint32_t nr, ring_bytes;
};

static const struct st_ring *ring_of(const struct stolen_reader *r, unsigned cpu)
{
	return (const void *)(r->map + ST_PAGE_BYTES + (size_t)cpu * r->ring_bytes);
}

static bool is_sane(const struct st_region *g)
{
	return !memcmp(g->magic, ST_REGION_MAGIC, sizeof(g->magic)) && g->version == ST_VERSION &&
	       g->nr_rings && g->nr_rings <= ST_RINGS_MAX && g->ring_bytes &&
	       g->ring_bytes <= ST_RING_BYTES_MAX && !(g->ring_bytes % ST_PAGE_BYTES) &&
	       g->bytes == ST_PAGE_BYTES + (uint64_t)g->nr_rings * g->ring_bytes;
}

static void *map(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int open_all(struct stolen_reader *r, const char *path, struct error *err)
{
	struct st_region *head;

	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	head = map(r->fd, ST_PAGE_BYTES);
	if (!head)
		return fail(err, -errno, "cannot look into %s: %s", path, strerror(errno));
	if (is_sane(head)) {
		r->nr = head->nr_rings;
		r->ring_bytes = head->ring_bytes;
		r->bytes = (size_t)head->bytes;
	}
	munmap(head, ST_PAGE_BYTES);
	if (!r->nr || r->bytes != ST_PAGE_BYTES + (size_t)r->nr * r->ring_bytes)
		return fail(err, -EINVAL, "%s is not the memory of sonde_guest, version %d", path,
			    ST_VERSION);
	r->map = map(r->fd, r->bytes);
	return r->map ? 0 : fail(err, -errno, "cannot look into %s: %s", path, strerror(errno));
}

int stolen_reader_open(struct stolen_reader **out, const char *path, struct error *err)
{
	struct stolen_reader *r = calloc(1, sizeof(*r));
	int ret;

	*out = NULL;
	if (!r)
		return fail(err, -ENOMEM, "out of memory");
	ret = open_all(r, path, err);
	if (ret)
		stolen_reader_close(r);
	else
		*out = r;
	return ret;
}

void stolen_reader_close(struct stolen_reader *r)
{
	if (!r)
		return;
	if (r->map)
		munmap(r->map, r->bytes);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

unsigned stolen_reader_nr(const struct stolen_reader *r)
{
	return r->nr;
}

bool stolen_reader_told(const struct stolen_reader *r, unsigned cpu, struct st_told *out)
{
	const struct st_told *told = &ring_of(r, cpu)->told;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t ended = __atomic_load_n(&told->ended, __ATOMIC_ACQUIRE);

		memcpy(out, told, sizeof(*out));
		/* x86-64 loads in order; so must the compiler.  (The thread sanitizer takes no
		 * fence.) */
		__asm__ volatile("" ::: "memory");
		if (__atomic_load_n(&told->begun, __ATOMIC_RELAXED) == ended) {
			out->begun = out->ended = ended;
			return ended;
		}
	}
	return false;
}

unsigned stolen_reader_take(const struct stolen_reader *r, unsigned cpu, const struct st_told *told,
			    struct st_record *out, unsigned room, uint64_t *next, uint64_t *missed)
{
	const struct st_ring *ring = ring_of(r, cpu);
	uint32_t slots = st_slots(r->ring_bytes);
	unsigned nr = 0;

	if (*next > told->written) /* another host tells now */
		*next = 0;
	if (told->written - *next > slots) {
		*missed += told->written - *next - slots;
		*next = told->written - slots;
	}
	for (; *next < told->written && nr < room; ++*next) {
		struct st_record *to = &out[nr];

		memcpy(to, &ring->records[*next % slots], sizeof(*to));
		if (to->number == *next + 1 && to->kind < ST_CLASSES)
			nr++;
		else
			++*missed;
	}
	return nr;
}
