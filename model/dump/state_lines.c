/* SPDX-License-Identifier: Apache-2.0 */
#include "model/dump/state_lines.h"

#include <stdio.h>
#include <string.h>

#include "model/boot/earlier_boot.h"
#include "model/identity/cgroup.h"
#include "model/identity/machine.h"
#include "model/identity/namespace.h"
#include "model/state/peers.h"
#include "model/sched/thread.h"
#include "model/sched/thread_life.h"
#include "model/identity/tid.h"
#include "model/identity/vm_counts.h"
#include "model/kvm/vcpu_thread.h"
#include "source/state_line.h"

#define LEVELS_MAX 33 /* of PID namespaces, see namespace.c */

/* ---- what the machine is ----------------------------------------------------------------------
 */

static void identify(struct machine_state *mc, const char *key, const char *value)
{
	struct model *m = mc->model;

	if (!*value || model_grow(m, (void **)&m->identities, m->nr_identities, &m->identities_room,
				  sizeof(*m->identities)))
		return;
	m->identities[m->nr_identities++] =
		(struct identity){mc, key, history_writer_string(m->w, value, strlen(value))};
}

static void on_begin(struct machine_state *mc, const struct state_line *l)
{
	static const char *const keys[] = {"hostname",	 "boot_id",	"product_uuid",
					   "release",	 "cpus",	"online",
					   "hypervisor", "clocksource", "tsc_khz"};
	char value[128];

	mc->block_begin = mc->model->now;
	mc->block_losses = mc->losses;
	mc->block_tasks = 0;
	if (mc->nr_blocks++)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		state_text(l, keys[i], value, sizeof(value));
		identify(mc, keys[i], value);
	}
}

static void on_end(struct machine_state *mc, const struct state_line *l)
{
	uint64_t tasks = state_uint(l, "tasks", mc->block_tasks);

	if (tasks > mc->block_tasks)
		problems_add(&mc->model->problems,
			     "%s: of %llu threads that were there, only %llu %s in the trace: the "
			     "rest of these lines was lost",
			     mc->name, (unsigned long long)tasks,
			     (unsigned long long)mc->block_tasks,
			     mc->block_tasks == 1 ? "is" : "are");
}

/* ---- threads ----------------------------------------------------------------------------------
 */

/* Whether it is known of every CPU which thread it runs: then a thread that can run waits. */
static bool all_cpus_known(const struct machine_state *mc)
{
	return !mc->nr_threadless && machine_sees_all(mc);
}

/* The letter that /proc has for it. */
static enum thread_state state_of(const struct machine_state *mc, char letter)
{
	switch (letter) {
	case 'R':
		return all_cpus_known(mc) ? THREAD_RUNNABLE : THREAD_UNKNOWN;
	case 'S':
	case 'I':
		return THREAD_SLEEPING;
	case 'D':
		return THREAD_BLOCKED;
	case 'T':
	case 't':
		return THREAD_STOPPED;
	case 'Z':
	case 'X':
		return THREAD_DEAD;
	default:
		return THREAD_UNKNOWN;
	}
}

static char letter_of(const struct state_line *l)
{
	char letter[2];

	return state_text(l, "state", letter, sizeof(letter)) ? letter[0] : '\0';
}

static void set_state(struct thread *th, const struct state_line *l)
{
	/* A loss meanwhile: it may have been woken unseen. */
	if (th->state != THREAD_UNKNOWN || th->on ||
	    th->machine->losses != th->machine->block_losses)
		return;
	thread_set_state(th, state_of(th->machine, letter_of(l)));
}

/* Its TID in every namespace, outermost first; the innermost one is named. */
static void set_namespaces(struct thread *th, const struct state_line *l)
{
	int64_t tids[LEVELS_MAX];
	unsigned nr = state_list(l, "nstids", tids, LEVELS_MAX);
	uint32_t inum = (uint32_t)state_uint(l, "pidns", 0);

	while (nr-- > 0) {
		namespace_add(th, (int32_t)nr, inum ? (int64_t)inum : -1, (int32_t)tids[nr]);
		inum = inum ? namespace_outer(th->machine, inum) : 0;
	}
}

static void set_kind(struct thread *th, int64_t kthread)
{
	if (th->kind == KIND_UNKNOWN && kthread >= 0)
		th->kind = kthread ? KIND_KERNEL : KIND_USER;
}

static bool ended_since(const struct machine_state *mc, int32_t tid)
{
	const uint32_t *block = map_get(&mc->model->ended, pair_key(mc, (uint32_t)tid));

	return block && *block == mc->nr_blocks;
}

/* It has exited, and only waits for its parent to read how: no thread begins with it. */
static bool has_exited(struct machine_state *mc, const struct state_line *l, int32_t tid)
{
	char letter = letter_of(l);
	struct thread *th;

	if (letter != 'Z' && letter != 'X')
		return false;
	th = thread_find(mc, tid);
	if (th)
		set_state(th, l);
	return true;
}

static void on_task(struct machine_state *mc, const struct state_line *l)
{
	int64_t tid = state_int(l, "tid", -1);
	struct thread *th;
	char comm[COMM_LEN + 1];

	mc->block_tasks++;
	if (tid <= 0 || tid > INT32_MAX || ended_since(mc, (int32_t)tid) ||
	    has_exited(mc, l, (int32_t)tid))
		return;
	th = thread_get(mc, (int32_t)tid, NULL);
	if (!th)
		return;
	if (!th->comm_id && state_text(l, "comm", comm, sizeof(comm)))
		thread_set_comm(th, comm);
	if (th->pid < 0)
		peers_set_process(th, (int32_t)state_int(l, "pid", -1));
	thread_set_parent(th, state_int(l, "ppid", -1));
	set_kind(th, state_int(l, "kthread", -1));
	set_namespaces(th, l);
	if (!th->cgroup)
		th->cgroup = cgroup_get(mc, state_uint(l, "cgroup", 0));
	set_state(th, l);
}

/* ---- VMs --------------------------------------------------------------------------------------
 */

/* The VM of this block that the line's number means; NULL when there is none. */
static struct listed_vm *listed_vm(const struct machine_state *mc, const struct state_line *l)
{
	const struct model *m = mc->model;
	uint64_t number = state_uint(l, "vm", UINT64_MAX);
	const uint32_t *index;

	if (number > UINT32_MAX)
		return NULL;
	index = map_get(&m->by_listed, pair_key(mc, (uint32_t)number));
	return index && m->listed[*index].block == mc->nr_blocks ? &m->listed[*index] : NULL;
}

static void on_vm(struct machine_state *mc, const struct state_line *l)
{
	struct model *m = mc->model;
	uint64_t number = state_uint(l, "vm", UINT64_MAX);
	struct listed_vm vm = {
		.host = mc,
		.block = mc->nr_blocks,
		.pid = (int32_t)state_int(l, "pid", -1),
	};

	if (number > UINT32_MAX || listed_vm(mc, l) ||
	    model_grow(m, (void **)&m->listed, m->nr_listed, &m->listed_room, sizeof(*m->listed)))
		return;
	if (map_put(&m->by_listed, pair_key(mc, (uint32_t)number), m->nr_listed)) {
		model_no_memory(m);
		return;
	}
	state_text(l, "name", vm.name, sizeof(vm.name));
	state_text(l, "uuid", vm.uuid, sizeof(vm.uuid));
	state_text(l, "manager", vm.manager, sizeof(vm.manager));
	m->listed[m->nr_listed++] = vm;
}

/* What the list says of the VM goes to the machine that it has turned out to be. */
static void tell_vm(struct machine_state *vm, const struct listed_vm *from)
{
	struct model *m = vm->model;

	if (vm->listed)
		return;
	vm->listed = true;
	if (from->pid >= 0) {
		vm_counts_set_process(vm, from->pid);
		vm->pid_known = true;
		if (map_put(&m->vm_by_pid, pair_key(from->host, (uint32_t)from->pid), vm->index))
			model_no_memory(m);
	}
	if (!vm->trace)
		snprintf(vm->evidence, sizeof(vm->evidence),
			 "the list of VMs that was recorded on %.90s", from->host->name);
	memcpy(vm->vm_name, from->name, sizeof(vm->vm_name));
	identify(vm, "vm_name", from->name);
	identify(vm, "vm_uuid", from->uuid);
	identify(vm, "vm_manager", from->manager);
}

/* From here on the thread is a vCPU, whether or not an event of it will come. */
static void on_vcpu(struct machine_state *mc, const struct state_line *l)
{
	struct listed_vm *vm = listed_vm(mc, l);
	int64_t tid = state_int(l, "tid", -1), number = state_int(l, "vcpu", -1);
	struct thread *th;

	if (!vm || tid <= 0 || tid > INT32_MAX || ended_since(mc, (int32_t)tid))
		return;
	th = thread_get(mc, (int32_t)tid, NULL);
	if (!th)
		return;
	if (th->pid < 0)
		peers_set_process(th, vm->pid);
	if (!th->vcpu && !vcpu_of_thread(th, number, false))
		return;
	if (th->vcpu->number < 0)
		machine_number_vcpu(th->vcpu, number);
	if (!vm->machine)
		vm->machine = th->vcpu->machine;
	tell_vm(th->vcpu->machine, vm);
}

/* ---- /proc/stat -------------------------------------------------------------------------------
 */

static void on_stat(struct machine_state *mc, const struct state_line *l)
{
	static const char *const keys[STAT_NR_TIMES] = {"user",	  "nice",      "system",  "idle",
							"iowait", "irq",       "softirq", "steal",
							"guest",  "guest_nice"};
	struct model *m = mc->model;
	struct stat_line stat = {
		.machine = mc,
		.at = m->now,
		.cause = (int)mc->block.cause,
		.cpu = state_int(l, "cpu", -1),
		.hz = state_int(l, "hz", -1),
	};

	if (stat.cpu < 0 ||
	    model_grow(m, (void **)&m->stats, m->nr_stats, &m->stats_room, sizeof(*m->stats)))
		return;
	for (unsigned i = 0; i < STAT_NR_TIMES; i++)
		stat.times[i] = state_int(l, keys[i], -1);
	m->stats[m->nr_stats++] = stat;
}

void state_line_feed(struct machine_state *mc, const struct event *e)
{
	struct state_line l;

	if (!state_line_read(&l, mc->model->stream, e) ||
	    !state_block_takes(&mc->block, &l, e->tid))
		return;
	mc->has_init = true; /* a program says that */
	switch (l.kind) {
	case STATE_BEGIN:
		on_begin(mc, &l);
		break;
	case STATE_PIDNS:
		namespace_declare(mc, (uint32_t)state_uint(&l, "inum", 0),
				  (uint32_t)state_uint(&l, "parent", 0),
				  (int)state_int(&l, "level", -1));
		break;
	case STATE_CGROUP:
		cgroup_name(mc, &l);
		break;
	case STATE_TASK:
		on_task(mc, &l);
		break;
	case STATE_VM:
		on_vm(mc, &l);
		break;
	case STATE_VCPU:
		on_vcpu(mc, &l);
		break;
	case STATE_STAT:
		on_stat(mc, &l);
		break;
	case STATE_BOOTED:
		booted_line(mc, &l);
		break;
	case STATE_END:
		on_end(mc, &l);
		break;
	default:
		break;
	}
}

/* VMs of which no vCPU was listed either are machines all the same. */
static void place_vm(struct model *m, struct listed_vm *vm)
{
	const uint32_t *known;

	if (vm->machine || vm->pid < 0)
		return;
	known = map_get(&m->vm_by_pid, pair_key(vm->host, (uint32_t)vm->pid));
	vm->machine = known ? m->machines[*known] : machine_add(m, vm->host);
	if (vm->machine)
		tell_vm(vm->machine, vm);
}

/* The outermost machine makes hypercalls: it runs in one that has no trace. */
static void identify_guest(struct machine_state *mc)
{
	const struct model *m = mc->model;

	for (uint32_t i = 0; i < m->nr_identities; i++) {
		if (m->identities[i].machine == mc && !strcmp(m->identities[i].key, "hypervisor"))
			return;
	}
	identify(mc, "hypervisor", "unknown");
}

void state_lines_settle(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_listed; i++)
		place_vm(m, &m->listed[i]);
	if (m->topo->machines[0].makes_calls)
		identify_guest(m->machines[0]);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];

		if (mc->block.open)
			problems_add(&m->problems,
				     "%s: its last list of what was there is not complete: the "
				     "recorder was stopped, or the rest was lost",
				     mc->name);
		if (mc->block.ignored)
			problems_add(
				&m->problems,
				"%s: %llu line%s not used: in no block, or written by another thread "
				"than its writer",
				mc->name, (unsigned long long)mc->block.ignored,
				mc->block.ignored == 1 ? " of statedumps is"
						       : "s of statedumps are");
	}
}
