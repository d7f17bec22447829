/* SPDX-License-Identifier: Apache-2.0 */
#include "record/guestmem/rings.h"
#include "base/now.h"
#include "record/guestmem/announce.h"
#include "record/guestmem/ring_guests.h"
#include "record/host/vmm.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looked at when recording begins: 4 GiB of guests' memory that is in use, some 0.3 s. */
#define PAGES_AT_START (UINT64_C(1) << 20)
/* Rings that were found then, and VMs whose processes announced some: so many are told of. */
#define UNHEARD_MAX 256u
#define FORGERS_MAX 64u
/* Of all guests together, some 0.08 s: whoever can make a hypercall can have us look. */
#define PAGES_PER_TICK (UINT64_C(1) << 18)
/* Of a VM whose announcement led nowhere nothing is looked for that is not where it says, so long;
 * doubled each time. */
#define PAUSE_MS 5000
#define PAUSE_DOUBLED_MAX 8
#define LIARS_MAX 64u
#define TWICE_MAX 64u
#define DEVICES_MS 1000 /* between two looks into devices' memory without rings */

/* A VM that announced what could not be found. */
struct liar {
	int pid; /* 0: none */
	unsigned times;
	int64_t until_ms;
};

/* A VM that shares memory by a device. */
struct sharer {
	int pid;
	bool looked;	      /* what comes now is new */
	struct ring_set *old; /* owned: was there at the first look; not a guest until it moves */
};

/* What looks like rings in a VM's memory, and has not been announced: any process of the guest
 * could have put it there. */
struct unheard {
	int pid;
	uint64_t nonce;
};

struct rings {
	struct rings_options options;
	struct announce announce;
	struct vm_source source; /* of VMs with devices */
	struct sharer *sharing;	 /* owned */
	unsigned nr_sharing;
	bool begun;		   /* what is seen first now came while recording goes on */
	uint64_t twice[TWICE_MAX]; /* nonces of rings that two VMs have */
	unsigned nr_twice;
	int64_t look_ms; /* when they are looked at again */
	struct ring_guests guests;
	struct liar liars[LIARS_MAX];
	struct unheard unheard[UNHEARD_MAX];
	unsigned nr_unheard;
	int forgers[FORGERS_MAX]; /* VMs */
	unsigned nr_forgers;
	uint64_t pages; /* that may be looked at in this tick */
};

static void notice(const struct rings *r, const char *text)
{
	if (r->options.notice)
		r->options.notice(text, r->options.data);
}

static void tell_of_two(const struct rings *r, int pid, int other)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"the VMs of processes %d and %d have the same ivshmem memory: whose the rings in it "
		"are is not known, and they are not read; give each VM a device of its own",
		pid, other);
	notice(r, text);
}

/* That of @pid, or the one whose pause ends first, to be used anew. */
static struct liar *liar_of(struct rings *r, int pid)
{
	struct liar *first = &r->liars[0];

	for (unsigned i = 0; i < LIARS_MAX; i++) {
		if (r->liars[i].pid == pid)
			return &r->liars[i];
		if (r->liars[i].until_ms < first->until_ms)
			first = &r->liars[i];
	}
	*first = (struct liar){.pid = pid};
	return first;
}

static bool has_in_device(const struct ring_guest *g, uint64_t nonce)
{
	return g->set && ring_set_in_device(g->set) && g->nonce == nonce;
}

/* Another VM has the same rings: whose they are nothing tells, so they are nobody's any more. */
static bool take_from_others(struct rings *r, int pid, uint64_t nonce)
{
	static const char why[] = "the memory of its device is another VM's, too";
	int other = 0;

	for (unsigned i = 0; i < r->guests.nr; i++) {
		if (r->guests.list[i]->pid == pid || !has_in_device(r->guests.list[i], nonce))
			continue;
		other = r->guests.list[i]->pid;
		ring_guest_end(r->guests.list[i], why);
	}
	for (unsigned i = 0; i < r->nr_sharing; i++) {
		struct sharer *v = &r->sharing[i];

		if (v->pid == pid || !v->old || ring_set_nonce(v->old) != nonce)
			continue;
		other = v->pid;
		ring_set_close(v->old);
		v->old = NULL;
	}
	if (!other)
		return false;
	if (r->nr_twice < TWICE_MAX)
		r->twice[r->nr_twice++] = nonce;
	tell_of_two(r, pid, other);
	return true;
}

static bool is_of_two(struct rings *r, int pid, const struct ring_set *set)
{
	uint64_t nonce = ring_set_nonce(set);

	if (!ring_set_in_device(set))
		return false;
	for (unsigned i = 0; i < r->nr_twice; i++) {
		if (r->twice[i] == nonce)
			return true;
	}
	return take_from_others(r, pid, nonce);
}

/* -errno of ring_set_open(). */
static int look(struct rings *r, int pid, const struct ring_announcement *a, uint64_t *pages,
		struct error *err)
{
	struct ring_set *set;
	int ret = ring_set_open(&set, pid, a, pages, err);

	if (ret)
		return ret;
	if (ring_guests_find(&r->guests, pid, ring_set_nonce(set)) || is_of_two(r, pid, set))
		ring_set_close(set);
	else
		ring_guests_add(&r->guests, &r->options, pid, set);
	return 0;
}

/* What was announced is strange when it cannot be found: that is told once of a VM. */
static void look_for_announced(struct rings *r, int pid, const struct ring_announcement *a)
{
	struct liar *l = liar_of(r, pid);
	int64_t now = now_ms();
	uint64_t none = 0, *pages = now < l->until_ms ? &none : &r->pages;
	bool looked = *pages;
	struct error err = {0};

	if (!look(r, pid, a, pages, &err) || !looked)
		return;
	if (!l->times)
		notice(r, err.text);
	l->until_ms = now + ((int64_t)PAUSE_MS << l->times);
	l->times += l->times < PAUSE_DOUBLED_MAX;
}

/* Its pages are in the VM's memory, but only the VM knows where. */
static void tell_of_nested(struct rings *r, int pid)
{
	struct ring_guest vm = {.pid = pid};
	char text[256];

	if (r->options.is_asked && r->options.is_asked(pid, r->options.asked_data))
		return;
	ring_guest_describe(&vm);
	snprintf(text, sizeof(text),
		 "the VM %s (process %d) has rings of a guest of its own in its memory; they are "
		 "not read: an agent in the VM could",
		 vm.name, pid);
	notice(r, text);
}

int rings_share(struct rings *r, int pid)
{
	struct sharer *grown;

	for (unsigned i = 0; i < r->nr_sharing; i++) {
		if (r->sharing[i].pid == pid)
			return 0;
	}
	grown = reallocarray(r->sharing, r->nr_sharing + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->sharing = grown;
	r->sharing[r->nr_sharing++] = (struct sharer){.pid = pid};
	r->look_ms = 0;
	return 0;
}

static bool is_there(const struct vms *vms, int pid)
{
	for (unsigned i = 0; i < vms->nr; i++) {
		if (vms->list[i].pid == pid)
			return true;
	}
	return false;
}

static void note_sharing(struct rings *r, const struct vms *vms)
{
	for (unsigned i = 0; i < r->nr_sharing;) {
		struct sharer *v = &r->sharing[i];

		if (is_there(vms, v->pid)) {
			i++;
			continue;
		}
		ring_set_close(v->old);
		*v = r->sharing[--r->nr_sharing];
	}
	for (unsigned i = 0; i < vms->nr; i++) {
		if (vms->list[i].shares_memory)
			rings_share(r, vms->list[i].pid);
	}
}

/* A first look through a VM's memory, for what will be announced by whose it is. */
static void look_into_vm(struct rings *r, int pid, uint64_t *pages)
{
	static const struct ring_announcement any;
	struct ring_set *set;
	int ret = ring_set_open(&set, pid, &any, pages, NULL);

	if (ret == -EREMOTE)
		tell_of_nested(r, pid);
	if (ret)
		return;
	if (r->nr_unheard < UNHEARD_MAX)
		r->unheard[r->nr_unheard++] = (struct unheard){pid, ring_set_nonce(set)};
	ring_set_close(set);
}

static void look_into_vms(struct rings *r)
{
	uint64_t pages = PAGES_AT_START;
	struct vms vms;

	if (vms_find(&r->source, &vms))
		return;
	for (unsigned i = 0; i < vms.nr; i++)
		look_into_vm(r, vms.list[i].pid, &pages);
	note_sharing(r, &vms);
	vms_release(&vms);
}

static void note_heard(struct rings *r, int pid, uint64_t nonce)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nr_unheard; i++) {
		if (r->unheard[i].pid != pid || r->unheard[i].nonce != nonce)
			r->unheard[kept++] = r->unheard[i];
	}
	r->nr_unheard = kept;
}

static void tell_of_unheard(const struct rings *r)
{
	char text[512];

	for (unsigned i = 0; i < r->nr_unheard; i++) {
		struct ring_guest vm = {.pid = r->unheard[i].pid};

		ring_guest_describe(&vm);
		snprintf(text, sizeof(text),
			 "what looks like ring buffers in the memory of the VM %s (process %d) was "
			 "not read: its kernel did not announce it while it was recorded",
			 vm.name, vm.pid);
		notice(r, text);
	}
}

static bool has_device_rings(const struct rings *r, int pid)
{
	for (unsigned i = 0; i < r->guests.nr; i++) {
		const struct ring_guest *g = r->guests.list[i];

		if (g->pid == pid && g->set && ring_set_in_device(g->set))
			return true;
	}
	return false;
}

static void look_into_device(struct rings *r, struct sharer *v)
{
	static const struct ring_announcement in_device = {.in_device = true};
	bool is_first = !v->looked;
	uint64_t none = 0;
	struct ring_set *set;

	v->looked = true;
	if (!is_first) {
		look(r, v->pid, &in_device, &none, NULL);
		return;
	}
	if (ring_set_open(&set, v->pid, &in_device, &none, NULL))
		return;
	if (is_of_two(r, v->pid, set)) {
		ring_set_close(set);
		return;
	}
	ring_set_see(set, !r->begun);
	v->old = set;
}

/* It is not of an earlier life when it moves; it is gone when the module is loaded anew. */
static void follow_old(struct rings *r, struct sharer *v)
{
	struct ring_set *set = v->old;
	int moved = set ? ring_set_has_moved(set) : 0;

	if (!moved)
		return;
	v->old = NULL;
	if (moved > 0)
		ring_guests_add(&r->guests, &r->options, v->pid, set);
	else
		ring_set_close(set);
}

/* Rings in devices' memory are announced by nobody: a guest begins them without a word. */
static void look_into_devices(struct rings *r)
{
	struct vms vms;

	for (unsigned i = 0; i < r->nr_sharing; i++)
		follow_old(r, &r->sharing[i]);

	if (now_ms() < r->look_ms)
		return;
	r->look_ms = now_ms() + DEVICES_MS;
	/* Without debugfs a look is too expensive for every second. */
	if (r->source.kvm_dir >= 0 && vm_source_changed(&r->source) &&
	    !vms_find(&r->source, &vms)) {
		note_sharing(r, &vms);
		vms_release(&vms);
	}
	for (unsigned i = 0; i < r->nr_sharing; i++) {
		struct sharer *v = &r->sharing[i];

		if (!v->old && !has_device_rings(r, v->pid))
			look_into_device(r, v);
	}
}

/* Told once of a VM. */
static void tell_of_forger(struct rings *r, int pid, enum ht_origin origin)
{
	struct ring_guest vm = {.pid = pid};
	unsigned at = r->nr_forgers;
	char text[512];

	for (unsigned i = 0; i < r->nr_forgers; i++) {
		if (r->forgers[i] == pid)
			return;
		if (kill(r->forgers[i], 0) && errno == ESRCH) /* it has ended, and makes room */
			at = i;
	}
	if (at == FORGERS_MAX)
		return;
	r->forgers[at] = pid;
	r->nr_forgers += at == r->nr_forgers;
	ring_guest_describe(&vm);
	snprintf(text, sizeof(text),
		 "%s code in the VM %s (process %d) announced ring buffers as its kernel would: "
		 "refused",
		 origin == HT_ORIGIN_USER ? "user" : "unknown", vm.name, pid);
	notice(r, text);
}

static void hear(struct rings *r)
{
	struct announcement a;

	announce_look(&r->announce);
	while (announce_next(&r->announce, &a)) {
		int pid = process_of(a.tid);

		if (a.origin != HT_ORIGIN_KERNEL) {
			tell_of_forger(r, pid, a.origin);
			continue;
		}
		note_heard(r, pid, a.rings.nonce);
		if (a.what == HT_REGION_HERE && !ring_guests_find(&r->guests, pid, a.rings.nonce))
			look_for_announced(r, pid, &a.rings);
	}
}

int rings_open(struct rings **out, const struct rings_options *options, struct error *err)
{
	struct rings *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return fail(err, -ENOMEM, "out of memory");
	r->options = *options;
	vm_source_open(&r->source);
	announce_open(&r->announce, NULL); /* without KVM, without its events: nothing to hear */
	look_into_vms(r);
	look_into_devices(r);
	r->begun = true;
	*out = r;
	return 0;
}

void rings_tick(struct rings *r)
{
	r->pages = PAGES_PER_TICK;
	hear(r);
	look_into_devices(r);
	for (unsigned i = 0; i < r->guests.nr; i++) {
		if (r->guests.list[i]->set)
			ring_guests_drain(&r->guests, r->guests.list[i], r->options.limit_bytes,
					  &r->pages);
	}
}

unsigned rings_nr_guests(const struct rings *r)
{
	return r ? r->guests.nr : 0;
}

struct rings_guest rings_guest(const struct rings *r, unsigned i)
{
	return ring_guest_show(r->guests.list[i], i);
}

bool rings_outcome(const struct rings_guest *g, struct record_cost *cost, char why[static 256])
{
	*cost = (struct record_cost){.bytes = g->counts.bytes,
				     .events_lost = g->counts.events_lost};
	snprintf(cost->clock, sizeof(cost->clock), "x86-tsc");
	snprintf(why, 256, "%.250s", g->why);
	if (!*why && g->counts.broken)
		snprintf(why, 256, "%" PRIu64 " blocks in its rings were none", g->counts.broken);
	return !*why;
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	tell_of_unheard(r);
	announce_close(&r->announce);
	vm_source_close(&r->source);
	for (unsigned i = 0; i < r->nr_sharing; i++)
		ring_set_close(r->sharing[i].old);
	free(r->sharing);
	ring_guests_release(&r->guests);
	free(r);
}
