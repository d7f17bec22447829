/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_HYPERCALLS_SITES_H
#define RECORD_TRACERS_HYPERCALLS_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The places in guests that hypertrace calls come from, by the address of the instruction: which of
 * them are busy enough for a place in tracefs' filters (docs/formats/hypercalls.md).  Guests choose
 * the addresses: whatever they do, this needs no more room, and costs one look-up a call.
 *
 *	if (call_sites_take(&s, rip, now_ns, &left) ...)    the list has changed
 */
#define CALL_SITES_MAX 16
#define CALL_SITES_ENOUGH 8	       /* calls that a place has made before it is listed */
#define CALL_SITES_IDLE_NS 10000000000 /* without calls: another may have its place in the list */
#define CALL_SITES_FILTER_BYTES 1024

struct call_sites {
	uint64_t rips[CALL_SITES_MAX]; /* listed */
	uint64_t used_ns[CALL_SITES_MAX];
	unsigned nr;
	struct call_site_seen {
		uint64_t rip;
		uint32_t calls;
	} seen[256]; /* by the address's bits: a busy one drives a rare one out */
};

/* A call from @rip, at @now_ns.  True: it is listed from now on.  *@left: the address that had to
 * leave the list for it; 0: none. */
bool call_sites_take(struct call_sites *s, uint64_t rip, uint64_t now_ns, uint64_t *left);

/* Filters for kvm_exit and kvm_entry that drop what is listed; @is_vmx: which exit reason. */
void call_sites_exit_filter(const struct call_sites *s, bool is_vmx,
			    char out[static CALL_SITES_FILTER_BYTES]);
void call_sites_entry_filter(const struct call_sites *s, char out[static CALL_SITES_FILTER_BYTES]);

/* A filter for kvm_exit that leaves those of hypercalls, from wherever. */
void hypercall_exits_filter(char out[static CALL_SITES_FILTER_BYTES]);

#endif
