/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers and rows are called. */
#include "query/exits.h"
#include "query/counts.h"
#include "query/query.h"
#include "base/text.h"
#include "model/context.h"
#include "source/exits.h"

#include <stdio.h>
#include <string.h>

/* Basic exit reasons, Intel SDM volume 3, appendix C. */
static const char *const vmx_names[] = {
	[0] = "EXCEPTION_NMI",
	[1] = "EXTERNAL_INTERRUPT",
	[2] = "TRIPLE_FAULT",
	[3] = "INIT_SIGNAL",
	[4] = "SIPI_SIGNAL",
	[5] = "IO_SMI",
	[6] = "OTHER_SMI",
	[7] = "INTERRUPT_WINDOW",
	[8] = "NMI_WINDOW",
	[9] = "TASK_SWITCH",
	[10] = "CPUID",
	[11] = "GETSEC",
	[12] = "HLT",
	[13] = "INVD",
	[14] = "INVLPG",
	[15] = "RDPMC",
	[16] = "RDTSC",
	[17] = "RSM",
	[18] = "VMCALL",
	[19] = "VMCLEAR",
	[20] = "VMLAUNCH",
	[21] = "VMPTRLD",
	[22] = "VMPTRST",
	[23] = "VMREAD",
	[24] = "VMRESUME",
	[25] = "VMWRITE",
	[26] = "VMXOFF",
	[27] = "VMXON",
	[28] = "CR_ACCESS",
	[29] = "DR_ACCESS",
	[30] = "IO_INSTRUCTION",
	[31] = "MSR_READ",
	[32] = "MSR_WRITE",
	[33] = "INVALID_GUEST_STATE",
	[34] = "MSR_LOAD_FAIL",
	[36] = "MWAIT",
	[37] = "MONITOR_TRAP_FLAG",
	[39] = "MONITOR",
	[40] = "PAUSE",
	[41] = "MACHINE_CHECK",
	[43] = "TPR_BELOW_THRESHOLD",
	[44] = "APIC_ACCESS",
	[45] = "EOI_INDUCED",
	[46] = "GDTR_IDTR",
	[47] = "LDTR_TR",
	[48] = "EPT_VIOLATION",
	[49] = "EPT_MISCONFIG",
	[50] = "INVEPT",
	[51] = "RDTSCP",
	[52] = "PREEMPTION_TIMER",
	[53] = "INVVPID",
	[54] = "WBINVD",
	[55] = "XSETBV",
	[56] = "APIC_WRITE",
	[57] = "RDRAND",
	[58] = "INVPCID",
	[59] = "VMFUNC",
	[60] = "ENCLS",
	[61] = "RDSEED",
	[62] = "PML_FULL",
	[63] = "XSAVES",
	[64] = "XRSTORS",
	[65] = "PCONFIG",
	[66] = "SPP_EVENT",
	[67] = "UMWAIT",
	[68] = "TPAUSE",
	[69] = "LOADIWKEY",
	[70] = "ENCLV",
	[72] = "ENQCMD_PASID",
	[73] = "ENQCMDS_PASID",
	[74] = "BUS_LOCK",
	[75] = "NOTIFY",
	[76] = "SEAMCALL",
	[77] = "TDCALL",
	[78] = "RDMSRLIST",
	[79] = "WRMSRLIST",
	[80] = "URDMSR",
	[81] = "UWRMSR",
	[84] = "MSR_READ_IMM",
	[85] = "MSR_WRITE_IMM",
};

/* #VMEXIT codes from 0x60 on, AMD APM volume 2, appendix C. */
#define SVM_FIRST 0x60
static const char *const svm_names[] = {
	[0x60 - SVM_FIRST] = "INTR",	    [0x61 - SVM_FIRST] = "NMI",
	[0x62 - SVM_FIRST] = "SMI",	    [0x63 - SVM_FIRST] = "INIT",
	[0x64 - SVM_FIRST] = "VINTR",	    [0x65 - SVM_FIRST] = "CR0_SEL_WRITE",
	[0x66 - SVM_FIRST] = "IDTR_READ",   [0x67 - SVM_FIRST] = "GDTR_READ",
	[0x68 - SVM_FIRST] = "LDTR_READ",   [0x69 - SVM_FIRST] = "TR_READ",
	[0x6a - SVM_FIRST] = "IDTR_WRITE",  [0x6b - SVM_FIRST] = "GDTR_WRITE",
	[0x6c - SVM_FIRST] = "LDTR_WRITE",  [0x6d - SVM_FIRST] = "TR_WRITE",
	[0x6e - SVM_FIRST] = "RDTSC",	    [0x6f - SVM_FIRST] = "RDPMC",
	[0x70 - SVM_FIRST] = "PUSHF",	    [0x71 - SVM_FIRST] = "POPF",
	[0x72 - SVM_FIRST] = "CPUID",	    [0x73 - SVM_FIRST] = "RSM",
	[0x74 - SVM_FIRST] = "IRET",	    [0x75 - SVM_FIRST] = "SWINT",
	[0x76 - SVM_FIRST] = "INVD",	    [0x77 - SVM_FIRST] = "PAUSE",
	[0x78 - SVM_FIRST] = "HLT",	    [0x79 - SVM_FIRST] = "INVLPG",
	[0x7a - SVM_FIRST] = "INVLPGA",	    [0x7b - SVM_FIRST] = "IOIO",
	[0x7c - SVM_FIRST] = "MSR",	    [0x7d - SVM_FIRST] = "TASK_SWITCH",
	[0x7e - SVM_FIRST] = "FERR_FREEZE", [0x7f - SVM_FIRST] = "SHUTDOWN",
	[0x80 - SVM_FIRST] = "VMRUN",	    [0x81 - SVM_FIRST] = "VMMCALL",
	[0x82 - SVM_FIRST] = "VMLOAD",	    [0x83 - SVM_FIRST] = "VMSAVE",
	[0x84 - SVM_FIRST] = "STGI",	    [0x85 - SVM_FIRST] = "CLGI",
	[0x86 - SVM_FIRST] = "SKINIT",	    [0x87 - SVM_FIRST] = "RDTSCP",
	[0x88 - SVM_FIRST] = "ICEBP",	    [0x89 - SVM_FIRST] = "WBINVD",
	[0x8a - SVM_FIRST] = "MONITOR",	    [0x8b - SVM_FIRST] = "MWAIT",
	[0x8c - SVM_FIRST] = "MWAIT_ARMED", [0x8d - SVM_FIRST] = "XSETBV",
	[0x8e - SVM_FIRST] = "RDPRU",	    [0x8f - SVM_FIRST] = "EFER_WRITE_TRAP",
	[0xa0 - SVM_FIRST] = "INVLPGB",	    [0xa1 - SVM_FIRST] = "INVLPGB_ILLEGAL",
	[0xa2 - SVM_FIRST] = "INVPCID",	    [0xa3 - SVM_FIRST] = "MCOMMIT",
	[0xa4 - SVM_FIRST] = "TLBSYNC",
};

/* A code for each register, by its number. */
#define OF_EACH_REGISTER(kind, what)                                                               \
	kind "0" what, kind "1" what, kind "2" what, kind "3" what, kind "4" what, kind "5" what,  \
		kind "6" what, kind "7" what, kind "8" what, kind "9" what, kind "10" what,        \
		kind "11" what, kind "12" what, kind "13" what, kind "14" what, kind "15" what

static const char *const svm_registers[] = {
	OF_EACH_REGISTER("CR", "_READ"),
	OF_EACH_REGISTER("CR", "_WRITE"),
	OF_EACH_REGISTER("DR", "_READ"),
	OF_EACH_REGISTER("DR", "_WRITE"),
};

#define SVM_CR_TRAP_FIRST 0x90
static const char *const svm_cr_traps[] = {OF_EACH_REGISTER("CR", "_WRITE_TRAP")};

/* By their vectors. */
#define SVM_EXCEPTION_FIRST 0x40
static const char *const svm_exceptions[] = {
	"EXCEPTION_DE", "EXCEPTION_DB", "EXCEPTION_NMI", "EXCEPTION_BP", "EXCEPTION_OF",
	"EXCEPTION_BR", "EXCEPTION_UD", "EXCEPTION_NM",	 "EXCEPTION_DF", "EXCEPTION_9",
	"EXCEPTION_TS", "EXCEPTION_NP", "EXCEPTION_SS",	 "EXCEPTION_GP", "EXCEPTION_PF",
	"EXCEPTION_15", "EXCEPTION_MF", "EXCEPTION_AC",	 "EXCEPTION_MC", "EXCEPTION_XF",
	"EXCEPTION_20", "EXCEPTION_CP", "EXCEPTION_22",	 "EXCEPTION_23", "EXCEPTION_24",
	"EXCEPTION_25", "EXCEPTION_26", "EXCEPTION_27",	 "EXCEPTION_HV", "EXCEPTION_VC",
	"EXCEPTION_SX", "EXCEPTION_31",
};

#define SVM_PAGING_FIRST 0x400
static const char *const svm_paging[] = {"NPF", "AVIC_INCOMPLETE_IPI", "AVIC_UNACCELERATED",
					 "VMGEXIT"};

/* The tables, by the codes with which they begin. */
#define SVM_TABLE(first, names)                                                                    \
	{                                                                                          \
		first, names, ARRAY_SIZE(names)                                                    \
	}
static const struct {
	int64_t first;
	const char *const *names;
	size_t nr;
} svm_tables[] = {
	SVM_TABLE(0, svm_registers),
	SVM_TABLE(SVM_EXCEPTION_FIRST, svm_exceptions),
	SVM_TABLE(SVM_FIRST, svm_names),
	SVM_TABLE(SVM_CR_TRAP_FIRST, svm_cr_traps),
	SVM_TABLE(SVM_PAGING_FIRST, svm_paging),
};

/* KVM_EXIT_... of linux/kvm.h: what a VMM's user space is told. */
static const char *const user_exit_names[] = {
	"UNKNOWN",
	"EXCEPTION",
	"IO",
	"HYPERCALL",
	"DEBUG",
	"HLT",
	"MMIO",
	"IRQ_WINDOW_OPEN",
	"SHUTDOWN",
	"FAIL_ENTRY",
	"INTR",
	"SET_TPR",
	"TPR_ACCESS",
	"S390_SIEIC",
	"S390_RESET",
	"DCR",
	"NMI",
	"INTERNAL_ERROR",
	"OSI",
	"PAPR_HCALL",
	"S390_UCONTROL",
	"WATCHDOG",
	"S390_TSCH",
	"EPR",
	"SYSTEM_EVENT",
	"S390_STSI",
	"IOAPIC_EOI",
	"HYPERV",
	"ARM_NISV",
	"X86_RDMSR",
	"X86_WRMSR",
	"DIRTY_RING_FULL",
	"AP_RESET_HOLD",
	"X86_BUS_LOCK",
	"XEN",
	"RISCV_SBI",
	"RISCV_CSR",
	"NOTIFY",
};

static const char *const softirq_names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

static const char *const mode_names[QUERY_NR_MODES] = {
	[SONDE_MODE_UNKNOWN] = "unknown",
	[SONDE_MODE_IDLE] = "idle",
	[SONDE_MODE_USER] = "user",
	[SONDE_MODE_SYSCALL] = "syscall",
	[SONDE_MODE_IRQ] = "irq",
	[SONDE_MODE_SOFTIRQ] = "softirq",
	[SONDE_MODE_HYPERVISOR] = "hypervisor",
	[SONDE_MODE_GUEST] = "guest",
	[SONDE_MODE_KERNEL] = "kernel",
	[SONDE_MODE_TASK] = "task",
};

bool exit_reason_is_svm(int64_t reason)
{
	return reason >= SVM_FIRST && reason <= 0x403;
}

static const char *vmx_name(int64_t reason)
{
	uint64_t basic = (uint64_t)exit_basic(reason, ISA_VMX);

	return basic < ARRAY_SIZE(vmx_names) ? vmx_names[basic] : NULL;
}

const char *exit_reason_name(bool is_svm, int64_t reason)
{
	if (!is_svm)
		return vmx_name(reason);
	for (size_t i = 0; i < ARRAY_SIZE(svm_tables); i++) {
		/* A file may say any number: a difference of signed ones could overflow. */
		uint64_t at = (uint64_t)reason - (uint64_t)svm_tables[i].first;

		if (at < svm_tables[i].nr && svm_tables[i].names[at])
			return svm_tables[i].names[at];
	}
	return NULL;
}

const char *user_exit_name(int64_t reason)
{
	return reason >= 0 && reason < (int64_t)ARRAY_SIZE(user_exit_names)
		       ? user_exit_names[reason]
		       : "";
}

const char *softirq_name(int64_t nr)
{
	return nr >= 0 && nr < (int64_t)ARRAY_SIZE(softirq_names) ? softirq_names[nr] : NULL;
}

/* x86 Linux gives its own interrupts the vectors at the top. */
const char *vector_name(int64_t vector)
{
	switch (vector) {
	case 0xec:
		return "local_timer";
	case 0xf6:
		return "irq_work";
	case 0xfb:
		return "call_function_single";
	case 0xfc:
		return "call_function";
	case 0xfd:
		return "reschedule";
	default:
		return NULL;
	}
}

const char *sonde_mode_name(enum sonde_mode mode)
{
	return (unsigned)mode < QUERY_NR_MODES ? mode_names[mode] : "unknown";
}

const char *query_vcpu_state_name(uint32_t state)
{
	static const char *const names[] = {
		[VCPU_NONE] = "none",	    [VCPU_UNKNOWN] = "unknown",
		[VCPU_ON_CPU] = "on_cpu",   [VCPU_PREEMPTED] = "preempted",
		[VCPU_WAITING] = "waiting", [VCPU_GONE] = "gone",
	};

	return names[state < ARRAY_SIZE(names) ? state : VCPU_UNKNOWN];
}

const char *query_thread_state_name(uint32_t state)
{
	static const char *const names[] = {
		[THREAD_NONE] = "none",		[THREAD_UNKNOWN] = "unknown",
		[THREAD_RUNNING] = "running",	[THREAD_RUNNABLE] = "runnable",
		[THREAD_SLEEPING] = "sleeping", [THREAD_BLOCKED] = "blocked",
		[THREAD_STOPPED] = "stopped",	[THREAD_DEAD] = "dead",
	};

	return names[state < ARRAY_SIZE(names) ? state : THREAD_UNKNOWN];
}

int sonde_thread_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct text text = text_in(buf, room);
	struct sonde_thread t;
	char vcpu[80];

	if (sonde_thread_get(history, row, &t))
		return snprintf(buf, room, "unknown");
	if (t.tid == 0)
		return snprintf(buf, room, "idle");
	if (t.tid < 0) /* an address space: it has a name alone */
		return snprintf(buf, room, "%s", t.comm);
	text_str(&text, *t.comm ? t.comm : "?");
	text_char(&text, '[');
	text_i64(&text, t.tid);
	text_char(&text, ']');
	/* All VMMs of one kind give their threads the same names: say which vCPU this one is. */
	if (t.vcpu >= 0) {
		sonde_cpu_label(history, t.vcpu, vcpu, sizeof(vcpu));
		text_char(&text, '=');
		text_str(&text, vcpu);
	}
	return (int)text_end(&text, room);
}

int sonde_cpu_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_cpu cpu;
	struct sonde_machine m;

	if (sonde_cpu_get(history, row, &cpu) || sonde_machine_get(history, cpu.machine, &m))
		return snprintf(buf, room, "unknown");
	if (cpu.number < 0)
		return snprintf(buf, room, "%s/?", m.name);
	return snprintf(buf, room, "%s/%d", m.name, cpu.number);
}

int sonde_pid_ns_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_thread init;
	struct sonde_pid_ns ns;

	if (sonde_pid_ns_get(history, row, &ns))
		return snprintf(buf, room, "unknown");
	if (*ns.name)
		return snprintf(buf, room, "%s:[%llu]", ns.name, (unsigned long long)ns.inum);
	if (history->ns_init[row] < 0 || sonde_thread_get(history, history->ns_init[row], &init))
		return snprintf(buf, room, "pid:[%llu]", (unsigned long long)ns.inum);
	return snprintf(buf, room, "%s:[%llu]", init.comm, (unsigned long long)ns.inum);
}

int context_mode_label(const struct sonde_context *c, char *buf, size_t room)
{
	const char *mode = sonde_mode_name(c->mode);

	if (*c->detail_text)
		return snprintf(buf, room, "%s %s", mode, c->detail_text);
	if (c->detail >= 0 && c->mode != SONDE_MODE_SYSCALL &&
	    (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_SOFTIRQ ||
	     c->mode == SONDE_MODE_HYPERVISOR))
		return snprintf(buf, room, "%s %lld", mode, (long long)c->detail);
	return snprintf(buf, room, "%s", mode);
}

int sonde_context_label(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_context c;
	struct sonde_machine m;
	char thread[64];
	char mode[64];

	if (sonde_context_get(history, row, &c) || sonde_machine_get(history, c.machine, &m))
		return snprintf(buf, room, "unknown");
	context_mode_label(&c, mode, sizeof(mode));
	if (c.mode == SONDE_MODE_IDLE)
		return snprintf(buf, room, "%s idle", m.name);
	sonde_thread_label(history, c.thread, thread, sizeof(thread));
	return snprintf(buf, room, "%s %s %s", m.name, thread, mode);
}
