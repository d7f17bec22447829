/* SPDX-License-Identifier: Apache-2.0 */
#include "model/boot/milestones.h"

#include "model/identity/tid.h"

/* A boot has some dozens; a guest may tell any number. */
#define MILESTONES_MAX 65536

#define KERNEL_BEGIN 0xffffffff80000000u
/* Programs stand at 4 MB when they are static, else far beyond 4 GB.  What is between may be the
 * kernel's first code, at its physical address (16 MB and on), from where it goes on at high ones.
 */
#define STATIC_BEGIN 0x400000u
#define STATIC_END 0x1000000u
#define USER_BEGIN UINT64_C(0x100000000)
#define USER_END UINT64_C(0x800000000000)

enum life { LIFE_UNKNOWN, LIFE_FIRMWARE, LIFE_KERNEL, LIFE_USER };

static bool is_user(uint64_t address)
{
	return (address >= STATIC_BEGIN && address < STATIC_END) ||
	       (address >= USER_BEGIN && address < USER_END);
}

void milestone_add(struct model *m, const struct milestone *milestone)
{
	if (m->nr_milestones < MILESTONES_MAX &&
	    !model_grow(m, (void **)&m->milestones, m->nr_milestones, &m->milestones_room,
			sizeof(*m->milestones)))
		m->milestones[m->nr_milestones++] = *milestone;
}

static void add_of_vcpu(struct cpu *vcpu, const char *kind, ns_t since)
{
	const struct milestone milestone = {
		.vcpu = vcpu, .since = since, .at = vcpu->machine->model->now, .kind = kind};

	milestone_add(vcpu->machine->model, &milestone);
}

void milestone_entry(struct cpu *vcpu)
{
	const struct thread *host = vcpu->vcpu.host;

	/* A thread that was there before the recording may have booted its VM long ago. */
	if (vcpu->vcpu.life != LIFE_UNKNOWN || vcpu->vcpu.exited_ns || !host || host->maker < 0)
		return;
	vcpu->vcpu.life = LIFE_FIRMWARE;
	add_of_vcpu(vcpu, "entry", vcpu->machine->model->now);
}

void milestone_exit(struct cpu *vcpu, uint64_t address)
{
	struct vcpu *v = &vcpu->vcpu;
	ns_t before = v->exited_ns;

	v->exited_ns = vcpu->machine->model->now;
	if (v->life == LIFE_UNKNOWN || v->life == LIFE_USER || v->served != vcpu)
		return;
	if (v->life == LIFE_FIRMWARE && address >= KERNEL_BEGIN) {
		v->life = LIFE_KERNEL;
		add_of_vcpu(vcpu, "kernel", before);
	} else if (v->life == LIFE_KERNEL && is_user(address)) {
		v->life = LIFE_USER;
		add_of_vcpu(vcpu, "user", before);
	}
}

void milestone_exec(struct machine_state *mc, const struct event *e)
{
	const struct thread *th = e->arg[0] == 1 ? thread_find(mc, 1) : NULL;
	const struct milestone milestone = {.machine = mc,
					    .since = mc->model->now,
					    .at = mc->model->now,
					    .kind = "init",
					    .text = th ? th->comm_id : 0};

	if (!th)
		return;
	mc->has_init = true;
	milestone_add(mc->model, &milestone);
}
