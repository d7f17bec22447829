/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* process_vm_writev() */
#include "record/steal/stolen_board.h"
#include "base/map.h"
#include "record/guestmem/vmmem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PENDING 64u /* records of a vCPU that wait to be written */
#define REGION_BYTES_MAX (UINT64_C(64) << 20)
#define NO_VCPU UINT32_MAX

struct vcpu {
	uint32_t number, ring;
	bool is_new; /* there is something to tell */
	struct st_told told;
	struct st_record records[PENDING];
	uint32_t nr; /* of them; the last of told.written */
};

struct stolen_board {
	struct stolen_place place;
	struct vcpu **list; /* owned, each of them too */
	unsigned nr;
	struct map by_number; /* vCPU: index into the list */
	uint32_t *numbers;    /* owned; by ring: its vCPU when all were looked through */
	bool looked;	      /* that was done since it was announced */
	bool gone;
};

/* ---- the guest's word ---------------------------------------------------------------------- */

static int read_at(const struct stolen_board *b, uint64_t offset, void *to, size_t len_bytes)
{
	const struct vm_memory memory = {.pid = b->place.pid};

	return vm_memory_read(&memory, b->place.at + offset, to, len_bytes);
}

static bool is_sane(const struct stolen_place *p)
{
	return p->nonce && p->nr_rings && p->nr_rings <= ST_RINGS_MAX && p->ring_bytes &&
	       p->ring_bytes <= ST_RING_BYTES_MAX && !(p->ring_bytes % ST_PAGE_BYTES) &&
	       p->bytes == ST_PAGE_BYTES + p->nr_rings * p->ring_bytes &&
	       p->bytes <= REGION_BYTES_MAX && p->bytes <= p->room && p->at &&
	       !(p->at % ST_PAGE_BYTES);
}

static int check(struct stolen_board *b, const struct stolen_place *p, struct error *err)
{
	struct st_region region;

	b->place = *p;
	if (!p->room)
		return fail(err, -EINVAL,
			    "what the guest of process %d announces is no memory of its own, or "
			    "KVM does not say where that is (Linux before 5.17)",
			    p->pid);
	if (!is_sane(p))
		return fail(err, -EINVAL,
			    "what the guest of process %d announces of memory for its stolen time "
			    "makes no sense",
			    p->pid);
	if (read_at(b, 0, &region, sizeof(region)) ||
	    memcmp(region.magic, ST_REGION_MAGIC, sizeof(region.magic)) ||
	    region.version != ST_VERSION || region.nonce != p->nonce ||
	    region.nr_rings != p->nr_rings || region.ring_bytes != p->ring_bytes)
		return fail(err, -ENODATA,
			    "the guest of process %d has no memory for its stolen time where it "
			    "says",
			    p->pid);
	return 0;
}

static uint64_t ring_at(const struct stolen_board *b, uint32_t ring)
{
	return ST_PAGE_BYTES + ring * b->place.ring_bytes;
}

/* The vCPU whose ring that is, now; -ENODEV: it is none. */
static int read_head(const struct stolen_board *b, uint32_t ring, uint32_t *number)
{
	struct st_own own;
	int ret = read_at(b, ring_at(b, ring), &own, sizeof(own));

	if (ret)
		return ret;
	*number = own.vcpu;
	return memcmp(own.magic, ST_RING_MAGIC, sizeof(own.magic)) || own.version != ST_VERSION ||
			       own.nonce != b->place.nonce || own.cpu != ring ||
			       own.ring_bytes != b->place.ring_bytes
		       ? -ENODEV
		       : 0;
}

/* Whether that ring is this vCPU's, now. */
static int look_at(const struct stolen_board *b, uint32_t ring, uint32_t number)
{
	uint32_t whose;
	int ret = read_head(b, ring, &whose);

	return !ret && whose != number ? -ENODEV : ret;
}

/* ---- vCPUs --------------------------------------------------------------------------------- */

static struct vcpu *find(const struct stolen_board *b, uint32_t number)
{
	const uint32_t *i = map_get(&b->by_number, number);

	return i ? b->list[*i] : NULL;
}

/* The guest says how many rings there are, so they are read once per announcement, not per vCPU. */
static void look_through(struct stolen_board *b)
{
	b->looked = true;
	if (!b->numbers)
		b->numbers = malloc(b->place.nr_rings * sizeof(*b->numbers));
	for (uint32_t i = 0; b->numbers && i < b->place.nr_rings; i++) {
		if (read_head(b, i, &b->numbers[i]))
			b->numbers[i] = NO_VCPU;
	}
}

static bool find_ring(struct stolen_board *b, uint32_t number, uint32_t *ring)
{
	*ring = number;
	if (number < b->place.nr_rings && !look_at(b, number, number))
		return true;
	if (!b->looked)
		look_through(b);
	for (*ring = 0; b->numbers && *ring < b->place.nr_rings; ++*ring) {
		if (b->numbers[*ring] == number)
			return !look_at(b, *ring, number);
	}
	return false;
}

static struct vcpu *vcpu_of(struct stolen_board *b, uint32_t number)
{
	struct vcpu *v = find(b, number), **grown;
	uint32_t ring;

	if (v || b->nr == b->place.nr_rings || !find_ring(b, number, &ring))
		return v;
	grown = reallocarray(b->list, b->nr + 1, sizeof(struct vcpu *));
	if (!grown)
		return NULL;
	b->list = grown;
	v = calloc(1, sizeof(*v));
	if (!v || map_put(&b->by_number, number, b->nr)) {
		free(v);
		return NULL;
	}
	v->number = number;
	v->ring = ring;
	b->list[b->nr++] = v;
	return v;
}

int stolen_board_open(struct stolen_board **out, const struct stolen_place *place,
		      struct error *err)
{
	struct stolen_board *b = calloc(1, sizeof(*b));
	int ret;

	*out = NULL;
	if (!b)
		return fail(err, -ENOMEM, "out of memory");
	ret = check(b, place, err);
	if (ret) {
		stolen_board_close(b);
		return ret;
	}
	*out = b;
	return 0;
}

int stolen_board_again(struct stolen_board *b, const struct stolen_place *place, struct error *err)
{
	if (place->ring_bytes != b->place.ring_bytes || place->nr_rings != b->place.nr_rings)
		return fail(err, -EINVAL, "the guest of process %d changed its mind", place->pid);
	b->looked = false;
	return check(b, place, err);
}

bool stolen_board_is_at(const struct stolen_board *b, int pid, uint64_t nonce)
{
	return b->place.pid == pid && (!nonce || b->place.nonce == nonce);
}

uint64_t stolen_board_generation(const struct stolen_board *b)
{
	return b->place.generation;
}

void stolen_board_each(struct stolen_board *b, void (*each)(void *data, uint32_t vcpu), void *data)
{
	for (unsigned i = 0; i < b->nr; i++)
		each(data, b->list[i]->number);
}

void stolen_board_set_clock(struct stolen_board *b, uint32_t number, uint64_t until_tsc,
			    uint64_t tsc_hz)
{
	struct vcpu *v = find(b, number);

	if (!v)
		return;
	v->told.until_tsc = until_tsc;
	v->told.tsc_hz = tsc_hz;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct parts {
	struct iovec local[8], remote[8];
	unsigned nr;
	size_t bytes;
};

static void add_part(struct parts *p, const void *from, uint64_t to, size_t len_bytes)
{
	p->local[p->nr] = (struct iovec){(void *)(uintptr_t)from, len_bytes};
	p->remote[p->nr++] = (struct iovec){(void *)(uintptr_t)to, len_bytes};
	p->bytes += len_bytes;
}

static void add_records(struct parts *p, const struct stolen_board *b, const struct vcpu *v)
{
	uint32_t slots = st_slots((uint32_t)b->place.ring_bytes);
	uint64_t head = b->place.at + ring_at(b, v->ring), first = v->told.written - v->nr;

	for (uint32_t done = 0, n; done < v->nr; done += n) {
		uint32_t slot = (uint32_t)((first + done) % slots);

		n = v->nr - done < slots - slot ? v->nr - done : slots - slot;
		add_part(p, v->records + done, head + ST_HEAD_BYTES + slot * ST_RECORD_BYTES,
			 n * sizeof(*v->records));
	}
}

_Static_assert(PENDING <= (ST_PAGE_BYTES - ST_HEAD_BYTES) / ST_RECORD_BYTES,
	       "what waits fits into the smallest ring, in two parts");

/* In this order: begun, the rest, ended. */
static int write_vcpu(struct stolen_board *b, struct vcpu *v)
{
	uint64_t told = b->place.at + ring_at(b, v->ring) + offsetof(struct st_ring, told);
	const size_t rest = offsetof(struct st_told, written);
	const size_t ended = offsetof(struct st_told, ended);
	struct parts p = {.nr = 0};
	ssize_t n;
	int ret = b->gone ? -ENODEV : look_at(b, v->ring, v->number);

	if (ret)
		return ret;
	v->told.begun++;
	v->told.ended = v->told.begun;
	add_part(&p, &v->told.begun, told, sizeof(v->told.begun));
	add_records(&p, b, v);
	add_part(&p, (uint8_t *)&v->told + rest, told + rest, ended - rest);
	add_part(&p, &v->told.ended, told + ended, sizeof(v->told.ended));
	n = process_vm_writev(b->place.pid, p.local, p.nr, p.remote, p.nr, 0);
	v->nr = 0;
	v->is_new = false;
	if (n < 0)
		return -errno;
	return (size_t)n == p.bytes ? 0 : -EFAULT;
}

static void add_total(struct st_total *t, uint64_t ns, uint32_t count, uint64_t longest_ns)
{
	t->ns += ns;
	t->count += count;
	if (longest_ns > t->longest_ns)
		t->longest_ns = longest_ns;
}

bool stolen_board_add(struct stolen_board *b, uint32_t number, const struct st_record *r,
		      uint32_t count, uint64_t longest_ns)
{
	struct vcpu *v = b->gone || r->kind >= ST_CLASSES ? NULL : vcpu_of(b, number);

	if (!v)
		return false;
	v->is_new = true;
	add_total(&v->told.totals[r->kind], r->length_ns, count ? count : 1,
		  count ? longest_ns : r->length_ns);
	if (count)
		return true;
	if (v->nr == PENDING && write_vcpu(b, v)) {
		b->gone = true;
		return false;
	}
	v->records[v->nr] = *r;
	v->records[v->nr++].number = ++v->told.written;
	v->is_new = true;
	return true;
}

int stolen_board_tell(struct stolen_board *b, const struct stolen_state *state, bool all)
{
	int ret = b->gone ? -ENODEV : 0;

	for (unsigned i = 0; i < b->nr && !ret; i++) {
		struct vcpu *v = b->list[i];

		v->told.lost = state->lost;
		v->told.bound_ns = state->bound_ns;
		v->told.flags = state->is_vmx ? ST_VMX : 0;
		if (all || v->is_new)
			ret = write_vcpu(b, v);
	}
	b->gone = ret;
	return ret;
}

void stolen_board_end(struct stolen_board *b)
{
	for (unsigned i = 0; i < b->nr; i++) {
		struct vcpu *v = b->list[i];

		v->told.begun = ST_LAST_WORD - 1;
		if (write_vcpu(b, v))
			return;
	}
	b->gone = true;
}

void stolen_board_close(struct stolen_board *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < b->nr; i++)
		free(b->list[i]);
	free(b->list);
	map_release(&b->by_number);
	free(b->numbers);
	free(b);
}
