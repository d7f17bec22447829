/* SPDX-License-Identifier: Apache-2.0 */
#include "model/guest/exits.h"

#include <errno.h>

#define ROW_UNKNOWN 0u

static uint64_t hash(const struct model *m, const struct exit_kind *k)
{
	uint64_t h = hash_fold((uint64_t)k->serves << 32 | (uint32_t)k->user, m->secret);

	return hash_fold(h ^ (uint64_t)k->reason, m->secret) ^ (uint64_t)k->isa << 60;
}

static bool same(const struct exit_kind *a, const struct exit_kind *b)
{
	return a->reason == b->reason && a->serves == b->serves && a->user == b->user &&
	       a->isa == b->isa;
}

/* The row of this kind of exit + 1, made when it is new; 0: no memory. */
static uint32_t row_of(struct model *m, const struct exit_kind *kind)
{
	uint64_t key = hash(m, kind);
	uint32_t *known;

	while ((known = map_get(&m->by_exit, key))) {
		if (same(&m->exits[*known], kind))
			return *known + 1;
		key++; /* another with the same hash */
	}
	if (model_grow(m, (void **)&m->exits, m->nr_exits, &m->exits_room, sizeof(*m->exits)))
		return 0;
	if (map_put(&m->by_exit, key, m->nr_exits)) {
		model_no_memory(m);
		return 0;
	}
	m->exits[m->nr_exits++] = *kind;
	return m->nr_exits;
}

static void show(struct cpu *vcpu, uint32_t row)
{
	vcpu->vcpu.exit = row;
	model_set(vcpu->machine->model, vcpu->exit, row);
}

static void show_kind(struct cpu *vcpu, const struct exit_kind *kind)
{
	show(vcpu, row_of(vcpu->machine->model, kind));
}

static struct exit_kind *current(const struct cpu *vcpu)
{
	struct model *m = vcpu->machine->model;

	return vcpu->vcpu.exit > ROW_UNKNOWN + 1 ? &m->exits[vcpu->vcpu.exit - 1] : NULL;
}

static uint32_t served_by(const struct cpu *vcpu)
{
	return vcpu->vcpu.served ? vcpu->vcpu.served->index + 1 : 0;
}

int exits_open(struct model *m)
{
	const struct exit_kind unknown = {.reason = -1, .user = -1};

	return row_of(m, &unknown) ? 0 : -ENOMEM;
}

void exit_begin(struct cpu *vcpu, int64_t isa)
{
	const struct exit_kind kind = {
		.serves = served_by(vcpu),
		.user = -1,
		.reason = vcpu->vcpu.reason,
		.isa = isa > 0 && isa < NR_ISAS ? (uint8_t)isa : ISA_UNKNOWN,
	};

	show_kind(vcpu, &kind);
}

void exit_was_nested(struct cpu *vcpu)
{
	const struct exit_kind *now = current(vcpu);
	struct exit_kind kind;

	if (!now)
		return;
	kind = *now;
	kind.serves = served_by(vcpu);
	show_kind(vcpu, &kind);
}

void exit_to_user(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;
	const struct exit_kind *now = vcpu ? current(vcpu) : NULL;
	struct exit_kind kind;

	if (!now)
		return;
	kind = *now;
	kind.user = e->arg[0] >= 0 && e->arg[0] < INT32_MAX ? (int32_t)e->arg[0] : INT32_MAX;
	show_kind(vcpu, &kind);
}

void exit_end(struct cpu *vcpu)
{
	if (vcpu->vcpu.exit)
		show(vcpu, 0);
}

void exit_forget(struct cpu *vcpu)
{
	/* Its host's events are missing: that it is in an exit still is not known, either. */
	if (vcpu->vcpu.exit)
		show(vcpu, ROW_UNKNOWN + 1);
}
