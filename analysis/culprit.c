/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/culprit.h"

#include <stdlib.h>

struct culprits {
	int64_t nr;
	struct culprit of[]; /* per context */
};

int64_t culprit_class(int64_t mode)
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

static struct culprit make(struct sonde_run *run, int64_t context)
{
	struct culprit culprit = {-1, -1, SONDE_MODE_UNKNOWN, -1};
	struct sonde_context c;

	if (sonde_context(run, context, &c))
		return culprit;
	culprit.machine = c.machine;
	if (c.mode != SONDE_MODE_IRQ && c.mode != SONDE_MODE_SOFTIRQ)
		culprit.thread = c.thread;
	culprit.mode = culprit_class(c.mode);
	if (c.mode == SONDE_MODE_HYPERVISOR)
		culprit.vcpu = c.serves;
	else if (c.machine)
		culprit.vcpu = sonde_find_cpu(run, c.machine, c.cpu);
	return culprit;
}

static struct culprits *make_all(struct sonde_run *run)
{
	int64_t nr = sonde_nr_contexts(run);
	struct culprits *all = malloc(sizeof(*all) + (size_t)nr * sizeof(all->of[0]));

	if (!all)
		return NULL;
	all->nr = nr;
	for (int64_t i = 0; i < nr; i++)
		all->of[i] = make(run, i);
	return all;
}

struct culprit culprit_of(struct sonde_run *run, int64_t context)
{
	if (!run->culprits)
		run->culprits = make_all(run);
	/* Without the memory for all of them each costs more, and is the same. */
	if (!run->culprits || context < 0 || context >= run->culprits->nr)
		return make(run, context);
	return run->culprits->of[context];
}

void culprits_free(struct culprits *c)
{
	free(c);
}
