/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* A process has no more VMs that call themselves the same and contradict each other: a thread that
 * fits none of so many is one of its own. */
#define TRIES_MAX 64u

#define NONE UINT32_MAX

/* What is known of a guest while threads are still being added to it. */
struct open_guest {
	uint32_t next; /* another one of its process and name, made later; NONE */
	uint64_t cpus[TRACE_CPUS_MAX / 64];
};

struct grouping {
	struct caller **callers;
	unsigned nr;
	int *guest;		 /* by caller: index of its guest; -1 not yet told */
	struct open_guest *open; /* by guest */
	struct map first;	 /* name and process -> the guest that was made first */
	struct map vcpus;	 /* guest and vCPU number: it has one of that number */
	unsigned nr_guests;
};

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* ---- threads whose VM the host's state lines name ----------------------------------------------
 */

static void group_listed(struct grouping *g, struct caller_guests *out, const struct declared *d)
{
	for (unsigned i = 0; i < g->nr; i++) {
		struct caller *c = g->callers[i];
		const struct declared_vm *vm =
			c->blocks && !c->vmcb ? declared_vm_of_thread(d, c->tid) : NULL;
		unsigned at = 0;

		if (!vm)
			continue;
		while (at < g->nr_guests && !declared_same_vm(out->list[at].listed, vm))
			at++;
		g->guest[i] = (int)at;
		if (at == g->nr_guests)
			out->list[g->nr_guests++].listed = vm;
	}
}

/* ---- the others: whose VM nobody but its own kernel tells ---------------------------------------
 */

static int by_words(const struct caller *a, const struct caller *b)
{
	int order = strcmp(a->hostname, b->hostname);

	if (!order)
		order = strcmp(a->release, b->release);
	return order ? order : !a->vmcb - !b->vmcb;
}

static int by_name(const void *x, const void *y)
{
	const struct caller *a = *(struct caller *const *)x, *b = *(struct caller *const *)y;
	int order = by_words(a, b);

	return order ? order : (a->vcpu > b->vcpu) - (a->vcpu < b->vcpu);
}

/* True when it had none of them yet. */
static bool take_cpus(uint64_t *all, const uint64_t *cpus)
{
	bool free = true;

	for (unsigned i = 0; i < TRACE_CPUS_MAX / 64; i++) {
		free &= !(all[i] & cpus[i]);
		all[i] |= cpus[i];
	}
	return free;
}

/* Those [@from, @to), by vCPU's number, call themselves the same.  The host's word: no VM is of two
 * processes, or has two vCPUs of one number.  And no two vCPUs are one CPU of a guest. */
static bool are_of_two(struct caller **from, struct caller **to)
{
	uint64_t cpus[TRACE_CPUS_MAX / 64] = {0};
	bool two = false;

	for (struct caller **c = from; c < to && !two; c++)
		two = !take_cpus(cpus, (*c)->cpus) || (*c)->process != (*from)->process ||
		      (c > from && (*c)->vcpu >= 0 && (*c)->vcpu == c[-1]->vcpu);
	return two;
}

/* Where two VMs call themselves the same, which of their threads belong together nobody knows. */
static int find_contested(struct grouping *g)
{
	struct caller **list = calloc(g->nr + 1, sizeof(*list));
	unsigned nr = 0;

	if (!list)
		return -ENOMEM;
	for (unsigned i = 0; i < g->nr; i++) {
		if (g->guest[i] < 0 && g->callers[i]->blocks)
			list[nr++] = g->callers[i];
	}
	qsort(list, nr, sizeof(*list), by_name);
	for (unsigned from = 0, to, name = 0; from < nr; from = to, name++) {
		for (to = from + 1; to < nr && !by_words(list[from], list[to]); to++)
			;
		for (unsigned i = from; i < to; i++)
			list[i]->name = name;
		list[from]->contested = are_of_two(list + from, list + to);
		for (unsigned i = from + 1; i < to; i++)
			list[i]->contested = list[from]->contested;
	}
	free(list);
	return 0;
}

static bool fits(const struct grouping *g, uint32_t guest, const struct caller *c)
{
	const uint64_t *cpus = g->open[guest].cpus;

	if (c->vcpu >= 0 && map_get(&g->vcpus, pair(guest, (uint32_t)c->vcpu)))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(c->cpus); i++) {
		if (cpus[i] & c->cpus[i])
			return false;
	}
	return true;
}

/* Its guest, which may be a new one; the first that it fits.  Nobody joins where VMs contest the
 * name, and the host does not tell processes apart. */
static int place(struct grouping *g, const struct caller *c, int *out)
{
	uint64_t key = pair(c->name, (uint32_t)c->process);
	const uint32_t *first = map_get(&g->first, key);
	uint32_t at = first ? *first : NONE, last = NONE;
	unsigned tries = 0;
	int ret = 0;

	if (c->contested && c->process < 0)
		tries = TRIES_MAX;
	while (at != NONE && tries < TRIES_MAX && !fits(g, at, c)) {
		last = at;
		at = g->open[at].next;
		tries++;
	}
	if (at == NONE || tries == TRIES_MAX) {
		at = g->nr_guests++;
		g->open[at].next = NONE;
		if (tries < TRIES_MAX && last != NONE)
			g->open[last].next = at;
		else if (tries < TRIES_MAX)
			ret = map_put(&g->first, key, at);
	}
	take_cpus(g->open[at].cpus, c->cpus);
	if (c->vcpu >= 0 && !ret)
		ret = map_put(&g->vcpus, pair(at, (uint32_t)c->vcpu), 1);
	*out = (int)at;
	return ret;
}

static int group_rest(struct grouping *g)
{
	int ret = find_contested(g);

	for (unsigned i = 0; i < g->nr && !ret; i++) {
		if (g->guest[i] < 0 && g->callers[i]->blocks)
			ret = place(g, g->callers[i], &g->guest[i]);
	}
	return ret;
}

/* ---- lists of them -----------------------------------------------------------------------------
 */

static void list_callers(const struct grouping *g, struct caller_guests *out)
{
	unsigned at = 0;

	out->nr = g->nr_guests;
	for (unsigned i = 0; i < g->nr; i++) {
		if (g->guest[i] >= 0)
			out->list[g->guest[i]].nr++;
	}
	for (unsigned i = 0; i < out->nr; i++) {
		out->list[i].callers = out->callers + at;
		at += out->list[i].nr;
		out->list[i].nr = 0;
	}
	for (unsigned i = 0; i < g->nr; i++) {
		struct caller_guest *of = g->guest[i] >= 0 ? &out->list[g->guest[i]] : NULL;

		if (of)
			of->callers[of->nr++] = g->callers[i];
	}
}

int callers_group(struct caller_guests *out, struct caller **callers, unsigned nr,
		  const struct declared *declared)
{
	struct grouping g = {.callers = callers, .nr = nr};
	int ret = -ENOMEM;

	memset(out, 0, sizeof(*out));
	out->list = calloc(nr + 1, sizeof(*out->list));
	out->callers = calloc(nr + 1, sizeof(*out->callers));
	g.guest = malloc((nr + 1) * sizeof(*g.guest));
	g.open = calloc(nr + 1, sizeof(*g.open));
	if (out->list && out->callers && g.guest && g.open) {
		memset(g.guest, 0xff, (nr + 1) * sizeof(*g.guest));
		group_listed(&g, out, declared);
		ret = group_rest(&g);
	}
	if (!ret)
		list_callers(&g, out);
	free(g.guest);
	free(g.open);
	map_release(&g.first);
	map_release(&g.vcpus);
	return ret;
}

void caller_guests_release(struct caller_guests *g)
{
	free(g->list);
	free(g->callers);
	memset(g, 0, sizeof(*g));
}
