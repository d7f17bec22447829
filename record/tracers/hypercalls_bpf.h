/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_HYPERCALLS_BPF_H
#define RECORD_TRACERS_HYPERCALLS_BPF_H

#include "base/error.h"

#include <stdint.h>

/*
 * The BPF program that folds hypertrace calls (kernel/bpf/hypertrace.bpf.c): loaded, attached,
 * read. A program that is built without it has cmd/static/no_bpf.c in its place.  One thread at a
 * time.
 */
struct hypercalls_bpf;
struct hc_record;

/* What the program is to do. */
enum hypercalls_task {
	HYPERCALLS_FOLD = 1 << 0,   /* hypertrace calls: HC_CALL, HC_EXIT, HC_ENTRY */
	HYPERCALLS_SPACES = 1 << 1, /* address spaces of guests: HC_SPACE */
};

/* @tasks: bits of enum hypercalls_task, at least one.  @calls_per_s: of one VM, the rest is lost;
 * 0: no limit.  @take is called in hypercalls_bpf_poll(), for each record. */
int hypercalls_bpf_open(struct hypercalls_bpf **out, unsigned tasks, uint32_t calls_per_s,
			void (*take)(void *data, const struct hc_record *r), void *data,
			struct error *err);

/* Waits until the program has much to tell or @timeout_ms have passed; takes all there is. */
void hypercalls_bpf_poll(struct hypercalls_bpf *b, int timeout_ms);

/* False: this KVM's exit reasons are not known, so kvm_exit and kvm_entry must not be filtered. */
bool hypercalls_bpf_knows_exits(const struct hypercalls_bpf *b);

/* Why guests' address spaces cannot be told on this machine; NULL: they can, where a program can be
 * loaded at all. */
const char *hypercalls_bpf_no_spaces(void);

/* From now on, and no longer: kvm_exit by a call at @rip, and kvm_entry behind it, are told when
 * they are no part of a hypertrace call. */
int hypercalls_bpf_watch(struct hypercalls_bpf *b, uint64_t rip);
void hypercalls_bpf_forget(struct hypercalls_bpf *b, uint64_t rip);

/* For each VM that has ended, or @is_end for all, of whose processes calls were not written and no
 * record has told so, @take is called with one of those calls, which counts them.  Those that have
 * ended make room for others.  Now and then, and at the end, behind hypercalls_bpf_poll(). */
void hypercalls_bpf_skipped(struct hypercalls_bpf *b, bool is_end);

/* Records that were lost: the ring was full, or a VM made more than it may; and of these. */
uint64_t hypercalls_bpf_lost(const struct hypercalls_bpf *b);
uint64_t hypercalls_bpf_over(const struct hypercalls_bpf *b);

/* Detaches.  Also of NULL. */
void hypercalls_bpf_close(struct hypercalls_bpf *b);

#endif
