/* SPDX-License-Identifier: Apache-2.0 */
#include "record/guestmem/ring.h"
#include "channel/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 64
#define RING_HEAD_BYTES 72
#define BATCH_SLOTS 64u
/* All rings of a guest; beyond it is a lie or a mistake. */
#define RINGS_BYTES_MAX (UINT64_C(4) << 30)
#define SLOTS_MIN 2
#define OWN_RINGS 8u /* looked at to see whose a region is */
/* A search that did not find all doubles how many drains go by before the next one. */
#define WAIT_DOUBLED_MAX 10

_Static_assert(sizeof(struct ht_region) == HEAD_BYTES, "docs/formats/hypertrace.md");
_Static_assert(sizeof(struct ht_ring) == RING_HEAD_BYTES, "docs/formats/hypertrace.md");
_Static_assert(sizeof(struct ht_slot) == HT_SLOT_BYTES, "docs/formats/hypertrace.md");

struct ring {
	uint64_t gpa, at; /* at: in the VM's process; 0 not found */
	uint32_t nr_slots;
	uint64_t next;	 /* block to be read */
	uint64_t seen;	 /* blocks that were there when it was seen first */
	bool began;	 /* something was read of it: what is skipped now is lost */
	bool gap;	 /* blocks were lost since the last one that was read */
	bool sealed;	 /* it broke its own rules: it is read no more */
	uint64_t events; /* of the stream, up to the last block that was read */
};

struct ring_set {
	struct vm_memory memory;
	uint64_t at, nonce; /* of the region, in the VM's process */
	bool in_device;	    /* addresses count from the region's begin, and end with its mapping */
	uint32_t nr_rings, ring_bytes;
	uint64_t *gpas;	    /* owned: the region's table, as last read */
	struct ring *rings; /* owned */
	struct ring_counts counts;
	bool scan;	       /* rings are missing, and not all pages were looked at for them */
	unsigned wait, missed; /* drains until the next search; searches that did not find all */
	uint64_t limit_bytes;  /* of counts.bytes */
	struct ht_slot *batch; /* owned, BATCH_SLOTS of them */
};

/* ---- finding -----------------------------------------------------------------------------------
 */

static bool is_region(const void *bytes, void *data)
{
	const struct ht_region *r = bytes;
	const uint64_t *nonce = data;

	return !memcmp(r->magic, HT_REGION_MAGIC, sizeof(r->magic)) &&
	       r->version == HT_RING_VERSION && r->nonce && (!*nonce || r->nonce == *nonce);
}

static bool is_device_region(const void *bytes, void *data)
{
	const struct ht_region *r = bytes;

	return is_region(bytes, data) && r->flags & HT_REGION_RELATIVE;
}

struct ring_id {
	uint64_t nonce;
	uint32_t cpu, nr_slots;
};

static bool is_ring(const void *bytes, void *data)
{
	const struct ht_ring *r = bytes;
	const struct ring_id *id = data;

	return !memcmp(r->magic, HT_RING_MAGIC, sizeof(r->magic)) &&
	       r->version == HT_RING_VERSION && r->nonce == id->nonce && r->cpu == id->cpu &&
	       r->nr_slots == id->nr_slots;
}

static bool is_sane(const struct ht_region *r)
{
	return r->nr_rings && r->nr_rings <= HT_RINGS_MAX && r->ring_bytes <= HT_RING_BYTES_MAX &&
	       r->ring_bytes >= HT_SLOT_BYTES * (1 + SLOTS_MIN) && !(r->ring_bytes % HT_SLOT_BYTES);
}

/* The region's own addresses lead to one of its rings: it is this guest's, and not one of a guest
 * that runs in this one, whose memory is somewhere in this one's. */
static bool is_own(const struct vm_memory *m, uint64_t at)
{
	uint64_t gpas[OWN_RINGS], found;
	struct ht_region r;

	if (vm_memory_read(m, at, &r, sizeof(r)) || !is_sane(&r))
		return false;
	r.nr_rings = r.nr_rings < OWN_RINGS ? r.nr_rings : OWN_RINGS;
	if (vm_memory_read(m, at + HEAD_BYTES, gpas, r.nr_rings * sizeof(*gpas)))
		return false;
	for (uint32_t i = 0; i < r.nr_rings; i++) {
		struct ring_id id = {r.nonce, i, r.ring_bytes / HT_SLOT_BYTES - 1};

		if (gpas[i] && vm_memory_find(m, gpas[i], HEAD_BYTES, is_ring, &id, &found))
			return true;
	}
	return false;
}

struct region_search {
	const struct vm_memory *memory;
	uint64_t nonce, at;
	bool others; /* there is one that is not this guest's own */
};

static bool look_for_region(uint64_t at, const void *bytes, void *data)
{
	struct region_search *s = data;

	/* One in a device is where the device's memory begins, and looked for there. */
	if (!is_region(bytes, &s->nonce) || (!s->nonce && is_device_region(bytes, &s->nonce)))
		return true;
	/* Which was announced by this guest is this guest's. */
	if (s->nonce || is_own(s->memory, at))
		s->at = at;
	else
		s->others = true;
	return !s->at;
}

/* Where the guest's addresses do not lead to its rings, they are looked for everywhere. */
static bool look_for_ring(uint64_t at, const void *bytes, void *data)
{
	struct ring_set *s = data;
	const struct ht_ring *r = bytes;
	struct ring_id id = {s->nonce, r->cpu, s->ring_bytes / HT_SLOT_BYTES - 1};

	if (is_ring(bytes, &id) && r->cpu < s->nr_rings && !s->rings[r->cpu].at)
		s->rings[r->cpu].at = at;
	return true;
}

static bool find_ring(struct ring_set *s, struct ring *r, struct ring_id *id)
{
	uint64_t room;
	struct ht_ring head;

	if (!s->in_device)
		return vm_memory_find(&s->memory, r->gpa, HEAD_BYTES, is_ring, id, &r->at);
	/* No further: what stands behind it in the process is none of the guest's. */
	room = vm_memory_room(&s->memory, s->at);
	if (r->gpa >= room || room - r->gpa < s->ring_bytes ||
	    vm_memory_read(&s->memory, s->at + r->gpa, &head, sizeof(head)) || !is_ring(&head, id))
		return false;
	r->at = s->at + r->gpa;
	return true;
}

static int read_table(struct ring_set *s)
{
	return vm_memory_read(&s->memory, s->at + HEAD_BYTES, s->gpas,
			      s->nr_rings * sizeof(*s->gpas));
}

/* CPUs may come later; a place that was found stays.  A guest whose table changes all the time does
 * not keep us searching. */
static void find_rings(struct ring_set *s, uint64_t *pages)
{
	unsigned missing = 0;

	if (s->wait) {
		s->wait--;
		return;
	}
	if (read_table(s))
		return;
	for (uint32_t i = 0; i < s->nr_rings; i++) {
		struct ring *r = &s->rings[i];
		struct ring_id id = {s->nonce, i, s->ring_bytes / HT_SLOT_BYTES - 1};

		if (r->at || !s->gpas[i] || r->gpa == s->gpas[i])
			continue;
		r->gpa = s->gpas[i]; /* looked for once */
		missing += !find_ring(s, r, &id);
	}
	s->scan = (s->scan || missing) && !s->in_device;
	if (!s->scan || !*pages) /* others used them up: the next time */
		return;
	vm_memory_scan(&s->memory, HEAD_BYTES, pages, look_for_ring, s);
	s->scan = !*pages;
	s->missed += s->missed < WAIT_DOUBLED_MAX;
	s->wait = 1u << s->missed;
}

static int find_region(struct ring_set *s, const struct ring_announcement *a, uint64_t *pages,
		       struct error *err)
{
	struct region_search search = {.memory = &s->memory, .nonce = a->nonce};
	struct ht_region region;
	int ret;

	if (a->in_device)
		vm_memory_find(&s->memory, 0, HEAD_BYTES, is_device_region, &search.nonce,
			       &search.at);
	else if (!a->region || !vm_memory_find(&s->memory, a->region, HEAD_BYTES, is_region,
					       &search.nonce, &search.at))
		vm_memory_scan(&s->memory, HEAD_BYTES, pages, look_for_region, &search);
	if (!search.at && search.others)
		return fail(err, -EREMOTE,
			    "process %d has rings in its memory that are of a guest of its guest",
			    s->memory.pid);
	if (!search.at)
		return fail(err, -ENODATA, "process %d has no rings of a guest in its memory",
			    s->memory.pid);
	s->at = search.at;
	ret = vm_memory_read(&s->memory, s->at, &region, sizeof(region));
	if (ret || !is_region(&region, &search.nonce) || !is_sane(&region))
		return fail(err, -ENODATA, "what process %d has of a guest's rings makes no sense",
			    s->memory.pid);
	if ((uint64_t)region.nr_rings * region.ring_bytes > RINGS_BYTES_MAX)
		return fail(err, -E2BIG,
			    "the guest of process %d says that it has %u rings of %u bytes",
			    s->memory.pid, region.nr_rings, region.ring_bytes);
	s->nonce = region.nonce;
	s->in_device = region.flags & HT_REGION_RELATIVE;
	s->nr_rings = region.nr_rings;
	s->ring_bytes = region.ring_bytes;
	return 0;
}

static int alloc_rings(struct ring_set *s, struct error *err)
{
	s->gpas = calloc(s->nr_rings, sizeof(*s->gpas));
	s->rings = calloc(s->nr_rings, sizeof(*s->rings));
	s->batch = malloc(BATCH_SLOTS * sizeof(*s->batch));
	if (!s->gpas || !s->rings || !s->batch)
		return fail(err, -ENOMEM, "out of memory");
	/* Of all of them: a ring may be found whose place the table does not have. */
	for (uint32_t i = 0; i < s->nr_rings; i++)
		s->rings[i].nr_slots = s->ring_bytes / HT_SLOT_BYTES - 1;
	return 0;
}

int ring_set_open(struct ring_set **out, int pid, const struct ring_announcement *a,
		  uint64_t *pages, struct error *err)
{
	struct ring_set *s = calloc(1, sizeof(*s));
	int ret;

	*out = NULL;
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->limit_bytes = UINT64_MAX;
	ret = vm_memory_open(&s->memory, pid, err);
	if (!ret)
		ret = find_region(s, a, pages, err);
	if (!ret)
		ret = alloc_rings(s, err);
	if (ret) {
		ring_set_close(s);
		return ret;
	}
	*out = s;
	return 0;
}

void ring_set_close(struct ring_set *s)
{
	if (!s)
		return;
	vm_memory_close(&s->memory);
	free(s->gpas);
	free(s->rings);
	free(s->batch);
	free(s);
}

/* ---- draining ----------------------------------------------------------------------------------
 */

static int read_memory(const struct ring_set *s, uint64_t at, void *to, size_t len_bytes,
		       struct error *err)
{
	int ret = vm_memory_read(&s->memory, at, to, len_bytes);

	return ret ? fail(err, ret, "cannot read the rings of process %d: %s", s->memory.pid,
			  strerror(-ret))
		   : 0;
}

/* How many blocks the guest has completed; false when this is its ring no more. */
static bool read_head(const struct ring_set *s, const struct ring *r, uint32_t cpu,
		      uint64_t *written, int *ret, struct error *err)
{
	struct ring_id id = {s->nonce, cpu, r->nr_slots};
	struct ht_ring head;

	*ret = read_memory(s, r->at, &head, sizeof(head), err);
	if (*ret || !is_ring(&head, &id))
		return false;
	*written = head.written;
	return true;
}

static uint64_t events_in(const uint8_t *block, uint32_t len)
{
	struct ht_reader r;
	struct ht_item item;
	uint64_t nr = 0;

	ht_reader_init(&r);
	if (ht_block_open(&r, block, len))
		return 0;
	while (ht_block_next(&r, &item))
		nr += item.opcode < HT_TASK || item.opcode > HT_TABLE_LAST;
	return nr;
}

/* How many events were in the blocks before this one that were lost: the guest's word. */
static uint64_t events_before(const struct ring *r, const struct ht_slot *slot, uint32_t len)
{
	uint64_t since = slot->events - r->events, own = events_in(slot->block, len);

	return slot->events >= r->events && since >= own ? since - own : 0;
}

/* A copy of block @k that is known to be whole. */
static int take_slot(struct ring_set *s, struct ring *r, uint32_t cpu, uint64_t k,
		     const struct ht_slot *slot, struct sink *sink, struct error *err)
{
	uint32_t len = ht_block_length(slot->block, HT_SLOT_BLOCK_MAX);
	uint32_t seq = 0;
	int ret;

	for (unsigned i = 0; i < 4; i++)
		seq |= (uint32_t)slot->block[8 + i] << 8 * i;
	r->next = k + 1;
	if (!len || len > HT_SLOT_BLOCK_MAX || seq != (uint32_t)k ||
	    (slot->block[6] | slot->block[7] << 8) != (int)cpu) {
		s->counts.broken++;
		return 0;
	}
	if (s->limit_bytes - s->counts.bytes < len)
		return fail(err, -EDQUOT, "it reached the limit of what a guest may send");
	ret = sink->ops->write(sink, SINK_BLOCKS, 0, slot->block, len, err);
	if (ret)
		return ret;
	if (r->gap)
		s->counts.events_lost += events_before(r, slot, len);
	r->gap = false;
	r->events = slot->events;
	s->counts.blocks++;
	s->counts.bytes += len;
	return 0;
}

/* What was overwritten before it was read.  Before the first block that we read nothing was. */
static void skip_to(struct ring_set *s, struct ring *r, uint64_t k)
{
	if (r->began && k > r->next) {
		s->counts.blocks_lost += k - r->next;
		r->gap = true;
	}
	r->next = k > r->next ? k : r->next;
}

/* Blocks from r->next on, no more than a batch, and none that is behind the ring's end. */
static int drain_batch(struct ring_set *s, struct ring *r, uint32_t cpu, uint64_t written,
		       struct sink *sink, struct error *err)
{
	uint32_t slot = (uint32_t)(r->next % r->nr_slots), nr = r->nr_slots - slot;
	uint64_t first = r->next, now;
	int ret;

	nr = nr < BATCH_SLOTS ? nr : BATCH_SLOTS;
	nr = written - first < nr ? (uint32_t)(written - first) : nr;
	ret = read_memory(s, r->at + (slot + UINT64_C(1)) * HT_SLOT_BYTES, s->batch,
			  nr * sizeof(*s->batch), err);
	if (ret)
		return ret;
	if (!read_head(s, r, cpu, &now, &ret, err) || now < written) {
		r->sealed = true;
		return ret;
	}
	for (uint32_t i = 0; i < nr && !ret; i++) {
		if (now >= first + i + r->nr_slots) /* written over while we read */
			skip_to(s, r, first + i + 1);
		else
			ret = take_slot(s, r, cpu, first + i, &s->batch[i], sink, err);
	}
	r->began = true;
	return ret;
}

static int drain_ring(struct ring_set *s, struct ring *r, uint32_t cpu, struct sink *sink,
		      struct error *err)
{
	uint64_t written, oldest;
	int ret;

	if (!read_head(s, r, cpu, &written, &ret, err)) {
		r->sealed = !ret;
		return ret;
	}
	if (written < r->next) { /* it cannot go back */
		r->sealed = true;
		return 0;
	}
	oldest = written >= r->nr_slots ? written - r->nr_slots + 1 : 0;
	skip_to(s, r, oldest);
	/* What comes while we read is for the next time: a guest cannot keep us here. */
	while (r->next < written && !r->sealed && !ret)
		ret = drain_batch(s, r, cpu, written, sink, err);
	return ret;
}

static int check_region(const struct ring_set *s, struct error *err)
{
	struct ht_region region;
	uint64_t nonce = s->nonce;
	int ret = read_memory(s, s->at, &region, sizeof(region), err);

	if (ret || is_region(&region, &nonce))
		return ret;
	return fail(err, -ENODEV, "the guest of process %d took its rings away", s->memory.pid);
}

int ring_set_drain(struct ring_set *s, uint64_t *pages, struct sink *sink, struct error *err)
{
	int ret = 0;

	find_rings(s, pages);
	for (uint32_t i = 0; i < s->nr_rings && !ret; i++) {
		if (s->rings[i].at && !s->rings[i].sealed)
			ret = drain_ring(s, &s->rings[i], i, sink, err);
	}
	return ret ? ret : check_region(s, err);
}

void ring_set_see(struct ring_set *s, bool skip)
{
	uint64_t none = 0;
	int ret;

	find_rings(s, &none);
	for (uint32_t i = 0; i < s->nr_rings; i++) {
		struct ring *r = &s->rings[i];

		if (r->at && read_head(s, r, i, &r->seen, &ret, NULL) && skip)
			r->next = r->seen;
	}
}

int ring_set_has_moved(struct ring_set *s)
{
	uint64_t none = 0, written;
	int ret = check_region(s, NULL);

	if (ret)
		return ret;
	find_rings(s, &none); /* a CPU's that came later */
	for (uint32_t i = 0; i < s->nr_rings; i++) {
		const struct ring *r = &s->rings[i];

		if (r->at && read_head(s, r, i, &written, &ret, NULL) && written > r->seen)
			return 1;
	}
	return 0;
}

void ring_set_limit(struct ring_set *s, uint64_t bytes)
{
	s->limit_bytes = bytes > s->counts.bytes ? bytes : s->counts.bytes;
}

struct ring_counts ring_set_counts(const struct ring_set *s)
{
	return s->counts;
}

uint64_t ring_set_nonce(const struct ring_set *s)
{
	return s->nonce;
}

bool ring_set_in_device(const struct ring_set *s)
{
	return s->in_device;
}
