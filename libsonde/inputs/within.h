/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_WITHIN_H
#define LIBSONDE_INPUTS_WITHIN_H

#include "base/error.h"
#include "clock/topology.h"

/*
 * Guests within a host's trace: what they sent by hypercall (docs/formats/hypertrace.md) is in the
 * host's kvm_hypercall events, in fragments, each in the thread of the vCPU that made the call.
 * These are put together and become a trace for each guest.
 *
 * Which threads are vCPUs of one VM: the host's state lines say; where they do not, those whose
 * blocks name the same machine, and no two of which name the same CPU.  A kernel may call itself by
 * its neighbour's name: threads of two processes, where the calls name them, and threads whose
 * exits name one vCPU number, are of two VMs, whatever their kernels say.  Then the name tells of
 * no thread whose it is: where the calls name no processes, each such thread is a machine of its
 * own.
 *
 * A host whose KVM takes hypercalls of its guests' guests (kernel/patches) has those in
 * kvm_nested_hypercall events: they come in the threads of the vCPUs of the guest between, and name
 * the nested vCPU by where that one has its VMCB or VMCS.
 */
struct within_guest {
	struct trace *trace; /* owned, or taken by the caller, who sets it NULL */
	char name[64];	     /* of the VM as its host knows it; else as it calls itself */
	char because[200];   /* how it is known whose guest it is */
	int32_t tid;	     /* of one of its vCPUs' threads; nested: of one that it ran in */
	bool nested;	     /* it runs in a guest of this host, the one that has that thread */
};

struct within {
	struct within_guest *list; /* owned */
	unsigned nr;
};

struct within_options {
	unsigned workers; /* threads that decode beside this one */
	/* Calls with the share done; false: stop, and within_find() returns -EINTR.  May be NULL.
	 */
	bool (*progress)(double done, void *data);
	void *progress_data;
	/* Guests of whose threads this says true are left out, and counted.  May be NULL. */
	bool (*has_own)(int32_t tid, void *data);
	void *own_data;
};

/* Reads the whole of @host.  What is wrong with blocks becomes problems of the guests' traces; what
 * cannot be told whose it is, one of @host's.  No guest at all is no error. */
int within_find(struct within *out, struct trace *host, const struct within_options *opt,
		struct error *err);
void within_release(struct within *w);

#endif
