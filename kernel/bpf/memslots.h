/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KERNEL_BPF_MEMSLOTS_H
#define KERNEL_BPF_MEMSLOTS_H

#include "kernel/bpf/kvm_fields.h"

/*
 * Where a VM's memory is in its VMM's process, as KVM itself has it: by no guess, and nothing but
 * memory that the guest may write to.  Linux 5.17 and later; before it nothing is found.
 */
#define MEMSLOT_DEPTH_MAX 32 /* of a tree that is balanced: of 65536 slots */
#define MEMSLOT_READONLY 2   /* KVM_MEM_READONLY */
#define MEMSLOT_PAGE_SHIFT 12

static __always_inline struct kvm_memslots *memslots_of(struct kvm_vcpu *vcpu)
{
	if (!bpf_core_field_exists(((struct kvm_memslots *)0)->gfn_tree))
		return NULL;
	return BPF_CORE_READ(vcpu, kvm, memslots[0]);
}

/* Another one after each change of the map. */
static __always_inline uint64_t memslots_generation(struct kvm_vcpu *vcpu)
{
	struct kvm_memslots *slots = memslots_of(vcpu);

	return slots ? BPF_CORE_READ(slots, generation) : 0;
}

/* *@at: the address in the process; *@room: bytes of the slot from there on, 0 when it is none. */
static __always_inline void memslot_find(struct kvm_vcpu *vcpu, uint64_t gpa, uint64_t *at,
					 uint64_t *room)
{
	struct kvm_memslots *slots = memslots_of(vcpu);
	uint64_t gfn = gpa >> MEMSLOT_PAGE_SHIFT;
	struct rb_node *node;
	uint32_t index, node_at;

	*at = *room = 0;
	if (!slots)
		return;
	index = BPF_CORE_READ(slots, node_idx) & 1;
	node = BPF_CORE_READ(slots, gfn_tree.rb_node);
	node_at = bpf_core_field_offset(struct kvm_memory_slot, gfn_node) +
		  index * bpf_core_type_size(struct rb_node);
	for (int i = 0; i < MEMSLOT_DEPTH_MAX && node; i++) {
		struct kvm_memory_slot *slot = (void *)((uint64_t)node - node_at);
		uint64_t base = BPF_CORE_READ(slot, base_gfn);
		uint64_t pages = BPF_CORE_READ(slot, npages);

		if (gfn < base) {
			node = BPF_CORE_READ(node, rb_left);
		} else if (gfn - base >= pages) {
			node = BPF_CORE_READ(node, rb_right);
		} else {
			uint64_t within = gpa - (base << MEMSLOT_PAGE_SHIFT);

			if (BPF_CORE_READ(slot, flags) & MEMSLOT_READONLY)
				return;
			*at = BPF_CORE_READ(slot, userspace_addr) + within;
			*room = (pages << MEMSLOT_PAGE_SHIFT) - within;
			return;
		}
	}
}

#endif
