/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/process.h"

#include "model/identity/tid.h"
#include "model/identity/vm_counts.h"

/* A hint is of a TID.  Where an earlier thread of that number ran the vCPU, and the VM's own trace
 * has told of it by now, the VM was that one's: it is not @host's. */
static bool is_of_another(const struct hint *h, const struct thread *host)
{
	const struct machine_state *vm = h->vm;
	const struct cpu *cpu =
		h->vcpu >= 0 && (unsigned)h->vcpu < vm->nr_cpus ? vm->cpus[h->vcpu] : NULL;
	const struct thread *before = cpu ? cpu->vcpu.host : NULL;

	return before && before != host && before->tid == host->tid && cpu->heard_at != NS_MIN;
}

const struct hint *process_hint_of(const struct thread *host)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		const struct hint *h = &m->hints[i];

		if (h->vm->parent == host->machine && h->tid == host->tid)
			return is_of_another(h, host) ? NULL : h;
	}
	return NULL;
}

int32_t process_of_thread(const struct thread *host)
{
	return host->pid >= 0 ? host->pid : host->maker;
}

bool process_is_same(const struct thread *a, const struct thread *b)
{
	return process_of_thread(a) == process_of_thread(b) && a->begin >= b->process_since &&
	       b->begin >= a->process_since;
}

/* A traced VM whose process this is, told by a hint about another thread of it. */
static struct machine_state *vm_by_hints(const struct thread *host)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		const struct hint *h = &m->hints[i];
		const struct thread *th;

		if (h->vm->parent != host->machine)
			continue;
		th = thread_find(host->machine, h->tid);
		if (th && process_is_same(th, host) && !is_of_another(h, th))
			return h->vm;
	}
	return NULL;
}

struct machine_state *process_vm_of_pid(const struct machine_state *host, int32_t pid)
{
	const uint32_t *known = map_get(&host->model->vm_by_pid, pair_key(host, (uint32_t)pid));

	return known ? host->model->machines[*known] : NULL;
}

struct machine_state *process_vm(const struct thread *host)
{
	int32_t process = process_of_thread(host);
	struct machine_state *vm;

	if (process < 0)
		return NULL;
	vm = process_vm_of_pid(host->machine, process);
	return vm ? vm : vm_by_hints(host);
}

void process_gone(struct machine_state *host, int32_t pid)
{
	map_del(&host->model->vm_by_pid, pair_key(host, (uint32_t)pid));
}

void process_learn_vm(struct machine_state *vm, const struct thread *host)
{
	struct model *m = vm->model;
	int32_t process = process_of_thread(host);

	if (process < 0)
		return;
	vm_counts_set_process(vm, process);
	vm->pid_known = host->pid >= 0;
	model_put(m, &m->vm_by_pid, pair_key(host->machine, (uint32_t)process), vm->index);
}
