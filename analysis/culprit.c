/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/culprit.h"
#include "analysis/keyed.h"

#include <errno.h>
#include <stdlib.h>

/* What a thread did is one thing, be it in user space or in the kernel: SONDE_MODE_TASK; its work
 * as a hypervisor for its vCPU is another. */
static int64_t class_of(int64_t mode)
{
	switch (mode) {
	case SONDE_MODE_USER:
	case SONDE_MODE_SYSCALL:
	case SONDE_MODE_KERNEL:
		return SONDE_MODE_TASK;
	default:
		return mode;
	}
}

static struct culprit make(struct sonde_history *history, int64_t context)
{
	struct culprit culprit = {-1, -1, SONDE_MODE_UNKNOWN, -1};
	struct sonde_context c;

	if (sonde_context_get(history, context, &c))
		return culprit;
	culprit.machine = c.machine;
	if (c.mode != SONDE_MODE_IRQ && c.mode != SONDE_MODE_SOFTIRQ)
		culprit.thread = c.thread;
	culprit.mode = class_of(c.mode);
	if (c.mode == SONDE_MODE_HYPERVISOR)
		culprit.vcpu = c.serves;
	else if (c.machine)
		culprit.vcpu = sonde_find_cpu(history, c.machine, c.cpu);
	return culprit;
}

/* Cells of a culprit as a key. */
enum { CELL_MACHINE, CELL_THREAD, CELL_MODE, CELL_VCPU, NR_CELLS };

static bool number_contexts(struct culprits *all, struct sonde_history *history, struct keyed *keys)
{
	for (int64_t i = -1; i < all->nr_contexts; i++) {
		struct culprit c = make(history, i);
		struct sonde_context context;
		int64_t number =
			keyed_get(keys, (int64_t[NR_CELLS]){c.machine, c.thread, c.mode, c.vcpu});

		if (number < 0)
			return false;
		all->numbers[i + 1] = (uint32_t)number;
		all->modes[i + 1] =
			(uint8_t)(sonde_context_get(history, i, &context) ? SONDE_MODE_UNKNOWN
									  : context.mode);
	}
	all->nr = (uint32_t)keys->nr;
	return true;
}

static bool list_culprits(struct culprits *all, const struct keyed *keys, struct keyed *whos)
{
	all->list = calloc(keys->nr, sizeof(*all->list));
	all->who = calloc(keys->nr, sizeof(*all->who));
	if (!all->list || !all->who)
		return false;
	for (size_t i = 0; i < keys->nr; i++) {
		const int64_t *key = keyed_cells(keys, i);
		int64_t who = keyed_get(whos, key);

		if (who < 0)
			return false;
		all->who[i] = (uint32_t)who;
		all->list[i] = (struct culprit){key[CELL_MACHINE], key[CELL_THREAD], key[CELL_MODE],
						key[CELL_VCPU]};
	}
	return true;
}

static bool make_all(struct culprits *all, struct sonde_history *history)
{
	struct keyed keys = {.nr_cells = NR_CELLS}, whos = {.nr_cells = CELL_VCPU};
	bool made;

	all->nr_contexts = sonde_nr_contexts(history);
	all->numbers = calloc((size_t)all->nr_contexts + 1, sizeof(*all->numbers));
	all->modes = calloc((size_t)all->nr_contexts + 1, sizeof(*all->modes));
	made = all->numbers && all->modes && query_contexts(history) &&
	       number_contexts(all, history, &keys) && list_culprits(all, &keys, &whos);
	keyed_release(&keys);
	keyed_release(&whos);
	return made;
}

static void release(struct kept *kept)
{
	struct culprits *c = (struct culprits *)kept;

	free(c->numbers);
	free(c->modes);
	free(c->list);
	free(c->who);
	free(c);
}

static const struct kept_kind kind = {release};

int culprits_get(const struct culprits **out, struct sonde_history *history)
{
	struct culprits *all = kept_find(history, &kind);

	*out = all;
	if (all)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (!make_all(all, history)) {
		release(&all->kept);
		return -ENOMEM;
	}
	kept_set(history, &kind, &all->kept);
	*out = all;
	return 0;
}

struct culprit culprit_of(struct sonde_history *history, int64_t context)
{
	const struct culprits *all;

	/* Without the memory for all of them each costs more, and is the same. */
	if (context < 0 || context >= sonde_nr_contexts(history) || culprits_get(&all, history))
		return make(history, context);
	return all->list[all->numbers[context + 1]];
}
