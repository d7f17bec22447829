/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/tables.h"

/* #VMEXIT codes, AMD APM volume 2, appendix C. */
#define FIRST 0x60
static const struct exit_reason instructions[] = {
	[0x60 - FIRST] = {"INTR", MEANS_INTERRUPT},
	[0x61 - FIRST] = {"NMI", 0},
	[0x62 - FIRST] = {"SMI", 0},
	[0x63 - FIRST] = {"INIT", 0},
	[0x64 - FIRST] = {"VINTR", MEANS_WINDOW},
	[0x65 - FIRST] = {"CR0_SEL_WRITE", 0},
	[0x66 - FIRST] = {"IDTR_READ", 0},
	[0x67 - FIRST] = {"GDTR_READ", 0},
	[0x68 - FIRST] = {"LDTR_READ", 0},
	[0x69 - FIRST] = {"TR_READ", 0},
	[0x6a - FIRST] = {"IDTR_WRITE", 0},
	[0x6b - FIRST] = {"GDTR_WRITE", 0},
	[0x6c - FIRST] = {"LDTR_WRITE", 0},
	[0x6d - FIRST] = {"TR_WRITE", 0},
	[0x6e - FIRST] = {"RDTSC", 0},
	[0x6f - FIRST] = {"RDPMC", 0},
	[0x70 - FIRST] = {"PUSHF", 0},
	[0x71 - FIRST] = {"POPF", 0},
	[0x72 - FIRST] = {"CPUID", 0},
	[0x73 - FIRST] = {"RSM", 0},
	[0x74 - FIRST] = {"IRET", 0},
	[0x75 - FIRST] = {"SWINT", 0},
	[0x76 - FIRST] = {"INVD", 0},
	[0x77 - FIRST] = {"PAUSE", 0},
	[0x78 - FIRST] = {"HLT", MEANS_HALT},
	[0x79 - FIRST] = {"INVLPG", 0},
	[0x7a - FIRST] = {"INVLPGA", 0},
	[0x7b - FIRST] = {"IOIO", MEANS_KICK},
	[0x7c - FIRST] = {"MSR", 0},
	[0x7d - FIRST] = {"TASK_SWITCH", 0},
	[0x7e - FIRST] = {"FERR_FREEZE", 0},
	[0x7f - FIRST] = {"SHUTDOWN", 0},
	[0x80 - FIRST] = {"VMRUN", MEANS_START | MEANS_HYPERVISOR},
	[0x81 - FIRST] = {"VMMCALL", MEANS_HYPERCALL},
	[0x82 - FIRST] = {"VMLOAD", MEANS_HYPERVISOR},
	[0x83 - FIRST] = {"VMSAVE", MEANS_HYPERVISOR},
	[0x84 - FIRST] = {"STGI", MEANS_HYPERVISOR},
	[0x85 - FIRST] = {"CLGI", MEANS_HYPERVISOR},
	[0x86 - FIRST] = {"SKINIT", 0},
	[0x87 - FIRST] = {"RDTSCP", 0},
	[0x88 - FIRST] = {"ICEBP", 0},
	[0x89 - FIRST] = {"WBINVD", 0},
	[0x8a - FIRST] = {"MONITOR", 0},
	[0x8b - FIRST] = {"MWAIT", 0},
	[0x8c - FIRST] = {"MWAIT_ARMED", 0},
	[0x8d - FIRST] = {"XSETBV", 0},
	[0x8e - FIRST] = {"RDPRU", 0},
	[0x8f - FIRST] = {"EFER_WRITE_TRAP", 0},
	[0xa0 - FIRST] = {"INVLPGB", 0},
	[0xa1 - FIRST] = {"INVLPGB_ILLEGAL", 0},
	[0xa2 - FIRST] = {"INVPCID", 0},
	[0xa3 - FIRST] = {"MCOMMIT", 0},
	[0xa4 - FIRST] = {"TLBSYNC", 0},
};

/* A code for each register, by its number. */
/* clang-format off: as many as there are registers */
#define OF_EACH_REGISTER(kind, what)                                                               \
	{kind "0" what, 0}, {kind "1" what, 0}, {kind "2" what, 0}, {kind "3" what, 0},            \
		{kind "4" what, 0}, {kind "5" what, 0}, {kind "6" what, 0}, {kind "7" what, 0},    \
		{kind "8" what, 0}, {kind "9" what, 0}, {kind "10" what, 0}, {kind "11" what, 0},  \
		{kind "12" what, 0}, {kind "13" what, 0}, {kind "14" what, 0},                     \
	{                                                                                          \
		kind "15" what, 0                                                                  \
	}
/* clang-format on */

static const struct exit_reason registers[] = {
	OF_EACH_REGISTER("CR", "_READ"),
	OF_EACH_REGISTER("CR", "_WRITE"),
	OF_EACH_REGISTER("DR", "_READ"),
	OF_EACH_REGISTER("DR", "_WRITE"),
};

static const struct exit_reason cr_traps[] = {OF_EACH_REGISTER("CR", "_WRITE_TRAP")};

/* By their vectors. */
static const struct exit_reason exceptions[] = {
	{"EXCEPTION_DE", 0}, {"EXCEPTION_DB", 0}, {"EXCEPTION_NMI", 0}, {"EXCEPTION_BP", 0},
	{"EXCEPTION_OF", 0}, {"EXCEPTION_BR", 0}, {"EXCEPTION_UD", 0},	{"EXCEPTION_NM", 0},
	{"EXCEPTION_DF", 0}, {"EXCEPTION_9", 0},  {"EXCEPTION_TS", 0},	{"EXCEPTION_NP", 0},
	{"EXCEPTION_SS", 0}, {"EXCEPTION_GP", 0}, {"EXCEPTION_PF", 0},	{"EXCEPTION_15", 0},
	{"EXCEPTION_MF", 0}, {"EXCEPTION_AC", 0}, {"EXCEPTION_MC", 0},	{"EXCEPTION_XF", 0},
	{"EXCEPTION_20", 0}, {"EXCEPTION_CP", 0}, {"EXCEPTION_22", 0},	{"EXCEPTION_23", 0},
	{"EXCEPTION_24", 0}, {"EXCEPTION_25", 0}, {"EXCEPTION_26", 0},	{"EXCEPTION_27", 0},
	{"EXCEPTION_HV", 0}, {"EXCEPTION_VC", 0}, {"EXCEPTION_SX", 0},	{"EXCEPTION_31", 0},
};

static const struct exit_reason paging[] = {
	{"NPF", MEANS_KICK},
	{"AVIC_INCOMPLETE_IPI", 0},
	{"AVIC_UNACCELERATED", 0},
	{"VMGEXIT", 0},
};

static const struct exit_range ranges[] = {
	EXIT_RANGE(FIRST, instructions), EXIT_RANGE(0, registers),  EXIT_RANGE(0x40, exceptions),
	EXIT_RANGE(0x90, cr_traps),	 EXIT_RANGE(0x400, paging),
};

const struct exit_numbers svm_exits = {
	.ranges = ranges,
	.nr_ranges = ARRAY_SIZE(ranges),
	.hypercall = 0x81,
};
