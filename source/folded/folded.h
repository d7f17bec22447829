/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_FOLDED_FOLDED_H
#define SOURCE_FOLDED_FOLDED_H

#include "source/trace.h"

/*
 * The hypertrace calls of a host that are not in its trace but, folded, in a file beside it
 * (docs/formats/hypercalls.md).  Opened, that file is a trace without streams; attached to the
 * host's own it gets one for each CPU, in which each call is the three events that it was:
 * kvm_exit, kvm_hypercall, kvm_entry; and EV_GUEST_CR3 for each change of a vCPU's address space, under
 * the name "guest_cr3", which the host's trace gets as one more type.
 */

/*
 * Makes @part, whose format is TRACE_FOLDED, a part of @host: its streams become streams of @host,
 * with its types, and it is released with it.  -EINVAL: the host's trace has another clock than the
 * file can tell, or lacks these events.  -ENOMEM.
 */
int folded_attach(struct trace *host, struct trace *part, struct error *err);

#endif
