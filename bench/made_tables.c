/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/made_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/context.h"
#include "model/tables/tables.h"

void made_row(struct made *m, enum table table, const int64_t *cells)
{
	history_writer_row(m->w, m->tables[table], cells);
}

int64_t made_text(struct made *m, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return history_writer_string(m->w, text, strlen(text));
}

void made_name(const struct made *m, char name[static 32], int64_t machine)
{
	int64_t nested = machine - made_nested_machine_row(m, 0);

	if (nested >= 0)
		snprintf(name, 32, "vm%lld-n", (long long)nested * MADE_KINDS);
	else
		snprintf(name, 32, machine ? "vm%lld" : "host0", (long long)machine - 1);
}

/* ---- machines and their CPUs --------------------------------------------------------------- */

#define BURN_TID 10000000

/* The first one's process: those of its vCPUs follow. */
static int64_t vmm_pid(unsigned vcpu)
{
	return 200000 + (int64_t)made_vm(vcpu) * (MADE_VCPUS + 1);
}

static void put_machine(struct made *m, int64_t row, int64_t parent, int64_t level, bool traced,
			int64_t vm_pid)
{
	int64_t none = made_text(m, "%s", ""), name;
	char text[32];

	made_name(m, text, row);
	name = made_text(m, "%s", text);
	made_row(m, TABLE_MACHINE,
		 (int64_t[]){name, parent, level, traced, traced ? name : none,
			     traced ? made_text(m, "6.1.0") : none,
			     traced ? made_text(m, "ftrace") : none,
			     traced ? made_text(m, "run/%s", text) : none,
			     made_text(m, row ? "told" : "the machine"), vm_pid, true, 0,
			     traced ? 127 : 0});
	if (!traced)
		return;
	made_row(m, TABLE_CLOCK,
		 (int64_t[]){row, MADE_BEGIN, INT64_MAX, row ? 250 : 0, made_text(m, "offset"),
			     row ? 12 : 0, 0, 0, row ? -40 : 0});
	made_row(m, TABLE_IDENTITY, (int64_t[]){row, made_text(m, "hostname"), name});
	made_row(m, TABLE_IDENTITY,
		 (int64_t[]){row, made_text(m, "cpus"),
			     made_text(m, "%u", row ? MADE_VCPUS : m->o.cpus)});
	if (row)
		made_row(m, TABLE_IRQ, (int64_t[]){row, 11, made_text(m, "virtio1-req.0")});
}

static void put_machines(struct made *m)
{
	put_machine(m, 0, -1, 0, true, -1);
	for (unsigned vm = 0; vm < m->o.vms; vm++)
		put_machine(m, made_machine_row(vm), 0, 1, made_traced(vm),
			    vmm_pid(vm * MADE_VCPUS));
	for (unsigned n = 0; n < m->nr_nested; n++)
		put_machine(m, made_nested_machine_row(m, n), made_machine_row(n * MADE_KINDS), 2,
			    true, 49);
}

static void put_cpus(struct made *m)
{
	int64_t none = made_text(m, "%s", "");

	for (unsigned cpu = 0; cpu < m->o.cpus; cpu++)
		made_row(m, TABLE_CPU, (int64_t[]){0, cpu, -1, 0, -1, none});
	for (unsigned v = 0; v < m->nr_vcpus; v++) {
		long long thread = made_thread_row(m, v);

		made_row(m, TABLE_CPU,
			 (int64_t[]){made_machine_row(made_vm(v)), v % MADE_VCPUS,
				     vmm_pid(v) + 1 + v % MADE_VCPUS, 0, thread,
				     made_traced(made_vm(v))
					     ? none
					     : made_text(m, "host0/vcpus/%lld", thread)});
	}
	for (unsigned n = 0; n < m->nr_nested; n++)
		made_row(m, TABLE_CPU,
			 (int64_t[]){made_nested_machine_row(m, n), 0, 50, 0x1000,
				     made_thread_row(m, m->nr_vcpus + n), none});
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Every 16th CPU's burn is in a container: its namespace, or the machine's first one. */
static int64_t namespace_of(const struct made *m, int64_t machine, int64_t tid)
{
	int64_t cpu = tid - BURN_TID;

	if (machine || cpu < 0 || cpu >= m->o.cpus || cpu % 16)
		return machine;
	return 1 + (int64_t)m->o.vms + m->nr_nested + cpu / 16;
}

static void put_thread(struct made *m, int64_t machine, int64_t tid, int64_t pid, ns_t begin,
		       int64_t is_vcpu, int64_t cpu, int64_t comm)
{
	int64_t pid_ns = pid < 0 ? -1 : namespace_of(m, machine, tid);

	made_row(m, TABLE_THREAD,
		 (int64_t[]){machine, tid, pid, 1, comm, pid_ns, begin, -1, is_vcpu, comm, cpu,
			     machine});
}

static ns_t begin_of(const struct made *m, unsigned vm)
{
	return m->o.with & MADE_BOOTS ? MADE_BEGIN + (ns_t)(vm % 64 + 1) * 1000 : MADE_BEGIN;
}

static void put_vcpu_threads(struct made *m)
{
	for (unsigned v = 0; v < m->nr_vcpus; v++)
		put_thread(m, 0, vmm_pid(v) + 1 + v % MADE_VCPUS, vmm_pid(v),
			   begin_of(m, made_vm(v)), made_vcpu_row(m, v) + 1, made_home(m, v),
			   made_text(m, "CPU %u/KVM", v % MADE_VCPUS));
	for (unsigned n = 0; n < m->nr_nested; n++)
		put_thread(m, made_machine_row(n * MADE_KINDS), 50, 49, MADE_BEGIN,
			   made_vcpu_row(m, m->nr_vcpus + n) + 1, 0, made_text(m, "CPU 0/KVM"));
}

/* Of the VMs of which nothing is known there are rows, too, that nothing names: it is simpler so.
 */
static void put_apps(struct made *m)
{
	for (unsigned v = 0; v < m->nr_vcpus + m->nr_nested; v++) {
		bool nested = v >= m->nr_vcpus;
		int64_t machine = nested ? made_nested_machine_row(m, v - m->nr_vcpus)
					 : made_machine_row(made_vm(v));
		bool space =
			!nested && made_kind(made_vm(v)) == MADE_SPACED && m->o.with & MADE_SPACES;

		for (unsigned app = 0; app < 2; app++) {
			int64_t number = 60 + 2 * (int64_t)(v % MADE_VCPUS) + app;

			if (space)
				made_row(m, TABLE_ADDRESS_SPACE,
					 (int64_t[]){made_app_row(m, v, app), number << 12,
						     m->o.steps / 8, 1000});
			put_thread(m, machine, space ? -1 - number : number, space ? -1 : number,
				   MADE_BEGIN, 0, nested ? 0 : v % MADE_VCPUS,
				   space ? made_text(m, "process %lld", (long long)number)
					 : made_text(m, "app%u", app));
		}
	}
}

static void put_threads(struct made *m)
{
	for (unsigned cpu = 0; cpu < m->o.cpus; cpu++)
		put_thread(m, 0, 0, 0, MADE_BEGIN, 0, cpu, made_text(m, "swapper/%u", cpu));
	for (unsigned cpu = 0; cpu < m->o.cpus; cpu++)
		put_thread(m, 0, BURN_TID + cpu, BURN_TID + cpu, MADE_BEGIN, 0, cpu,
			   made_text(m, "burn"));
	put_vcpu_threads(m);
	put_apps(m);
}

/* One namespace and one cgroup per machine, in each a container of burn's and of the apps'. */
static void put_groups(struct made *m)
{
	for (int64_t row = 0; row <= (int64_t)m->o.vms + m->nr_nested; row++) {
		char name[32];

		made_name(m, name, row);
		made_row(m, TABLE_PID_NS,
			 (int64_t[]){row, 4026531836 + row, -1, 0, made_text(m, "%s", "")});
		made_row(m, TABLE_CGROUP,
			 (int64_t[]){row, 5 + row, made_text(m, "/%s.slice", name)});
	}
	for (unsigned cpu = 0; cpu < m->o.cpus; cpu += 16) {
		int64_t ns = namespace_of(m, 0, BURN_TID + cpu);

		made_row(m, TABLE_PID_NS,
			 (int64_t[]){0, 4026600000 + cpu, 0, 1, made_text(m, "c%u", cpu / 16)});
		made_row(m, TABLE_VTID, (int64_t[]){made_burn_row(m, cpu), 1, ns, 1});
	}
}

/* ---- what CPUs do -------------------------------------------------------------------------- */

static void put_cpu_contexts(struct made *m, unsigned cpu)
{
	static const struct {
		enum context_mode mode;
		int detail;
	} what[NR_OF_CPU] = {
		[OF_IDLE] = {MODE_IDLE, -1},	       [OF_BURN] = {MODE_USER, -1},
		[OF_BURN_SYSCALL] = {MODE_SYSCALL, 0}, [OF_BURN_IRQ] = {MODE_IRQ, 236},
		[OF_BURN_SOFTIRQ] = {MODE_SOFTIRQ, 3},
	};

	for (unsigned i = 0; i < NR_OF_CPU; i++) {
		int64_t thread = i == OF_IDLE ? (int64_t)cpu : made_burn_row(m, cpu);
		int64_t detail =
			what[i].mode == MODE_SYSCALL ? made_text(m, "openat") : what[i].detail;

		made_row(m, TABLE_CONTEXT,
			 (int64_t[]){0, cpu, thread, what[i].mode, detail, 0, -1});
	}
}

static const struct {
	int reason, user;
} exits[NR_MADE_EXITS] = {
	[EXIT_HLT] = {0x78, -1},    [EXIT_INTR] = {0x60, -1},  [EXIT_IO] = {0x7b, -1},
	[EXIT_IO_USER] = {0x7b, 2}, [EXIT_VMRUN] = {0x80, -1},
};

static void put_vcpu_contexts(struct made *m, unsigned v)
{
	bool nested = v >= m->nr_vcpus;
	unsigned outer = nested ? (v - m->nr_vcpus) * MADE_KINDS : 0, home = made_home(m, v);
	int64_t around = nested ? made_machine_row(outer) : 0, serves = made_vcpu_row(m, v) + 1;
	int64_t machine =
		nested ? made_nested_machine_row(m, v - m->nr_vcpus) : made_machine_row(made_vm(v));
	int64_t cpu = nested ? 0 : v % MADE_VCPUS;
	bool known = nested || made_traced(made_vm(v)) ||
		     (made_kind(made_vm(v)) == MADE_SPACED && m->o.with & MADE_SPACES);
	bool traced = nested || made_traced(made_vm(v));

	for (unsigned i = 0; i < 2 * NR_MADE_EXITS; i++) {
		unsigned exit = i % NR_MADE_EXITS;
		unsigned on = nested ? 0 : i < NR_MADE_EXITS ? home : (home + 1) % m->o.cpus;

		made_row(m, TABLE_CONTEXT,
			 (int64_t[]){around, on, made_thread_row(m, v), MODE_HYPERVISOR,
				     exits[exit].reason, serves, exits[exit].user});
	}
	for (unsigned i = 0; i < 6; i++) {
		static const enum context_mode modes[] = {MODE_USER, MODE_SYSCALL, MODE_IRQ};
		enum context_mode mode = traced ? modes[i / 2] : MODE_GUEST;

		made_row(m, TABLE_CONTEXT,
			 (int64_t[]){machine, cpu, known ? made_app_row(m, v, i % 2) : -1, mode,
				     mode == MODE_SYSCALL ? made_text(m, "read")
				     : mode == MODE_IRQ	  ? 11
							  : -1,
				     0, -1});
	}
}

static void put_vcpu(struct made *m, unsigned v)
{
	static const struct {
		enum wake_cause cause;
		int vector;
		const char *why;
	} wakes[NR_MADE_WAKES] = {
		[MADE_BY_TIMER] = {WAKE_TIMER, 236, "a timer of its"},
		[MADE_BY_DISK] = {WAKE_DISK, 37, "a request ended"},
		[MADE_BY_IPI] = {WAKE_IPI, 253, "another vCPU sent it"},
		[MADE_BY_LOSS] = {WAKE_UNKNOWN, -1, WAKE_LOST_TEXT},
	};
	unsigned peer = v >= m->nr_vcpus ? v : v ^ 1;
	int64_t row = made_vcpu_row(m, v);

	for (unsigned i = 0; i < NR_MADE_EXITS; i++)
		made_row(m, TABLE_EXIT, (int64_t[]){exits[i].reason, 2, row + 1, exits[i].user});
	for (unsigned i = 0; i < NR_MADE_WAKES; i++)
		made_row(m, TABLE_WAKE,
			 (int64_t[]){row, wakes[i].cause, wakes[i].vector,
				     i == MADE_BY_IPI ? made_vcpu_row(m, peer) + 1 : 0,
				     i == MADE_BY_IPI && v < m->nr_vcpus ? made_thread_row(m, peer)
									 : -1,
				     made_text(m, "%s", wakes[i].why)});
	for (unsigned i = 0; i < MADE_BY_LOSS; i++)
		made_row(m, TABLE_VECTOR,
			 (int64_t[]){row, wakes[i].vector, wakes[i].cause,
				     made_text(m, "%s", i == MADE_BY_DISK ? "virtio1-req.0" : ""),
				     9, 8, made_text(m, "learned")});
}

static void put_work(struct made *m)
{
	made_row(m, TABLE_EXIT, (int64_t[]){-1, 0, 0, -1});
	for (unsigned cpu = 0; cpu < m->o.cpus; cpu++)
		put_cpu_contexts(m, cpu);
	for (unsigned v = 0; v < m->nr_vcpus + m->nr_nested; v++) {
		put_vcpu_contexts(m, v);
		put_vcpu(m, v);
	}
}

/* ---- starts, and what the files of /proc say ------------------------------------------------ */

static void put_boot(struct made *m, unsigned vm, ns_t end)
{
	static const char *const kinds[] = {"entry", "kernel", "level", "user", "init"};
	ns_t begin = begin_of(m, vm), step = (end - begin) / 16 + 1;
	int64_t machine = made_machine_row(vm);

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool own = !strcmp(kinds[i], "level") || !strcmp(kinds[i], "init");
		ns_t at = begin + (i + 1) * step;

		if (own && !made_traced(vm))
			continue;
		made_row(m, TABLE_MILESTONE,
			 (int64_t[]){machine, own ? -1 : made_vcpu_row(m, vm * MADE_VCPUS),
				     at - step / 2, at, made_text(m, "%s", kinds[i]),
				     made_text(m, "%s",
					       i == 2	? "device"
					       : i == 4 ? "/sbin/init"
							: "")});
	}
	for (unsigned i = 0; i < 3 && made_traced(vm); i++) {
		ns_t at = begin + 2 * step + i * step / 4;

		made_row(m, TABLE_INITCALL,
			 (int64_t[]){machine, made_app_row(m, vm * MADE_VCPUS, 0),
				     made_text(m, "init_%u", i), made_text(m, "device"), at,
				     i == 2 ? -1 : at + step / 8, 0});
	}
}

static void put_stats(struct made *m, int64_t row, unsigned nr_cpus, ns_t end)
{
	for (int cpu = -1; cpu < (int)nr_cpus; cpu++) {
		int64_t times = cpu < 0 ? nr_cpus : 1,
			ticks = (end - MADE_BEGIN) / 10000000 * times;

		made_row(m, TABLE_STAT,
			 (int64_t[]){row, MADE_BEGIN, made_text(m, "start"), cpu, 100, 7, 0, 3, 50,
				     0, 0, 0, 5, 0, 0});
		made_row(m, TABLE_STAT,
			 (int64_t[]){row, end, made_text(m, "end"), cpu, 100, 7 + ticks / 2, 0, 3,
				     50 + ticks / 4, 0, 0, 0, 5 + ticks / 4, 0, 0});
	}
}

void made_tables(struct made *m, ns_t end)
{
	put_machines(m);
	put_cpus(m);
	put_threads(m);
	put_groups(m);
	put_work(m);
	put_stats(m, 0, m->o.cpus, end);
	for (unsigned vm = 0; vm < m->o.vms; vm++) {
		if (m->o.with & MADE_BOOTS)
			put_boot(m, vm, end);
		if (made_traced(vm))
			put_stats(m, made_machine_row(vm), MADE_VCPUS, end);
	}
	made_row(
		m, TABLE_META,
		(int64_t[]){made_text(m, "begin_ns"), made_text(m, "%lld", (long long)MADE_BEGIN)});
	made_row(m, TABLE_META,
		 (int64_t[]){made_text(m, "end_ns"), made_text(m, "%lld", (long long)end)});
	made_row(m, TABLE_PROBLEM, (int64_t[]){0, made_text(m, "it was made up"), 1});
}
