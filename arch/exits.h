/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_EXITS_H
#define ARCH_EXITS_H

#include "base/types.h"

/*
 * Exit reasons: what each is called, and what it means to the model.  Each way to number them has
 * a table, made of the manual that it names; what no table has means nothing, and has no name.
 *
 * Values of `isa` are those of kvm_exit on x86, of the table "exit" of a history, and of ours.
 */
enum exit_isa {
	ISA_UNKNOWN, /* an x86 tracer that does not tell: the model takes it for AMD's */
	ISA_VMX,     /* Intel manual volume 3, appendix C */
	ISA_SVM,     /* AMD manual volume 2, appendix C */
	ISA_ARM64,   /* exception classes of ESR_EL2; 0: an interrupt, or class "unknown" */
	NR_ISAS
};

enum exit_meaning {
	MEANS_HALT = 1 << 0,	   /* the guest has nothing to do */
	MEANS_HYPERCALL = 1 << 1,  /* it made one */
	MEANS_INTERRUPT = 1 << 2,  /* for the host: the guest may not have executed anything */
	MEANS_WINDOW = 1 << 3,	   /* it can take an interrupt now, as its hypervisor had asked */
	MEANS_KICK = 1 << 4,	   /* it touched memory or a port that is not its own: a device is
				      told of something, maybe */
	MEANS_START = 1 << 5,	   /* it tried to start a guest of its own */
	MEANS_HYPERVISOR = 1 << 6, /* by an instruction that only a hypervisor executes */
};

/* enum exit_meaning bits; 0: none of them. */
unsigned exit_means(int64_t reason, int64_t isa);

/* "HLT"; NULL when it has no name.  ISA_UNKNOWN: no reason has one. */
const char *exit_reason_name(int64_t isa, int64_t reason);

/* Of x86, where what is recorded tells the two apart by a bit. */
static inline enum exit_isa exit_isa_of_x86(bool is_vmx)
{
	return is_vmx ? ISA_VMX : ISA_SVM;
}

/* Whose reason it can only be, for tracers that do not tell: ISA_SVM beyond Intel's. */
enum exit_isa exit_isa_of_reason(int64_t reason);

/* The reason that a hypercall has. */
int64_t exit_of_hypercall(enum exit_isa isa);

static inline bool exit_halts(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_HALT;
}

static inline bool exit_by_hypercall(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_HYPERCALL;
}

static inline bool exit_for_interrupt(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_INTERRUPT;
}

static inline bool exit_opens_window(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_WINDOW;
}

static inline bool exit_may_kick(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_KICK;
}

static inline bool exit_starts_guest(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_START;
}

static inline bool exit_of_hypervisor(int64_t reason, int64_t isa)
{
	return exit_means(reason, isa) & MEANS_HYPERVISOR;
}

#endif
