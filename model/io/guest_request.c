/* SPDX-License-Identifier: Apache-2.0 */
/* Which request of a VM a request of its host's disk is for: see guest_request.h. */
#include "model/io/guest_request.h"
#include "model/identity/machine.h"

#define SECTOR_BYTES 512

static bool known(ns_t t)
{
	return t != NS_MIN;
}

/* ---- what speaks for one of them ---------------------------------------------------------------
 */

typedef bool evidence_fn(const struct machine_state *vm, const struct request *r,
			 const struct request *host);

/* Who picked it up asks for it before it does something else, or whom it has woken then. */
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
	    (r->worker && !known(r->at[REQUEST_PICKED]) && !r->torn))
		return false;
	/* Of a kick it is not known that it was for a disk, unless who asks says so, or is not
	 * known. */
	if (r->kind == REQUEST_UNKNOWN)
		return !known(r->at[REQUEST_DISK_BEGIN]) &&
		       (!host->thread || at_once(r, host->thread));
	return r->kind == host->kind &&
	       (r->disk_bytes < r->bytes || !known(r->at[REQUEST_DISK_BEGIN]));
}

static bool just_picked(const struct machine_state *vm, const struct request *r,
			const struct request *host)
{
	(void)vm;
	return at_once(r, host->thread);
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
#define NR_EVIDENCE_KINDS 5
#define MAY_BE (1u << 0)
#define JUST_PICKED (1u << 1)
static evidence_fn *const kinds[NR_EVIDENCE_KINDS] = {may_be, just_picked, same_thread, same_place,
						      same_size};

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

void served_dispute(struct machine_state *vm, const struct request *host)
{
	dispute(vm, host, MAY_BE);
}

/* One that is not seen, or of which not all is seen: it may be for that one, whatever speaks for
 * another. */
static bool may_be_unseen(const struct machine_state *vm, const struct request *host)
{
	bool unseen = !vm->ended &&
		      (thread_may_run_unseen(vm) || vm->model->now < vm->pending.unseen_until);

	for (uint32_t i = 0; !unseen && i < vm->pending.nr; i++) {
		const struct request *r = &vm->pending.list[i];

		unseen = r->torn && may_be(vm, r, host);
	}
	return unseen;
}

/* Who has just picked it up was asleep before: what is under way besides it went to the disk
 * earlier, unless it was told of by the same kick. */
static bool is_sure(const struct machine_state *vm, const struct request *one)
{
	bool sure = !one->torn && !one->met;

	for (uint32_t i = 0; sure && i < vm->pending.nr; i++) {
		const struct request *r = &vm->pending.list[i];

		sure = !r->torn || r->cpu != one->cpu || r->issuer != one->issuer ||
		       known(r->at[REQUEST_KICKED]);
	}
	return sure;
}

static struct request *choose_among_unseen(struct machine_state *vm, const struct request *host)
{
	struct request *one = NULL;
	unsigned nr = left(vm, host, MAY_BE | JUST_PICKED, &one);
	bool sure = nr == 1 && is_sure(vm, one), disputed = sure && one->disputed;

	dispute(vm, host, MAY_BE);
	if (!sure)
		return NULL;
	one->disputed = disputed;
	return one;
}

struct request *served_choose(struct machine_state *vm, const struct request *host)
{
	struct request *one = NULL;
	unsigned evidence = 0;

	if (may_be_unseen(vm, host))
		return choose_among_unseen(vm, host);
	for (unsigned i = 0; i < NR_EVIDENCE_KINDS; i++) {
		unsigned nr = left(vm, host, evidence | 1u << i, &one);

		if (nr == 1)
			return one;
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
