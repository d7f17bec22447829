/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_BPF_H
#define RECORD_STEAL_STOLEN_BPF_H

#include "base/error.h"

#include <stdint.h>

/*
 * The BPF program that tells what holds vCPUs up (kernel/bpf/stolen.bpf.c): loaded, attached, read.
 * A program that is built without it has cmd/static/no_bpf.c in its place.  One thread at a time.
 */
struct stolen_bpf;
struct holdup;

/* @take is called in stolen_bpf_poll(), for each record, in their order on each CPU.  Exits of
 * @least_ns and more are told one by one, others summed up. */
int stolen_bpf_open(struct stolen_bpf **out, uint64_t least_ns,
		    void (*take)(void *data, const struct holdup *h), void *data,
		    struct error *err);

/* Takes all there is, without waiting. */
void stolen_bpf_poll(struct stolen_bpf *b);

/* Records that were lost: the ring was full. */
uint64_t stolen_bpf_lost(const struct stolen_bpf *b);

/* Detaches.  Also of NULL. */
void stolen_bpf_close(struct stolen_bpf *b);

#endif
