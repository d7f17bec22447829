/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_WAKE_NESTED_WAITS_H
#define MODEL_WAKE_NESTED_WAITS_H

#include "model/context.h"
#include "model/identity/machine.h"

/*
 * What a machine's KVM events say about the vCPUs of VMs inside its VMs, where the VM in between
 * has no trace of its own: when they run, when they wait, and what ends that.  docs/fusion.md has
 * the rules, section 8.
 *
 * The *outer* vCPU is one of the VM in between; its nested ones are those that it enters, told
 * apart by address.  An outer vCPU gets a struct nest with its first nested entry; all functions
 * want one that has it.
 */
struct nest {
	int16_t vector; /* that the nested guest is given at the entry under way; -1 none */
	bool window;	/* ... which only asks for a moment when it can be given one */
	bool one_cause; /* since the outer one's last rest it was given one vector only */
	bool entered;	/* ... and has gone on to enter a nested guest */
	uint8_t cause;	/* enum wake_cause: what that rest ended by */
	int16_t given;	/* ... and with which vector; -1 unknown */
	ns_t went_on;	/* when it ended; NS_MIN none yet */
	unsigned nr_sleepers;
	struct cpu *sleepers; /* nested ones that have halted, the last one first */
	struct nest *next;    /* in machine->sleeping ... */
	bool listed;	      /* ... it is in it */
};

/* The outer vCPU executed VMRUN (VMLAUNCH, VMRESUME). */
void nested_asked(struct cpu *outer, const struct event *e);
/* @outer is entered, in nested guest mode. */
void nested_entry(struct cpu *outer, const struct event *e);
/* The nested guest has exited; @e is a kvm_exit. */
void nested_exit(struct cpu *outer, const struct event *e);
/* ... and its exit is given to the VM in between. */
void nested_reflected(struct cpu *outer, int64_t reason, int64_t isa);

/* A vCPU of a VM that has one with a struct nest halts, goes on for @n, may go on unseen. */
void nested_outer_rests(struct cpu *outer);
void nested_outer_goes_on(struct cpu *outer, const struct note *n);
void nested_outer_is_lost(struct cpu *outer);
/* A vCPU was seen for the first time that may be any VM's. */
void nested_outer_is_new(struct model *m);
/* The outer vCPU itself is given an interrupt, is lost from sight. */
void nested_outer_given(struct cpu *outer, int vector);
void nested_forget(struct cpu *outer);

/* What is known of when @inner runs, from a stay of @outer: see traced_nested.h. */
void nested_shows(const struct cpu *outer, struct cpu *inner, enum vcpu_state state);
/* The entries that were thought to be this one's are another's, or nobody knows whose. */
void nested_was_another(struct cpu *inner);

/* Whether it has no trace, and all that is known of the vCPU is what this file finds out. */
static inline bool nested_is_dark(const struct cpu *cpu)
{
	return !cpu->vcpu.host && cpu->nested_id && !cpu->machine->trace;
}

/* Whether this file finds out when it runs: it is told apart by its address. */
static inline bool nested_is_followed(const struct cpu *cpu)
{
	return nested_is_dark(cpu) || (cpu->nested_id && is_between(cpu->machine));
}

#endif
