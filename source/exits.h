/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_EXITS_H
#define SOURCE_EXITS_H

#include "base/types.h"

/*
 * Exit reasons as the processors number them (AMD manual volume 2, appendix C; Intel manual volume
 * 3, appendix C), as far as the model must understand them.  @isa: as in kvm_exit; what
 * is not ISA_VMX is taken for AMD's.
 */
#define ISA_VMX 1
#define ISA_SVM 2

#define SVM_EXIT_INTR 0x60
#define SVM_EXIT_VINTR 0x64
#define SVM_EXIT_HLT 0x78
#define SVM_EXIT_IOIO 0x7b
#define SVM_EXIT_NPF 0x400
#define SVM_EXIT_VMRUN 0x80
#define SVM_EXIT_VMMCALL 0x81
#define SVM_EXIT_VMLOAD 0x82
#define SVM_EXIT_CLGI 0x85
#define VMX_EXIT_INTR 1
#define VMX_EXIT_WINDOW 7
#define VMX_EXIT_HLT 12
#define VMX_EXIT_VMCALL 18
#define VMX_EXIT_IO 30
#define VMX_EXIT_EPT_VIOLATION 48
#define VMX_EXIT_EPT_MISCONFIG 49
#define VMX_EXIT_VMCLEAR 19
#define VMX_EXIT_VMLAUNCH 20
#define VMX_EXIT_VMRESUME 24
#define VMX_EXIT_VMXON 27

/* What comes with a VMX exit reason, in the same number: a bus lock, an enclave, an entry that
 * failed ... (bits 25 to 29, 31). */
#define VMX_FLAGS INT64_C(0xbe000000)

/* The reason alone. */
static inline int64_t exit_basic(int64_t reason, int64_t isa)
{
	return isa == ISA_VMX && reason >= 0 ? reason & ~VMX_FLAGS : reason;
}

/* The guest has nothing to do. */
static inline bool exit_halts(int64_t reason, int64_t isa)
{
	return exit_basic(reason, isa) == (isa == ISA_VMX ? VMX_EXIT_HLT : SVM_EXIT_HLT);
}

/* It made a hypercall. */
static inline bool exit_by_hypercall(int64_t reason, int64_t isa)
{
	return exit_basic(reason, isa) == (isa == ISA_VMX ? VMX_EXIT_VMCALL : SVM_EXIT_VMMCALL);
}

/* An interrupt for the host: the guest may not have executed anything. */
static inline bool exit_for_interrupt(int64_t reason, int64_t isa)
{
	return exit_basic(reason, isa) == (isa == ISA_VMX ? VMX_EXIT_INTR : SVM_EXIT_INTR);
}

/* The guest can take an interrupt now, as its hypervisor wanted to be told. */
static inline bool exit_opens_window(int64_t reason, int64_t isa)
{
	return exit_basic(reason, isa) == (isa == ISA_VMX ? VMX_EXIT_WINDOW : SVM_EXIT_VINTR);
}

/* It touched memory or a port that is not its own: a device is told of something, maybe. */
static inline bool exit_may_kick(int64_t reason, int64_t isa)
{
	reason = exit_basic(reason, isa);
	if (isa == ISA_VMX)
		return reason == VMX_EXIT_IO || reason == VMX_EXIT_EPT_VIOLATION ||
		       reason == VMX_EXIT_EPT_MISCONFIG;
	return reason == SVM_EXIT_NPF || reason == SVM_EXIT_IOIO;
}

/* The guest tried to start a guest of its own. */
static inline bool exit_starts_guest(int64_t reason, int64_t isa)
{
	reason = exit_basic(reason, isa);
	if (isa == ISA_VMX)
		return reason == VMX_EXIT_VMLAUNCH || reason == VMX_EXIT_VMRESUME;
	return reason == SVM_EXIT_VMRUN;
}

/* By an instruction that only a hypervisor executes. */
static inline bool exit_of_hypervisor(int64_t reason, int64_t isa)
{
	reason = exit_basic(reason, isa);
	if (isa == ISA_VMX)
		return reason >= VMX_EXIT_VMCLEAR && reason <= VMX_EXIT_VMXON;
	return reason == SVM_EXIT_VMRUN || (reason >= SVM_EXIT_VMLOAD && reason <= SVM_EXIT_CLGI);
}

#endif
