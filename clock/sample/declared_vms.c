/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of the state lines, asked for: VMs, their threads and the relations of their
 * clocks. */
#include <stdlib.h>
#include <string.h>

#include "clock/sample/declared.h"

bool declared_same_vm(const struct declared_vm *a, const struct declared_vm *b)
{
	if (a->trace_id || b->trace_id)
		return a->trace_id == b->trace_id;
	if (a->has_uuid && b->has_uuid)
		return !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && a->pid == b->pid;
	return a->pid >= 0 && a->pid == b->pid;
}

const struct declared_vm *declared_vm_with_uuid(const struct declared *d, const uint8_t uuid[16])
{
	const struct declared_vm *found = NULL;

	for (size_t i = d->vms.nr; i-- > 0;) {
		const struct declared_vm *vm = &d->vms.list[i];

		if (!vm->has_uuid || memcmp(vm->uuid, uuid, sizeof(vm->uuid)))
			continue;
		if (found && !declared_same_vm(found, vm))
			return NULL;
		found = found ? found : vm;
	}
	return found;
}

const struct declared_vm *declared_vm_of_trace(const struct declared *d, uint64_t trace_id)
{
	for (size_t i = 0; i < d->vms.nr && trace_id; i++) {
		if (d->vms.list[i].trace_id == trace_id)
			return &d->vms.list[i];
	}
	return NULL;
}

const struct declared_vm *declared_vm_named(const struct declared *d, const char *name)
{
	const struct declared_vm *found = NULL;

	for (size_t i = d->vms.nr; i-- > 0;) {
		const struct declared_vm *vm = &d->vms.list[i];

		if (!*vm->name || strcmp(vm->name, name))
			continue;
		if (found && !declared_same_vm(found, vm))
			return NULL;
		found = found ? found : vm;
	}
	return found;
}

const struct declared_vm *declared_vm_of_thread(const struct declared *d, int32_t tid)
{
	const uint32_t *newest = tid > 0 ? map_get(&d->by_thread, (uint32_t)tid) : NULL;

	return newest ? &d->vms.list[d->vcpus.list[*newest].vm] : NULL;
}

const struct declared_vm *declared_vm_of_process(const struct declared *d, int32_t pid)
{
	for (size_t i = d->vms.nr; i-- > 0;) {
		if (d->vms.list[i].pid == pid)
			return &d->vms.list[i];
	}
	return NULL;
}

int32_t declared_thread(const struct declared *d, const struct declared_vm *vm, int vcpu)
{
	for (size_t i = d->vcpus.nr; i-- > 0;) {
		const struct declared_vcpu *v = &d->vcpus.list[i];

		if (v->number == vcpu && v->tid > 0 && declared_same_vm(&d->vms.list[v->vm], vm))
			return v->tid;
	}
	return -1;
}

static bool same_relation(const struct tsc_relation *a, const struct tsc_relation *b)
{
	return a->offset == b->offset && a->ratio == b->ratio && a->bits == b->bits;
}

static int by_votes(const void *a, const void *b)
{
	const struct relation_votes *p = a, *q = b;

	return (q->votes > p->votes) - (q->votes < p->votes);
}

unsigned declared_relations(const struct declared *d, const struct declared_vm *vm,
			    struct relation_votes *out, unsigned room)
{
	unsigned nr = 0;

	for (size_t i = 0; i < d->vcpus.nr; i++) {
		const struct declared_vcpu *v = &d->vcpus.list[i];
		unsigned k = 0;

		if (!v->has_relation || !declared_same_vm(&d->vms.list[v->vm], vm))
			continue;
		while (k < nr && !same_relation(&out[k].relation, &v->relation))
			k++;
		if (k == room)
			continue;
		if (k == nr)
			out[nr++] = (struct relation_votes){.relation = v->relation};
		out[k].votes++;
		out[k].at_start |= v->cause == STATE_CAUSE_START;
		out[k].at_end |= v->cause == STATE_CAUSE_END;
	}
	qsort(out, nr, sizeof(*out), by_votes);
	return nr;
}

bool declared_relation(const struct declared *d, const struct declared_vm *vm,
		       struct tsc_relation *out)
{
	struct relation_votes list[8];

	if (!declared_relations(d, vm, list, ARRAY_SIZE(list)))
		return false;
	*out = list[0].relation;
	return true;
}

bool declared_change(const struct relation_votes *list, unsigned nr,
		     const struct relation_votes **before, const struct relation_votes **after)
{
	*before = *after = NULL;
	for (unsigned i = 0; i < nr; i++) {
		if (list[i].at_start == list[i].at_end)
			continue;
		if (list[i].at_start ? *before != NULL : *after != NULL)
			return false;
		*(list[i].at_start ? before : after) = &list[i];
	}
	return *before && *after;
}

bool declared_written_at(const struct declared *d, const struct declared_vm *vm, int64_t offset,
			 uint64_t *time)
{
	bool found = false;

	for (size_t i = 0; i < d->writes.nr; i++) {
		const struct offset_write *w = &d->writes.list[i];
		const struct declared_vm *of = declared_vm_of_thread(d, w->tid);

		if (w->offset != offset || !of || !declared_same_vm(of, vm) ||
		    (found && w->time < *time))
			continue;
		*time = w->time;
		found = true;
	}
	return found;
}

bool declared_any_change(const struct declared *d)
{
	for (size_t i = 0; i < d->vms.nr; i++) {
		const struct relation_votes *before, *after;
		struct relation_votes list[8];
		unsigned nr = declared_relations(d, &d->vms.list[i], list, ARRAY_SIZE(list));

		if (declared_change(list, nr, &before, &after))
			return true;
	}
	return false;
}
