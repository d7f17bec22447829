/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde_vmx

#if !defined(SONDE_VMX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SONDE_VMX_TRACE_H

#include <linux/kvm_host.h>
#include <linux/tracepoint.h>

int sonde_vmx_wanted(void);
void sonde_vmx_unwanted(void);

/*
 * At each exit of a VM, before KVM has handled it: CR3 and RIP as the CPU had them.  @nested: of a
 * VM inside that VM.  kernel/bpf/hypertrace.bpf.c takes these arguments as they stand.
 */
TRACE_EVENT_FN(sonde_vmx_exit,
	       TP_PROTO(struct kvm_vcpu *vcpu, unsigned long cr3, unsigned long rip, bool nested),
	       TP_ARGS(vcpu, cr3, rip, nested),

	       TP_STRUCT__entry(__field(unsigned long, cr3) __field(unsigned long, rip)
					__field(unsigned int, vcpu_id) __field(bool, nested)),
	       TP_fast_assign(__entry->cr3 = cr3; __entry->rip = rip;
			      __entry->vcpu_id = vcpu->vcpu_id; __entry->nested = nested;),
	       TP_printk("vcpu %u cr3 0x%lx rip 0x%lx nested %d", __entry->vcpu_id, __entry->cr3,
			 __entry->rip, __entry->nested),

	       sonde_vmx_wanted, sonde_vmx_unwanted);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
