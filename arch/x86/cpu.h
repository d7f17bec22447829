/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_X86_CPU_H
#define ARCH_X86_CPU_H

#include "arch/exits.h"

/*
 * What records of x86 guests hold: values of the processor, as hardware and Linux give them a
 * meaning.  Records of guests of other processors have no such values.
 *
 * Sources: Intel manual volume 3, 4.5 (CR3) and 25.8.3 (events that are injected); AMD manual
 * volume 2, 15.20 and appendix B; Linux, Documentation/arch/x86/pti.rst and mm.rst.
 */

/* The write with which a kernel programs the timer of its CPU, to a TSC of its own. */
static inline bool x86_msr_is_timer(int64_t msr)
{
	return msr == 0x6e0; /* IA32_TSC_DEADLINE */
}

/* The page table that CR3 names.  Bits below are the PCID, or flags; bit 63 says that the TLB may
 * keep what it has of it. */
static inline uint64_t x86_page_table(uint64_t cr3)
{
	return cr3 & 0x000ffffffffff000ull;
}

/* Where page tables are isolated (KPTI), Linux gives a process two of them side by side: the
 * kernel's, and the one that user space runs on. */
static inline bool x86_is_table_of_user(uint64_t cr3)
{
	return cr3 & 0x1000;
}

/* One number for both. */
static inline uint64_t x86_pair_of_tables(uint64_t cr3)
{
	return x86_page_table(cr3) & ~0x1000ull;
}

/* Addresses of user space are those of the lower half. */
static inline bool x86_is_address_of_user(uint64_t rip)
{
	return !(rip >> 63);
}

/* Vectors from local_timer's on are Linux's own: timers, IPIs; it gives devices those below. */
static inline bool x86_is_vector_of_linux(int vector)
{
	return vector >= 0xec;
}

/* The vector of the device's interrupt that an entry injects, by the field that tells of the event
 * (VMX and SVM have it alike); -1: none, or an event of another type. */
static inline int x86_injected(uint64_t event)
{
	return (event & 0x80000000u) && !(event & 0x700u) ? (int)(event & UINT8_MAX) : -1;
}

/* What an entry gives the guest. */
struct x86_entry {
	int vector;	  /* of a device's interrupt; -1: none */
	bool asks_window; /* it is to be left when it can take one */
};

/* By KVM's nested_vmenter: `control` is SVM's int_ctl, whose bit V_IRQ asks for the window, or
 * VMX's guest interrupt status, whose low byte (RVI) is the vector that comes next, 0 for none. */
static inline struct x86_entry x86_nested_entry(uint64_t event, uint64_t control, int64_t isa)
{
	if (event & 0x80000000u)
		return (struct x86_entry){.vector = x86_injected(event)};
	if (isa != ISA_VMX)
		return (struct x86_entry){.vector = -1, .asks_window = control & 0x100};
	return (struct x86_entry){.vector = control & UINT8_MAX ? (int)(control & UINT8_MAX) : -1};
}

#endif
