/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_MADE_WORLD_H
#define BENCH_MADE_WORLD_H

#include "history/history.h"
#include "model/state/state.h"

/*
 * Histories of machines of any size, made up from a fixed seed: to measure what grows with the size
 * of a machine, and, very small, to feed fuzzers with.  They are as model/ would write them,
 * without any trace.
 *
 * A host has any number of CPUs and VMs of four vCPUs each.  The vCPUs stand on the first half of
 * the host's CPUs, where threads "burn" run, too: some share a CPU with others, some do not, and
 * some are at times on the one next to theirs.  Every fourth VM, from the first on, has a trace and
 * a VM inside, of one vCPU, with a trace; of four, the second has a trace, the third tells its
 * address spaces, the fourth nothing.
 *
 * Every 50 us, each CPU of the host takes a step: it does not matter how many there are, each does
 * as much per time.
 */
#define MADE_VCPUS 4	   /* of a VM */
#define MADE_STEP_NS 50000 /* of a CPU, from one thing to the next */
#define MADE_BEGIN NS_PER_SEC

/* What there is in it besides, a bit each. */
enum made_with {
	MADE_NESTED = 1,
	MADE_LOSSES = 2,   /* events were lost here and there */
	MADE_BOOTS = 4,	   /* VMs start, with milestones and initcalls */
	MADE_REQUESTS = 8, /* to disks */
	MADE_SPACES = 16,  /* guests' address spaces */
	MADE_QUOTAS = 32,
	MADE_MARKS = 64,
	MADE_ALL = 127,
};

struct made_options {
	unsigned cpus, vms; /* at least one each */
	unsigned steps;	    /* of each CPU */
	unsigned with;
};

/* Writes it to @path.  0 or a negative errno. */
int made_history(const char *path, const struct made_options *options, struct error *err);

/* ---- the parts of it that made_run.c and made_tables.c share ----------------------------------
 */

enum made_kind { MADE_NESTING, MADE_TRACED, MADE_SPACED, MADE_PLAIN, MADE_KINDS };

struct made_request {
	ns_t issued, begun, ended; /* NS_MIN: none is under way */
};

/* A vCPU, of whatever level. */
struct made_vcpu {
	attr_t state, on, exit, woken, why_off, task;
	attr_t thread_state, thread_waker, thread_cpu; /* of its parent's thread */
	attr_t app_state[2], app_waker[2];	       /* what it runs; only of a VM with a trace */
	unsigned cpu;				       /* where it is or was last */
	unsigned app;				       /* the one of the two that runs */
	uint8_t is;				       /* enum vcpu_state */
	bool in_syscall;
	struct made_request request;
};

struct made {
	struct made_options o;
	struct history_writer *w;
	int tables[NR_TABLES];
	uint64_t seed;
	unsigned nr_vcpus, nr_nested; /* those of the host's VMs; those inside */
	struct made_vcpu *vcpus;      /* owned: the nested ones are behind the others */
	struct made_cpu *cpus;	      /* owned; made_run.c has it */
	attr_t *runs;		      /* owned, by CPU of the host */
	unsigned nr_requests, nr_marks;
};

uint32_t made_random(struct made *m, uint32_t below);

static inline enum made_kind made_kind(unsigned vm)
{
	return (enum made_kind)(vm % MADE_KINDS);
}

static inline bool made_traced(unsigned vm)
{
	return made_kind(vm) <= MADE_TRACED;
}

static inline unsigned made_vm(unsigned vcpu)
{
	return vcpu / MADE_VCPUS;
}

/* The nested VM in @vm, which is one that has one. */
static inline unsigned made_nested(unsigned vm)
{
	return vm / MADE_KINDS;
}

/* Rows.  Nested ones are behind all others of their table. */
static inline int64_t made_machine_row(unsigned vm)
{
	return 1 + (int64_t)vm;
}

static inline int64_t made_nested_machine_row(const struct made *m, unsigned nested)
{
	return 1 + (int64_t)m->o.vms + nested;
}

static inline int64_t made_vcpu_row(const struct made *m, unsigned vcpu)
{
	return (int64_t)m->o.cpus + vcpu;
}

/* Threads: idle and burn of each CPU; then those of vCPUs; then two per vCPU that run in them; and
 * for a nested VM one in its parent and two inside. */
static inline int64_t made_burn_row(const struct made *m, unsigned cpu)
{
	return (int64_t)m->o.cpus + cpu;
}

static inline int64_t made_thread_row(const struct made *m, unsigned vcpu)
{
	return 2 * (int64_t)m->o.cpus + vcpu;
}

static inline int64_t made_app_row(const struct made *m, unsigned vcpu, unsigned app)
{
	return 2 * (int64_t)m->o.cpus + m->nr_vcpus + m->nr_nested + 2 * (int64_t)vcpu + app;
}

/* Contexts of a CPU of the host, of a vCPU, one after the other. */
enum made_of_cpu { OF_IDLE, OF_BURN, OF_BURN_SYSCALL, OF_BURN_IRQ, OF_BURN_SOFTIRQ, NR_OF_CPU };
enum made_exit { EXIT_HLT, EXIT_INTR, EXIT_IO, EXIT_IO_USER, EXIT_VMRUN, NR_MADE_EXITS };
enum made_of_vcpu {
	OF_EXIT, /* its hypervisor, after each kind of exit, where it stands */
	OF_EXIT_AWAY = OF_EXIT + NR_MADE_EXITS, /* and on the CPU next to that */
	OF_APP = OF_EXIT_AWAY + NR_MADE_EXITS,	/* each of the two, in user space, */
	OF_SYSCALL = OF_APP + 2,		/* in a system call, */
	OF_HANDLER = OF_SYSCALL + 2,		/* interrupted */
	NR_OF_VCPU = OF_HANDLER + 2
};

static inline uint32_t made_cpu_context(unsigned cpu, unsigned what)
{
	return cpu * NR_OF_CPU + what;
}

static inline uint32_t made_vcpu_context(const struct made *m, unsigned vcpu, unsigned what)
{
	return m->o.cpus * NR_OF_CPU + vcpu * NR_OF_VCPU + what;
}

/* Of each vCPU, behind row 0. */
static inline uint32_t made_exit_row(unsigned vcpu, unsigned exit)
{
	return 1 + vcpu * NR_MADE_EXITS + exit;
}

enum made_wake { MADE_BY_TIMER, MADE_BY_DISK, MADE_BY_IPI, MADE_BY_LOSS, NR_MADE_WAKES };

static inline uint32_t made_wake_row(unsigned vcpu, unsigned wake)
{
	return vcpu * NR_MADE_WAKES + wake;
}

void made_row(struct made *m, enum table table, const int64_t *cells);
int64_t made_text(struct made *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The machine's name in the tables and in paths. */
void made_name(const struct made *m, char name[static 32], int64_t machine);
/* The home of a vCPU among the host's CPUs. */
unsigned made_home(const struct made *m, unsigned vcpu);

void made_tables(struct made *m, ns_t end);
/* Makes the attributes and steps through all of the history; returns when it ends. */
int made_run(struct made *m, ns_t *end);

#endif
