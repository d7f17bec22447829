/* SPDX-License-Identifier: Apache-2.0 */
/* Which request of a VM a request of its host's disk is for: see served.h. */
#include "model/served.h"

#include "model/state.h"

#define SECTOR_BYTES 512

static bool known(ns_t t)
{
	return t != NS_MIN;
}

/* ---- what speaks for one of them ---------------------------------------------------------------
 */

typedef bool evidence_fn(const struct machine_state *vm, const struct request *r,
			 const struct request *host);

/* Of a kick it is not known that it was for a disk: who picked it up asks for it before it does something else, or
 * whom it has woken then. */
static bool at_once(const struct request *r, const struct thread *asks)
{
	if (!r->worker || !asks)
		return false;
	return (asks == r->worker && asks->ran_at == r->at[REQUEST_PICKED]) ||
	       (asks->woken_by == r->worker && asks->woken_in == r->at[REQUEST_PICKED]);
}

/* It is under way, at its VMM, of the same direction, and has not got all of its bytes. */
static bool may_be(const struct machine_state *vm, const struct request *r,
		   const struct request *host)
{
	(void)vm;
	if (r->kind == REQUEST_SEND || known(r->at[REQUEST_SENT]) ||
	    (!known(r->at[REQUEST_ISSUED]) && !known(r->at[REQUEST_KICKED])) ||
	    (r->worker && !known(r->at[REQUEST_PICKED])))
		return false;
	if (r->kind == REQUEST_UNKNOWN)
		return !known(r->at[REQUEST_DISK_BEGIN]) && at_once(r, host->thread);
	return r->kind == host->kind &&
	       (r->disk_bytes < r->bytes || !known(r->at[REQUEST_DISK_BEGIN]));
}

/* The thread that took it up, or one that this one has woken, asks for it. */
static bool same_thread(const struct machine_state *vm, const struct request *r,
			const struct request *host)
{
	(void)vm;
	return r->worker && host->thread &&
	       (r->worker == host->thread || r->worker == host->thread->woken_by);
}

static int64_t next_sector(const struct request *r)
{
	return r->sector + r->disk_bytes / SECTOR_BYTES;
}

static bool same_place(const struct machine_state *vm, const struct request *r,
		       const struct request *host)
{
	for (unsigned i = 0; vm->places.list && r->dev >= 0 && i < PLACES; i++) {
		const struct place *p = &vm->places.list[i];

		if (p->dev == r->dev && p->host_dev == host->dev &&
		    host->sector - p->distance == next_sector(r))
			return true;
	}
	return false;
}

static bool same_size(const struct machine_state *vm, const struct request *r,
		      const struct request *host)
{
	(void)vm;
	return r->kind != REQUEST_UNKNOWN && r->bytes - r->disk_bytes == host->bytes;
}

/* ---- the choice --------------------------------------------------------------------------------
 */

/* A bit per kind of evidence that all who are left have. */
#define NR_EVIDENCE_KINDS 4
static evidence_fn *const kinds[NR_EVIDENCE_KINDS] = {may_be, same_thread, same_place, same_size};

static bool has(const struct machine_state *vm, const struct request *r, const struct request *host,
		unsigned evidence)
{
	for (unsigned i = 0; i < NR_EVIDENCE_KINDS; i++) {
		if ((evidence & 1u << i) && !kinds[i](vm, r, host))
			return false;
	}
	return true;
}

/* How many have it, and the last of them. */
static unsigned left(struct machine_state *vm, const struct request *host, unsigned evidence,
		     struct request **one)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < vm->pending.nr; i++) {
		if (has(vm, &vm->pending.list[i], host, evidence)) {
			*one = &vm->pending.list[i];
			nr++;
		}
	}
	return nr;
}

static void dispute(struct machine_state *vm, const struct request *host, unsigned evidence)
{
	for (uint32_t i = 0; i < vm->pending.nr; i++)
		vm->pending.list[i].disputed |= has(vm, &vm->pending.list[i], host, evidence);
}

struct request *served_choose(struct machine_state *vm, const struct request *host)
{
	struct request *one = NULL;
	unsigned evidence = 0;

	for (unsigned i = 0; i < NR_EVIDENCE_KINDS; i++) {
		unsigned nr = left(vm, host, evidence | 1u << i, &one);

		if (nr == 1)
			return one->torn ? NULL : one;
		/* What nobody has tells nothing; but one must be possible at all. */
		if (nr)
			evidence |= 1u << i;
		else if (!i)
			return NULL;
	}
	dispute(vm, host, evidence);
	return NULL;
}

/* ---- where a disk lies -------------------------------------------------------------------------
 */

static bool places_init(struct machine_state *vm)
{
	struct places *p = &vm->places;

	if (p->list)
		return true;
	p->list = arena_alloc(&vm->model->arena, PLACES * sizeof(*p->list));
	for (unsigned i = 0; p->list && i < PLACES; i++)
		p->list[i] = (struct place){.dev = -1, .host_dev = -1};
	return p->list;
}

void served_learn(struct machine_state *vm, const struct request *r, const struct request *host)
{
	if (r->dev < 0 || r->sector < 0 || host->sector < 0 || !host->bytes ||
	    r->bytes - r->disk_bytes != host->bytes || same_place(vm, r, host) || !places_init(vm))
		return;
	vm->places.list[vm->places.next] =
		(struct place){r->dev, host->dev, host->sector - next_sector(r)};
	vm->places.next = (vm->places.next + 1) % PLACES;
}
