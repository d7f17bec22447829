/* SPDX-License-Identifier: Apache-2.0 */
#include "record/guestmem/ring_guests.h"
#include "record/host/vmm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUESTS_MAX 1024u
/* Regions of one VM at a time: a kernel that crashed may leave one behind, and kdump's. */
#define REGIONS_PER_VM 4u

static struct ring_counts counts_of(const struct ring_guest *g)
{
	struct ring_counts sum = g->counts, now;

	if (!g->set)
		return sum;
	now = ring_set_counts(g->set);
	sum.blocks += now.blocks;
	sum.bytes += now.bytes;
	sum.blocks_lost += now.blocks_lost;
	sum.events_lost += now.events_lost;
	sum.broken += now.broken;
	return sum;
}

struct rings_guest ring_guest_show(const struct ring_guest *g, unsigned index)
{
	return (struct rings_guest){
		.index = index,
		.pid = g->pid,
		.name = g->name,
		.uuid = g->uuid,
		.counts = counts_of(g),
		.ended = !g->set,
		.why = g->why,
	};
}

void ring_guest_describe(struct ring_guest *g)
{
	struct vm_info vm = {.pid = g->pid};

	vmm_describe(&vm);
	snprintf(g->name, sizeof(g->name), "%s", vm.name);
	snprintf(g->uuid, sizeof(g->uuid), "%s", vm.uuid);
	free(vm.vcpus);
}

struct ring_guest *ring_guests_find(const struct ring_guests *l, int pid, uint64_t nonce)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (l->list[i]->pid == pid && (!nonce || l->list[i]->nonce == nonce))
			return l->list[i];
	}
	return NULL;
}

void ring_guest_end(struct ring_guest *g, const char *why)
{
	if (!g->set)
		return;
	g->counts = counts_of(g);
	ring_set_close(g->set);
	g->set = NULL;
	snprintf(g->why, sizeof(g->why), "%.250s", why);
}

static bool same_vm(const struct ring_guest *a, const struct ring_guest *b)
{
	return a->pid == b->pid && !strcmp(a->name, b->name) && !strcmp(a->uuid, b->uuid);
}

/* The place in the list for one more region of @vm: that of one of its regions that has ended as
 * regions do (a module loaded again, a reboot), or a new one.  NULL: there is none for it. */
static struct ring_guest *take_place(struct ring_guests *l, const struct ring_guest *vm,
				     unsigned *index)
{
	struct ring_guest **grown, *ended = NULL;
	unsigned live = 0;

	for (unsigned i = 0; i < l->nr; i++) {
		struct ring_guest *g = l->list[i];

		if (!same_vm(g, vm))
			continue;
		if (!g->set && *g->why) /* it was stopped: it stays so */
			return NULL;
		live += g->set != NULL;
		if (!g->set) {
			ended = g;
			*index = i;
		}
	}
	if (ended || live >= REGIONS_PER_VM || l->nr == GUESTS_MAX)
		return live < REGIONS_PER_VM ? ended : NULL;
	grown = reallocarray(l->list, l->nr + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	l->list = grown;
	ended = calloc(1, sizeof(*ended));
	if (!ended)
		return NULL;
	*ended = *vm;
	*index = l->nr;
	l->list[l->nr++] = ended;
	return ended;
}

void ring_guests_add(struct ring_guests *l, const struct rings_options *options, int pid,
		     struct ring_set *set)
{
	struct ring_guest vm = {.pid = pid}, *g;
	struct rings_guest shown;
	unsigned index = 0;

	ring_guest_describe(&vm);
	g = take_place(l, &vm, &index);
	if (!g) {
		ring_set_close(set);
		return;
	}
	g->set = set;
	g->nonce = ring_set_nonce(set);
	shown = ring_guest_show(g, index);
	g->sink = options->place(&shown, options->data);
	if (!g->sink)
		ring_guest_end(g, "there is no place for what it sends");
}

/* All regions of a VM share its limit. */
static void limit(const struct ring_guests *l, struct ring_guest *g, uint64_t most)
{
	uint64_t others = g->counts.bytes;

	for (unsigned i = 0; i < l->nr; i++) {
		if (l->list[i] != g && same_vm(l->list[i], g))
			others += counts_of(l->list[i]).bytes;
	}
	if (most)
		ring_set_limit(g->set, most > others ? most - others : 0);
}

void ring_guests_drain(struct ring_guests *l, struct ring_guest *g, uint64_t limit_bytes,
		       uint64_t *pages)
{
	struct error err = {0};
	int ret;

	limit(l, g, limit_bytes);
	ret = ring_set_drain(g->set, pages, g->sink, &err);
	if (ret == -ENODEV || ret == -ESRCH) /* it ended as guests end */
		ring_guest_end(g, "");
	else if (ret)
		ring_guest_end(g, err.text);
}

void ring_guests_release(struct ring_guests *l)
{
	for (unsigned i = 0; i < l->nr; i++) {
		ring_set_close(l->list[i]->set);
		free(l->list[i]);
	}
	free(l->list);
}
