/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KERNEL_BPF_KVM_FIELDS_H
#define KERNEL_BPF_KVM_FIELDS_H

/*
 * The fields of KVM's structs that the programs read, by name: libbpf finds where they are in the
 * kernel that runs, by its type information (BTF).  What a kernel does not have is asked for with
 * bpf_core_type_exists() or bpf_core_field_exists() first.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#define VCPU_RIP 16 /* enum kvm_reg: index of RIP among the registers */

struct kvm_vcpu_arch {
	unsigned long regs[VCPU_RIP + 1];
	uint32_t regs_avail; /* bit i: regs[i] is of the last exit */
	uint64_t last_guest_tsc;
	uint64_t l1_tsc_offset;
	uint64_t l1_tsc_scaling_ratio;
	unsigned long cr3;
	bool guest_state_protected;
};

/* What a VM's memory is, by guest-physical pages. */
struct rb_node {
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct kvm_memory_slot {
	struct rb_node gfn_node[2];
	uint64_t base_gfn;
	unsigned long npages, userspace_addr;
	uint32_t flags;
};

struct kvm_memslots {
	uint64_t generation;
	struct rb_root gfn_tree;
	int node_idx;
};

struct kvm {
	struct kvm_memslots *memslots[1];
};

struct kvm_vcpu {
	struct kvm *kvm;
	int vcpu_id;
	struct kvm_vcpu_arch arch;
};

struct thread_info {
	uint32_t cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int tgid;
	struct task_struct *group_leader;
	uint64_t start_boottime;
	void *bpf_storage; /* NULL: no program keeps anything of it */
};

/* AMD; in the module kvm_amd. */
struct vmcb_control_area {
	uint32_t exit_code;
	uint64_t nested_ctl;
};

struct vmcb_save_area {
	uint8_t cpl;
	uint64_t cr3;
};

struct vmcb {
	struct vmcb_control_area control;
	struct vmcb_save_area save;
};

struct kvm_vmcb_info {
	struct vmcb *ptr;
};

struct svm_nested_state {
	uint64_t vmcb12_gpa;
};

struct vcpu_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;
	struct kvm_vmcb_info vmcb01;
	struct svm_nested_state nested;
};

/* Intel; in the module kvm_intel. */
union vmx_exit_reason {
	uint32_t full;
};

struct nested_vmx {
	uint64_t current_vmptr; /* of vmcs12 */
};

struct vcpu_vmx {
	struct kvm_vcpu vcpu;
	struct nested_vmx nested;
	union vmx_exit_reason exit_reason;
};

#pragma clang attribute pop

#endif
