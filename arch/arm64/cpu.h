/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_ARM64_CPU_H
#define ARCH_ARM64_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What records of arm64 guests hold: values of the processor, as hardware and Linux give them a
 * meaning.
 *
 * Source: Arm Architecture Reference Manual, HCR_EL2, ESR_EL2 and SPSR_EL2.
 */

/* Whether a return from exception (ERET) of a hypervisor, to a mode (M[3:0] of SPSR_EL2), goes to a
 * guest of its: to EL1 or EL0, while it does not say by TGE that EL0 is its own. */
static inline bool arm64_eret_to_guest(uint64_t hcr_el2, uint64_t mode)
{
	return !(hcr_el2 & UINT64_C(1) << 27) && (mode & 0xc) < 0x8;
}

/* Of a syndrome: its class, which is what Linux calls the reason of an exit. */
static inline int64_t arm64_exception_class(uint64_t esr_el2)
{
	return (int64_t)(esr_el2 >> 26 & 0x3f);
}

#endif
