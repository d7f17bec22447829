/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/address_space.h"

#include "arch/x86/cpu.h"
#include "base/units.h"
#include "model/guest/fuse.h"
#include "model/guest/inner_vcpu.h"
#include "model/identity/machine.h"
#include "model/state/peers.h"
#include "model/identity/tid.h"
#include "model/kvm/vcpu_thread.h"

#include <stdio.h>
#include <string.h>

#define PLAIN_ENOUGH 8 /* firmware runs at low addresses, too, in a page table or two */
#define SPACES_MAX 65536
#define SPACES_OF_VM_MAX 4096

static uint64_t space_key(const struct machine_state *vm, uint64_t page)
{
	return (uint64_t)vm->index << 40 | page >> 12;
}

static bool is_plain(const struct machine_state *vm)
{
	return vm->nr_plain >= PLAIN_ENOUGH;
}

static uint64_t page_of(const struct machine_state *vm, uint64_t cr3)
{
	return is_plain(vm) ? x86_page_table(cr3) : x86_pair_of_tables(cr3);
}

/* From here on the page behind is one of its own. */
static void become_plain(struct machine_state *vm)
{
	struct model *m = vm->model;

	for (struct space *s = vm->spaces; s; s = s->next_of_vm) {
		const uint32_t *known = map_get(&m->by_space, s->key);
		uint32_t index;

		if (!known)
			continue; /* memory is out */
		index = *known;
		map_del(&m->by_space, s->key);
		s->key = space_key(vm, s->page);
		model_put(m, &m->by_space, s->key, index);
	}
}

/* User space on a table of a kernel's half: this kernel does not isolate, and two tables side by
 * side are two processes. */
static void learn_halves(struct machine_state *vm, uint64_t cr3, uint64_t rip)
{
	if (is_plain(vm) || !x86_is_address_of_user(rip) || x86_is_table_of_user(cr3))
		return;
	vm->nr_plain++;
	if (is_plain(vm))
		become_plain(vm);
}

static void name_process(struct thread *th, uint32_t number)
{
	char name[COMM_LEN + 8];

	snprintf(name, sizeof(name), "process %u", number);
	th->tid = -1 - (int32_t)number;
	memset(th->comm, 0, sizeof(th->comm));
	th->comm_id = th->first_comm_id = 0;
	thread_set_comm(th, name);
}

static struct space *space_new(struct machine_state *vm, uint64_t cr3)
{
	struct model *m = vm->model;
	struct space *s;

	if (m->nr_spaces >= SPACES_MAX || vm->nr_spaces >= SPACES_OF_VM_MAX) {
		problems_add(&m->problems,
			     "more than %d address spaces of one guest, or %d of all: the others "
			     "are only \"guest\"",
			     SPACES_OF_VM_MAX, SPACES_MAX);
		return NULL;
	}
	s = arena_alloc(&m->arena, sizeof(*s));
	if (!s || model_grow(m, (void **)&m->spaces, m->nr_spaces, &m->spaces_room,
			     sizeof(struct space *))) {
		model_no_memory(m);
		return NULL;
	}
	s->thread = thread_new(vm, -2 - (int32_t)vm->nr_spaces);
	if (!s->thread)
		return NULL;
	s->vm = vm;
	s->page = x86_page_table(cr3);
	s->key = space_key(vm, page_of(vm, cr3));
	model_put(m, &m->by_space, s->key, m->nr_spaces);
	s->next_of_vm = vm->spaces;
	vm->spaces = s;
	m->spaces[m->nr_spaces++] = s;
	name_process(s->thread, ++vm->nr_spaces);
	return s;
}

static struct space *space_of(struct machine_state *vm, uint64_t cr3)
{
	const uint32_t *known = map_get(&vm->model->by_space, space_key(vm, page_of(vm, cr3)));

	return known ? vm->model->spaces[*known] : space_new(vm, cr3);
}

static void show(struct cpu *vcpu)
{
	struct model *m = vcpu->machine->model;

	if (vcpu->dir == ATTR_NONE)
		return;
	if (vcpu->task == ATTR_NONE)
		vcpu->task = history_writer_attr(m->w, vcpu->dir, "task", ATTR_ROW, 0);
	model_set(m, vcpu->task, vcpu->space ? vcpu->space->thread->row + 1 : 0);
}

/* The vCPU whose kernel or user space that was: @vcpu's own, or a nested one's. */
static struct cpu *exited(struct cpu *vcpu, uint64_t vmcb12)
{
	struct cpu *inner;

	if (!vmcb12)
		return vcpu;
	inner = vcpu_of_address(vcpu->machine, vmcb12);
	if (!inner)
		inner = vcpu->vcpu.entered ? vcpu_innermost(vcpu) : vcpu->vcpu.served;
	return inner != vcpu ? inner : NULL;
}

/* The vCPU of the thread that exited; an exit event of it may be yet to come. */
static struct cpu *vcpu_that_exited(struct machine_state *host, const struct event *e)
{
	int32_t tid = (int32_t)e->arg[1];
	struct thread *th = tid > 0 ? thread_get(host, tid, NULL) : NULL;

	if (!th)
		return NULL;
	if (th->pid < 0 && (int32_t)e->arg[2] > 0)
		peers_set_process(th, (int32_t)e->arg[2]);
	return th->vcpu ? th->vcpu : vcpu_of_thread(th, -1, true);
}

void space_feed(struct machine_state *host, const struct event *e)
{
	struct cpu *outer = vcpu_that_exited(host, e), *vcpu;
	uint64_t cr3 = (uint64_t)e->arg[0];
	struct space *before;

	vcpu = outer ? exited(outer, (uint64_t)e->arg[3]) : NULL;
	if (!vcpu || vcpu->machine->trace || vcpu->any_of)
		return;
	learn_halves(vcpu->machine, cr3, (uint64_t)e->arg[4]);
	before = vcpu->space;
	vcpu->space = x86_page_table(cr3) ? space_of(vcpu->machine, cr3) : NULL;
	if (vcpu->space == before)
		return;
	vcpu->arrived_ns = NS_MAX;
	if (vcpu->space && before) {
		vcpu->space->times++;
		vcpu->arrived_ns = host->model->now;
	}
	show(vcpu);
	if (outer->vcpu.host->on)
		fuse(outer->vcpu.host->on);
}

/* The end of the time in which it may have come to where it is.  The event of the arrival may stand
 * a little before the exit that it belongs to. */
void space_exit(const struct cpu *vcpu)
{
	const struct vcpu *v = &vcpu->vcpu;
	struct cpu *cpu = v->served;

	if (!cpu || likely(cpu->arrived_ns == NS_MAX) || v->entered_ns < cpu->arrived_ns)
		return;
	cpu->space->doubt += cpu->machine->model->now - v->entered_ns;
	cpu->arrived_ns = NS_MAX;
}

static void tell_source(struct machine_state *vm)
{
	ns_t mean = vm->nr_arrivals ? vm->doubt / (ns_t)vm->nr_arrivals : 0;
	struct model *m = vm->model;
	char text[UNIT_TEXT];

	if (vm->nr_processes)
		problems_note(
			&m->problems,
			"%s has no trace of its own: its %u processes are told apart by their "
			"page tables (CR3), which are seen when it exits; a switch to another "
			"is shown at the entry before, up to %s too early on average",
			vm->name, vm->nr_processes, unit_length(text, mean, m->topo->ticks_are_ns));
}

/* Those of vCPUs that turned out to be one VM's are numbered together; one page is one number. */
void spaces_settle(struct model *m)
{
	struct map numbers = {0};

	for (uint32_t i = 0; i < m->nr_spaces; i++) {
		struct space *s = m->spaces[i];
		struct machine_state *vm = machine_root(s->vm);
		uint64_t key = space_key(vm, page_of(s->vm, s->page));
		const uint32_t *known = map_get(&numbers, key);

		if (!known)
			model_put(m, &numbers, key, ++vm->nr_processes);
		name_process(s->thread, known ? *known : vm->nr_processes);
		vm->nr_arrivals += s->times;
		vm->doubt += s->doubt;
	}
	map_release(&numbers);
	for (uint32_t i = 0; i < m->nr_machines; i++)
		tell_source(m->machines[i]);
}
