// SPDX-License-Identifier: GPL-2.0-only
/*
 * sonde_vmx: tells at each exit of a VM which page table its guest had, on Intel's CPUs.
 *
 * The CPU keeps that in the VMCS, whose layout is its own: only the instruction VMREAD gets it, and
 * KVM reads it only when it needs it.  So a probe on KVM's tracepoint kvm_exit, which is called
 * with interrupts off on the CPU that has just left the guest, reads it and passes it on in a
 * tracepoint of its own, sonde_vmx_exit.  The probe is there while somebody listens to that one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/vmx.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "the tracepoint kvm_exit is known from Linux 6.1 on"
#endif

#define CREATE_TRACE_POINTS
#include "trace.h"

#define ISA_VMX 1 /* as kvm_exit has it */

/* KVM's, in the module kvm or in the kernel: looked up when it is needed, and held only as long. */
extern struct tracepoint __tracepoint_kvm_exit;

static unsigned long failed;
module_param(failed, ulong, 0444);
MODULE_PARM_DESC(failed, "exits at which the VMCS could not be read (a count)");

/* The last vCPU whose VMCS was found to be this CPU's. */
static DEFINE_PER_CPU(struct kvm_vcpu *, known);

/* The three are changed with this held; it is never held while a tracepoint is changed. */
static DEFINE_MUTEX(lock);
static bool wanted, leaving;
static void follow(struct work_struct *work);
static DECLARE_WORK(follow_work, follow);

static struct tracepoint *exits; /* has our probe; NULL: none has.  follow_work's alone */

/* False: this CPU is not in VMX operation, has no VMCS, or none with that field. */
static __always_inline bool vmcs_read(unsigned long field, unsigned long *value)
{
	unsigned long got = 0;
	bool good = false;

	/* Where it cannot be executed, the exception goes on behind it. */
	asm volatile("1: vmread %[field], %[got]\n\t"
		     "seta %[good]\n"
		     "2:\n" _ASM_EXTABLE(1b, 2b)
		     : [got] "+r"(got), [good] "+q"(good)
		     : [field] "r"(field)
		     : "cc");
	*value = got;
	return good;
}

/*
 * Whether the VMCS that this CPU works with is the vCPU's: the CPU left the guest onto the stack of
 * this thread.  Once for each vCPU that comes here is enough, for a VMCS of KVM's has one vCPU.
 */
static bool is_loaded(struct kvm_vcpu *vcpu)
{
	unsigned long rsp;

	if (likely(this_cpu_read(known) == vcpu))
		return true;
	if (!vmcs_read(HOST_RSP, &rsp) ||
	    rsp - (unsigned long)task_stack_page(current) >= THREAD_SIZE)
		return false;
	this_cpu_write(known, vcpu);
	return true;
}

/* A TD's registers are the CPU's secret, and what VMREAD finds is not its VMCS. */
static bool is_hidden(const struct kvm_vcpu *vcpu)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	if (vcpu->kvm->arch.vm_type > KVM_X86_SW_PROTECTED_VM)
		return true;
#endif
	return vcpu->arch.guest_state_protected;
}

static void on_exit(void *unused, struct kvm_vcpu *vcpu, u32 isa)
{
	unsigned long cr3, rip;

	if (isa != ISA_VMX || is_hidden(vcpu))
		return;
	if (unlikely(!is_loaded(vcpu) || !vmcs_read(GUEST_CR3, &cr3) ||
		     !vmcs_read(GUEST_RIP, &rip))) {
		WRITE_ONCE(failed, failed + 1);
		return;
	}
	trace_sonde_vmx_exit(vcpu, cr3, rip, vcpu->arch.hflags & HF_GUEST_MASK);
}

static void listen(void)
{
	struct tracepoint *tp = symbol_get(__tracepoint_kvm_exit);
	int ret;

	if (!tp) {
		pr_warn("KVM is not loaded: there is nothing to tell\n");
		return;
	}
	ret = tracepoint_probe_register(tp, on_exit, NULL);
	if (ret) {
		pr_warn("no probe on kvm_exit (%d)\n", ret);
		symbol_put(__tracepoint_kvm_exit);
		return;
	}
	exits = tp;
}

static void unlisten(void)
{
	tracepoint_probe_unregister(exits, on_exit, NULL);
	tracepoint_synchronize_unregister();
	exits = NULL;
	symbol_put(__tracepoint_kvm_exit);
}

static void follow(struct work_struct *work)
{
	bool on;

	mutex_lock(&lock);
	on = wanted && !leaving;
	mutex_unlock(&lock);
	if (on && !exits)
		listen();
	else if (!on && exits)
		unlisten();
}

/* Both are called with the lock that changing any tracepoint takes, so another thread has to change
 * KVM's. */
static int set_wanted(bool on)
{
	int ret = 0;

	mutex_lock(&lock);
	if (leaving) {
		ret = -ENODEV;
	} else {
		wanted = on;
		schedule_work(&follow_work);
	}
	mutex_unlock(&lock);
	return ret;
}

int sonde_vmx_wanted(void)
{
	return set_wanted(true);
}

void sonde_vmx_unwanted(void)
{
	set_wanted(false);
}

static int __init sonde_vmx_init(void)
{
	if (boot_cpu_has(X86_FEATURE_VMX))
		return 0;
	if (boot_cpu_has(X86_FEATURE_SVM))
		pr_err("an AMD CPU needs no such module: sonde record reads its guests' page "
		       "tables without\n");
	else
		pr_err("this CPU has no VMX\n");
	return -ENODEV;
}

static void __exit sonde_vmx_exit(void)
{
	/* ftrace lets go of the tracepoint only after this: from here on that changes nothing. */
	mutex_lock(&lock);
	leaving = true;
	mutex_unlock(&lock);
	cancel_work_sync(&follow_work);
	if (exits)
		unlisten();
}

module_init(sonde_vmx_init);
module_exit(sonde_vmx_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tells which page tables guests have, on Intel's CPUs");
MODULE_VERSION("0.1.0");
