/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_ORIGIN_H
#define CHANNEL_ORIGIN_H

/*
 * Who in a guest made a hypercall: its kernel, or one of its processes.  KVM's tracepoint fires
 * before KVM looks at the privilege level, so a process can send whatever a kernel sends.  The
 * rule, for all that hear hypercalls (docs/security.md):
 *
 *	only a kernel speaks for its machine; a process may make marks, and nothing else;
 *	what is not known to be a kernel's is no kernel's.
 *
 * By the privilege level where it was recorded, else by the address of the instruction: on x86-64
 * kernels live in the upper half of all addresses, with four levels of page tables as with five.
 * The page of vsyscalls is up there, too, and processes may execute it.  Code in 32-bit modes has
 * addresses in the lower half: a 32-bit kernel counts as a process.
 *
 * No other header: the includer, which may be a BPF program, has uint64_t and the like.
 */
enum ht_origin { HT_ORIGIN_UNKNOWN, HT_ORIGIN_USER, HT_ORIGIN_KERNEL };

#define HT_VSYSCALL_PAGE 0xffffffffff600000ull

/* @rip: of the instruction; behind it does as well.  0: not recorded. */
static inline enum ht_origin ht_origin_of_rip(uint64_t rip)
{
	if (!rip)
		return HT_ORIGIN_UNKNOWN;
	return rip >> 63 && rip >> 12 != HT_VSYSCALL_PAGE >> 12 ? HT_ORIGIN_KERNEL : HT_ORIGIN_USER;
}

static inline enum ht_origin ht_origin_of_cpl(uint64_t cpl)
{
	return cpl ? HT_ORIGIN_USER : HT_ORIGIN_KERNEL;
}

#endif
