/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_HYPERCALL_H
#define SONDE_GUEST_HYPERCALL_H

#include <asm/kvm_para.h>

#include "channel/writer.h"

/*
 * One exit to KVM with all 64 bits of the number, which kvm_hypercall4() cuts to 32.  The
 * instruction is that of the CPU's vendor.  Only where hypercalls_work().
 */
static inline void hypercall(const struct ht_call *call)
{
	unsigned long ret = call->nr;

	asm volatile(KVM_HYPERCALL
		     : "+a"(ret)
		     : "b"(call->a0), "c"(call->a1), "d"(call->a2), "S"(call->a3)
		     : "memory");
}

/* This is a guest of KVM whose registers and memory its host can see; if not, *why in words. */
bool hypercalls_work(const char **why);

#endif
