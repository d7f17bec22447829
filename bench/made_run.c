/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/made_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/context.h"
#include "model/tables/tables.h"

/* Who has a CPU of the host: one of its vCPUs, or one of these two. */
#define IDLE UINT32_MAX
#define BURN (UINT32_MAX - 1)

/* Where a vCPU is. */
enum phase { IN_EXIT, IN_GUEST, IN_NESTED_EXIT, IN_NESTED };

struct made_cpu {
	uint32_t who;
	enum phase phase;
	unsigned what; /* of its contexts: burn's, or the exit */
	bool lost;     /* nothing is known of it for one step */
};

uint32_t made_random(struct made *m, uint32_t below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->seed >> 33) % below);
}

/* As many CPUs as vCPUs stand on. */
static unsigned nr_homes(const struct made *m)
{
	return (m->o.cpus + 1) / 2;
}

unsigned made_home(const struct made *m, unsigned vcpu)
{
	return vcpu < m->nr_vcpus ? vcpu % nr_homes(m) : 0;
}

static void set(struct made *m, attr_t attr, ns_t t, uint32_t value)
{
	if (attr != ATTR_NONE)
		history_writer_set(m->w, attr, t, value);
}

static void runs(struct made *m, unsigned cpu, ns_t t, uint32_t context)
{
	set(m, m->runs[cpu], t, context + 1);
}

/* ---- vCPUs --------------------------------------------------------------------------------- */

static struct made_vcpu *nested_in(struct made *m, unsigned v)
{
	return m->nr_nested && v % (MADE_VCPUS * MADE_KINDS) == 0
		       ? &m->vcpus[m->nr_vcpus + made_nested(made_vm(v))]
		       : NULL;
}

static bool tells_tasks(const struct made *m, unsigned v)
{
	return m->vcpus[v].task != ATTR_NONE;
}

static void become(struct made *m, struct made_vcpu *v, ns_t t, enum vcpu_state state)
{
	enum thread_state thread = state == VCPU_ON_CPU	   ? THREAD_RUNNING
				   : state == VCPU_WAITING ? THREAD_SLEEPING
							   : THREAD_RUNNABLE;

	v->is = (uint8_t)state;
	set(m, v->state, t, state);
	set(m, v->thread_state, t, thread);
	set(m, v->on, t, state == VCPU_ON_CPU ? v->cpu + 1 : 0);
}

static void exits(struct made *m, unsigned cpu, unsigned v, ns_t t, enum made_exit exit)
{
	bool away = made_home(m, v) != cpu;

	set(m, m->vcpus[v].exit, t, made_exit_row(v, exit) + 1);
	runs(m, cpu, t, made_vcpu_context(m, v, (away ? OF_EXIT_AWAY : OF_EXIT) + exit));
	m->cpus[cpu].phase = IN_EXIT;
	m->cpus[cpu].what = exit;
}

/* A thread of its own; @what: OF_APP, OF_SYSCALL or OF_HANDLER. */
static void guest_runs(struct made *m, unsigned cpu, unsigned v, ns_t t, unsigned what)
{
	runs(m, cpu, t, made_vcpu_context(m, v, what + m->vcpus[v].app));
}

static void enters(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	struct made_vcpu *vcpu = &m->vcpus[v];

	set(m, vcpu->exit, t, 0);
	if (tells_tasks(m, v))
		set(m, vcpu->task, t, (uint32_t)made_app_row(m, v, vcpu->app) + 1);
	set(m, vcpu->app_state[vcpu->app], t, THREAD_RUNNING);
	vcpu->in_syscall = false;
	guest_runs(m, cpu, v, t, OF_APP);
	m->cpus[cpu].phase = IN_GUEST;
}

static void request_begins(struct made *m, struct made_vcpu *vcpu, ns_t t)
{
	if (m->o.with & MADE_REQUESTS && vcpu->request.issued == NS_MIN)
		vcpu->request =
			(struct made_request){.issued = t, .begun = t + 9000, .ended = t + 20000};
}

static void request_ends(struct made *m, unsigned v, ns_t t)
{
	struct made_request *r = &m->vcpus[v].request;
	int64_t burn = made_burn_row(m, made_home(m, v));

	if (r->issued == NS_MIN)
		return;
	made_row(m, TABLE_REQUEST,
		 (int64_t[]){made_machine_row(made_vm(v)),
			     made_vcpu_row(m, v),
			     made_app_row(m, v, 0),
			     1 + m->nr_requests % 2,
			     254 << 20,
			     m->nr_requests * 8,
			     4096,
			     1,
			     r->issued,
			     r->issued + 100,
			     r->issued + 200,
			     r->issued + 5000,
			     r->begun,
			     r->ended,
			     r->ended + 900,
			     t,
			     t + 500,
			     t + 900,
			     burn,
			     burn,
			     made_vcpu_row(m, v),
			     37,
			     1,
			     0});
	m->nr_requests++;
	r->issued = NS_MIN;
}

/* Somebody wakes one that waits: it is ready from now on. */
static void wake(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	struct made_vcpu *vcpu = &m->vcpus[v];
	unsigned by =
		vcpu->request.issued != NS_MIN ? MADE_BY_DISK : made_random(m, 2) * MADE_BY_IPI;

	set(m, vcpu->woken, t, made_wake_row(v, by) + 1);
	set(m, vcpu->thread_waker, t, made_cpu_context(cpu, OF_BURN_IRQ) + 1);
	become(m, vcpu, t, VCPU_PREEMPTED);
	request_ends(m, v, t);
}

static void preempt(struct made *m, unsigned v, ns_t t)
{
	static const enum why_off why[] = {OFF_SLICE, OFF_WAKEUP, OFF_CLASS,
					   OFF_MOVED, OFF_QUOTA,  OFF_THROTTLED};
	unsigned nr = m->o.with & MADE_QUOTAS ? 6 : 4;

	become(m, &m->vcpus[v], t, VCPU_PREEMPTED);
	set(m, m->vcpus[v].why_off, t, why[made_random(m, nr)]);
}

/* ---- guests -------------------------------------------------------------------------------- */

/* The other of its threads is woken, and mostly has the vCPU next. */
static void switch_apps(struct made *m, unsigned v, ns_t t)
{
	struct made_vcpu *vcpu = &m->vcpus[v];
	unsigned other = !vcpu->app;

	set(m, vcpu->app_waker[other], t, made_vcpu_context(m, v, OF_HANDLER + vcpu->app) + 1);
	set(m, vcpu->app_state[other], t, THREAD_RUNNABLE);
	set(m, vcpu->app_state[vcpu->app], t,
	    made_random(m, 4) ? THREAD_SLEEPING : THREAD_RUNNABLE);
	vcpu->app = other;
}

static void mark(struct made *m, unsigned v, ns_t t)
{
	if (!(m->o.with & MADE_MARKS) || made_random(m, 8))
		return;
	made_row(m, TABLE_MARK,
		 (int64_t[]){t, made_machine_row(made_vm(v)), v % MADE_VCPUS,
			     made_app_row(m, v, m->vcpus[v].app), m->nr_marks % 3, v,
			     made_text(m, "%s", m->nr_marks % 3 ? "work" : "asked"), 0});
	m->nr_marks++;
}

static void nested_runs(struct made *m, unsigned cpu, unsigned v, ns_t t, unsigned context)
{
	runs(m, cpu, t, made_vcpu_context(m, m->nr_vcpus + made_nested(made_vm(v)), context));
}

static void nested_step(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	struct made_vcpu *inner = nested_in(m, v);
	unsigned n = m->nr_vcpus + made_nested(made_vm(v)), exit = made_random(m, EXIT_IO + 1);

	if (m->cpus[cpu].phase == IN_NESTED_EXIT) {
		set(m, inner->exit, t, 0);
		set(m, m->vcpus[v].exit, t, 0);
		nested_runs(m, cpu, v, t, OF_APP);
		m->cpus[cpu].phase = IN_NESTED;
	} else if (inner->is == VCPU_ON_CPU) { /* its hypervisor gets to know of an exit */
		set(m, inner->exit, t, made_exit_row(n, exit) + 1);
		nested_runs(m, cpu, v, t, OF_EXIT + exit);
		m->cpus[cpu].phase = IN_GUEST;
		become(m, inner, t, exit == EXIT_HLT ? VCPU_WAITING : VCPU_PREEMPTED);
		set(m, inner->woken, t, 0);
	} else {
		set(m, inner->woken, t, made_wake_row(n, MADE_BY_TIMER) + 1);
		set(m, inner->thread_cpu, t, 1);
		become(m, inner, t, VCPU_ON_CPU);
		set(m, m->vcpus[v].exit, t, made_exit_row(v, EXIT_VMRUN) + 1);
		nested_runs(m, cpu, v, t, OF_EXIT + EXIT_INTR);
		m->cpus[cpu].phase = IN_NESTED_EXIT;
	}
}

static void guest_step(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	struct made_vcpu *vcpu = &m->vcpus[v];

	switch (made_random(m, 8)) {
	case 0:
	case 1:
		vcpu->in_syscall = !vcpu->in_syscall;
		guest_runs(m, cpu, v, t, vcpu->in_syscall ? OF_SYSCALL : OF_APP);
		if (made_traced(made_vm(v)))
			mark(m, v, t);
		break;
	case 2:
		guest_runs(m, cpu, v, t, OF_HANDLER);
		switch_apps(m, v, t);
		break;
	case 3:
		if (nested_in(m, v))
			nested_step(m, cpu, v, t);
		else
			exits(m, cpu, v, t, EXIT_HLT);
		break;
	default:
		exits(m, cpu, v, t, (enum made_exit)made_random(m, EXIT_IO + 1));
		break;
	}
}

/* ---- CPUs of the host ---------------------------------------------------------------------- */

static void burn_step(struct made *m, unsigned cpu, ns_t t)
{
	struct made_cpu *c = &m->cpus[cpu];

	c->what = c->what == OF_BURN_SOFTIRQ ? OF_BURN : c->what + 1;
	runs(m, cpu, t, made_cpu_context(cpu, c->what));
}

/* Its next vCPU that is ready, or @otherwise. */
static void take_next(struct made *m, unsigned cpu, ns_t t, uint32_t otherwise)
{
	struct made_cpu *c = &m->cpus[cpu];
	unsigned homes = nr_homes(m), nr = 0;
	uint32_t found = otherwise;

	for (unsigned v = cpu; v < m->nr_vcpus; v += homes) {
		struct made_vcpu *vcpu = &m->vcpus[v];

		if (vcpu->is == VCPU_PREEMPTED && !made_random(m, ++nr))
			found = v;
	}
	c->who = found;
	c->what = OF_BURN;
	if (found >= BURN) {
		runs(m, cpu, t, made_cpu_context(cpu, found == BURN ? OF_BURN : OF_IDLE));
		return;
	}
	m->vcpus[found].cpu = cpu;
	set(m, m->vcpus[found].thread_cpu, t, cpu + 1);
	become(m, &m->vcpus[found], t, VCPU_ON_CPU);
	exits(m, cpu, found, t, EXIT_INTR);
}

/* The CPU next to it has nothing to do: it goes on there. */
static bool moves(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	unsigned to = (cpu + 1) % m->o.cpus;

	if (made_home(m, v) != cpu || to == cpu || m->cpus[to].who != IDLE || m->cpus[to].lost)
		return false;
	preempt(m, v, t);
	m->cpus[to].who = v;
	m->vcpus[v].cpu = to;
	set(m, m->vcpus[v].thread_cpu, t, to + 1);
	become(m, &m->vcpus[v], t, VCPU_ON_CPU);
	exits(m, to, v, t, EXIT_INTR);
	return true;
}

static void exit_step(struct made *m, unsigned cpu, unsigned v, ns_t t)
{
	struct made_cpu *c = &m->cpus[cpu];
	struct made_vcpu *vcpu = &m->vcpus[v];

	if (c->what == EXIT_HLT) {
		set(m, vcpu->woken, t, 0);
		become(m, vcpu, t, VCPU_WAITING);
		take_next(m, cpu, t, made_random(m, 2) ? IDLE : BURN);
	} else if (c->what == EXIT_INTR && !made_random(m, 4)) {
		if (made_random(m, 4) || !moves(m, cpu, v, t))
			preempt(m, v, t);
		take_next(m, cpu, t, BURN);
	} else if (c->what == EXIT_IO && !made_random(m, 3)) {
		if (made_traced(made_vm(v)))
			request_begins(m, vcpu, t);
		exits(m, cpu, v, t, EXIT_IO_USER);
	} else {
		enters(m, cpu, v, t);
	}
}

static void wake_some(struct made *m, unsigned cpu, ns_t t)
{
	unsigned homes = nr_homes(m);

	for (unsigned v = cpu; v < m->nr_vcpus; v += homes) {
		if (m->vcpus[v].is == VCPU_WAITING && !made_random(m, 4))
			wake(m, cpu, v, t);
	}
}

/* For one step nothing is known. */
static void lose(struct made *m, unsigned cpu, ns_t t)
{
	struct made_cpu *c = &m->cpus[cpu];

	made_row(m, TABLE_LOSS, (int64_t[]){0, cpu, t, t + MADE_STEP_NS / 2, 100});
	set(m, m->runs[cpu], t, 0);
	if (c->who < BURN) {
		set(m, m->vcpus[c->who].state, t, VCPU_UNKNOWN);
		set(m, m->vcpus[c->who].exit, t, 1);
		set(m, m->vcpus[c->who].woken, t, made_wake_row(c->who, MADE_BY_LOSS) + 1);
	}
	c->lost = true;
}

static void found_again(struct made *m, unsigned cpu, ns_t t)
{
	struct made_cpu *c = &m->cpus[cpu];

	c->lost = false;
	if (c->who >= BURN) {
		take_next(m, cpu, t, c->who);
		return;
	}
	become(m, &m->vcpus[c->who], t, VCPU_ON_CPU);
	exits(m, cpu, c->who, t, EXIT_INTR);
}

static void step(struct made *m, unsigned cpu, ns_t t)
{
	struct made_cpu *c = &m->cpus[cpu];

	wake_some(m, cpu, t);
	if (c->lost)
		found_again(m, cpu, t);
	else if (m->o.with & MADE_LOSSES && !made_random(m, 500))
		lose(m, cpu, t);
	else if (c->who == IDLE || (c->who == BURN && !made_random(m, 4)))
		take_next(m, cpu, t, made_random(m, 3) ? IDLE : BURN);
	else if (c->who == BURN)
		burn_step(m, cpu, t);
	else if (c->phase == IN_EXIT)
		exit_step(m, cpu, c->who, t);
	else if (c->phase == IN_GUEST)
		guest_step(m, cpu, c->who, t);
	else
		nested_step(m, cpu, c->who, t);
}

/* ---- attributes ---------------------------------------------------------------------------- */

static attr_t dir(struct made *m, attr_t parent, const char *format, long long number)
{
	char name[32];

	snprintf(name, sizeof(name), format, number);
	return history_writer_attr(m->w, parent, name, ATTR_DIR, 0);
}

static attr_t machine_dir(struct made *m, int64_t machine)
{
	char name[32];

	made_name(m, name, machine);
	return history_writer_attr(m->w, ATTR_ROOT, name, ATTR_DIR, 0);
}

static attr_t leaf(struct made *m, attr_t parent, const char *name, enum attr_type type)
{
	return history_writer_attr(m->w, parent, name, type, 0);
}

/* In @parent, what runs it has attributes, too; @own is where its own are. */
static void make_vcpu(struct made *m, unsigned v, attr_t parent, attr_t own, attr_t threads)
{
	struct made_vcpu *vcpu = &m->vcpus[v];
	attr_t thread = dir(m, dir(m, parent, "threads", 0), "%lld", made_thread_row(m, v));

	*vcpu = (struct made_vcpu){.state = leaf(m, own, "state", ATTR_ENUM),
				   .on = leaf(m, own, "on", ATTR_NUMBER),
				   .exit = leaf(m, own, "exit", ATTR_ROW),
				   .woken = leaf(m, own, "woken", ATTR_ROW),
				   .why_off = leaf(m, own, "why_off", ATTR_ENUM),
				   .task = ATTR_NONE,
				   .thread_state = leaf(m, thread, "state", ATTR_ENUM),
				   .thread_waker = leaf(m, thread, "waker", ATTR_ROW),
				   .thread_cpu = leaf(m, thread, "cpu", ATTR_NUMBER),
				   .app_state = {ATTR_NONE, ATTR_NONE},
				   .app_waker = {ATTR_NONE, ATTR_NONE},
				   .cpu = made_home(m, v),
				   .request = {.issued = NS_MIN}};
	for (unsigned app = 0; app < 2 && threads != ATTR_NONE; app++) {
		attr_t at = dir(m, threads, "%lld", made_app_row(m, v, app));

		vcpu->app_state[app] = leaf(m, at, "state", ATTR_ENUM);
		vcpu->app_waker[app] = leaf(m, at, "waker", ATTR_ROW);
	}
}

static void make_vcpus(struct made *m)
{
	attr_t host = machine_dir(m, 0);

	for (unsigned v = 0; v < m->nr_vcpus; v++) {
		unsigned vm = made_vm(v);
		bool traced = made_traced(vm),
		     told = made_kind(vm) == MADE_SPACED && m->o.with & MADE_SPACES;
		attr_t own =
			traced ? machine_dir(m, made_machine_row(vm)) : dir(m, host, "vcpus", 0);
		attr_t cpu = dir(m, own, traced ? "cpu%lld" : "%lld",
				 traced ? v % MADE_VCPUS : made_thread_row(m, v));

		make_vcpu(m, v, host, cpu, traced ? dir(m, own, "threads", 0) : ATTR_NONE);
		if (traced || told)
			m->vcpus[v].task = leaf(m, cpu, "task", ATTR_ROW);
	}
	for (unsigned n = 0; n < m->nr_nested; n++) {
		attr_t own = machine_dir(m, made_nested_machine_row(m, n));

		make_vcpu(m, m->nr_vcpus + n, machine_dir(m, made_machine_row(n * MADE_KINDS)),
			  dir(m, own, "cpu0", 0), dir(m, own, "threads", 0));
	}
}

static void make_cpus(struct made *m)
{
	attr_t host = machine_dir(m, 0);

	for (unsigned cpu = 0; cpu < m->o.cpus; cpu++) {
		m->runs[cpu] = history_writer_attr(m->w, dir(m, host, "cpu%lld", cpu), "runs",
						   ATTR_ROW, ATTR_SUMMED);
		m->cpus[cpu].who = IDLE;
	}
}

int made_run(struct made *m, ns_t *end)
{
	m->cpus = calloc(m->o.cpus, sizeof(*m->cpus));
	m->runs = calloc(m->o.cpus, sizeof(*m->runs));
	m->vcpus = calloc(m->nr_vcpus + m->nr_nested, sizeof(*m->vcpus));
	if (!m->cpus || !m->runs || !m->vcpus)
		return -ENOMEM;
	make_cpus(m);
	make_vcpus(m);
	for (unsigned v = 0; v < m->nr_vcpus; v++)
		become(m, &m->vcpus[v], MADE_BEGIN, VCPU_WAITING);
	for (unsigned i = 0; i < m->o.steps; i++) {
		for (unsigned cpu = 0; cpu < m->o.cpus; cpu++)
			step(m, cpu,
			     MADE_BEGIN + (ns_t)i * MADE_STEP_NS +
				     (ns_t)cpu * MADE_STEP_NS / m->o.cpus);
	}
	*end = MADE_BEGIN + (ns_t)m->o.steps * MADE_STEP_NS;
	return 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

int made_history(const char *path, const struct made_options *options, struct error *err)
{
	const struct history_writer_options plain = {.ticks_are_ns = true,
						     .wall_known = true,
						     .wall_offset_ns = 1700000000 * NS_PER_SEC};
	struct made m = {.o = *options, .seed = 1, .nr_vcpus = options->vms * MADE_VCPUS};
	ns_t end = MADE_BEGIN;
	int ret, closed;

	if (options->with & MADE_NESTED)
		m.nr_nested = (options->vms + MADE_KINDS - 1) / MADE_KINDS;
	ret = history_writer_open(&m.w, path, &plain, err);
	if (ret)
		return ret;
	for (unsigned i = 0; i < NR_TABLES; i++)
		m.tables[i] =
			history_writer_table(m.w, table_schemas[i].name, table_schemas[i].columns,
					     table_schemas[i].nr_columns);
	ret = made_run(&m, &end);
	if (ret)
		fail(err, ret, "out of memory");
	else
		made_tables(&m, end);
	closed = history_writer_close(m.w, end, ret ? NULL : err);
	free(m.cpus);
	free(m.runs);
	free(m.vcpus);
	return ret ? ret : closed;
}
