/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_MACHINE_H
#define MODEL_IDENTITY_MACHINE_H

#include "model/state/state.h"

/*
 * Machines and their CPUs.  Those with a trace come from the topology; VMs without one are found
 * when a thread does a VM entry or exit that belongs to none of the known VMs.  Which of these are
 * one VM, and what they are called, is decided at the end, when all evidence is in: one_vm.c.
 */

/* More vCPUs in one run than any machine has; finding out which are one VM is quadratic. */
#define VCPUS_MAX 32768

int machines_open(struct model *m);
void machines_release(struct model *m);
struct machine_state *machine_root(struct machine_state *mc); /* follows merged_into */
struct machine_state *machine_add(struct model *m, struct machine_state *parent);
void machine_name(struct machine_state *mc, const char *name);
struct cpu *machine_cpu_slow(struct machine_state *mc, int number);
/* Nothing is known of what the vCPU does yet. */
void vcpu_init(struct vcpu *v, struct thread *host);
/* A CPU of a machine without a trace. */
struct cpu *machine_cpu_add(struct machine_state *mc, int64_t number);
/* Attributes of such a CPU: under its parent, by the thread that runs it.  Which VM it is part of
 * may not be known yet. */
void machine_show_untraced(struct cpu *cpu, const struct thread *host);
/* Attributes for a nested vCPU whose machine and parent have no trace: under those of the vCPU that
 * has entered it first. */
void machine_show_nested(struct cpu *cpu, const struct cpu *outer);
void machine_number_vcpu(struct cpu *cpu, int64_t number);
/* By its thread's name, which QEMU gives it; -1 it says nothing.  @host may be NULL. */
int machine_number_by_name(const struct thread *host);
/* Of the machine's own CPUs the first of that number; NULL none.  Those of machines that have
 * turned out to be it are not among them: see one_vm.c. */
struct cpu *machine_cpu_numbered(const struct machine_state *mc, int number);

/* Whether all of its CPUs are seen now: none is without a stream, or without an event since some of
 * it were lost. */
static inline bool machine_sees_all(const struct machine_state *mc)
{
	return !mc->nr_uncovered && !mc->nr_lost;
}

/* NULL: it is not known which one @cpu runs. */
static inline void cpu_set_thread(struct cpu *cpu, struct thread *th)
{
	struct machine_state *mc = cpu->machine;

	/* Of a machine with a trace. */
	if (unlikely(!th != !cpu->thread) && mc->nr_cpus)
		mc->nr_threadless += th ? -1u : 1u;
	cpu->thread = th;
}

/* Events of a CPU are lost now, or the trace does not cover it: who is seen nowhere may run
 * there. */
static inline bool thread_may_run_unseen(const struct machine_state *mc)
{
	return mc->model->now < mc->lost_until || mc->nr_uncovered;
}

/* For the @losses of a thread that is off all CPUs: while events of one are lost, it may run
 * there. */
static inline uint32_t thread_known_since(const struct machine_state *mc)
{
	return mc->losses - thread_may_run_unseen(mc);
}

/* It has a trace, the VM that it runs in has none: traced_nested.h finds out where it runs. */
static inline bool is_between(const struct machine_state *mc)
{
	return mc->trace && mc->parent && !mc->parent->trace;
}

/* That which it has turned out to be: follows merged_into. */
static inline const struct cpu *cpu_root(const struct cpu *cpu)
{
	while (cpu->merged_into)
		cpu = cpu->merged_into;
	return cpu;
}

/* CPU @number of the machine, made when it is new; NULL for numbers out of range. */
static inline struct cpu *machine_cpu(struct machine_state *mc, int number)
{
	if (likely(number >= 0 && (unsigned)number < mc->nr_cpus && mc->cpus[number]))
		return mc->cpus[number];
	return machine_cpu_slow(mc, number);
}

#endif
