/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/tables.h"

/* Exception classes, Arm ARM, ESR_EL2.EC; names as the kernel's kvm_arm_exception_class has them.
 * kvm_exit has 0 there for an interrupt, too,
 * which is nearly always what it is. */
static const struct exit_reason classes[] = {
	[0x00] = {"IRQ_OR_UNKNOWN", MEANS_INTERRUPT},
	[0x01] = {"WFx", MEANS_HALT},
	[0x03] = {"CP15_32", 0},
	[0x04] = {"CP15_64", 0},
	[0x05] = {"CP14_MR", 0},
	[0x06] = {"CP14_LS", 0},
	[0x07] = {"FP_ASIMD", 0},
	[0x08] = {"CP10_ID", 0},
	[0x09] = {"PAC", 0},
	[0x0c] = {"CP14_64", 0},
	[0x15] = {"SVC64", 0},
	[0x16] = {"HVC64", MEANS_HYPERCALL},
	[0x17] = {"SMC64", 0},
	[0x18] = {"SYS64", 0},
	[0x19] = {"SVE", 0},
	[0x1a] = {"ERET", 0}, /* to a guest, a process or itself: kvm_nested_eret says which */
	[0x1f] = {"IMP_DEF", 0},
	[0x20] = {"IABT_LOW", 0},
	[0x21] = {"IABT_CUR", 0},
	[0x22] = {"PC_ALIGN", 0},
	[0x24] = {"DABT_LOW", MEANS_KICK},
	[0x25] = {"DABT_CUR", 0},
	[0x26] = {"SP_ALIGN", 0},
	[0x28] = {"FP_EXC32", 0},
	[0x2c] = {"FP_EXC64", 0},
	[0x2f] = {"SERROR", 0},
	[0x30] = {"BREAKPT_LOW", 0},
	[0x31] = {"BREAKPT_CUR", 0},
	[0x32] = {"SOFTSTP_LOW", 0},
	[0x33] = {"SOFTSTP_CUR", 0},
	[0x34] = {"WATCHPT_LOW", 0},
	[0x35] = {"WATCHPT_CUR", 0},
	[0x38] = {"BKPT32", 0},
	[0x3a] = {"VECTOR32", 0},
	[0x3c] = {"BRK64", 0},
};

static const struct exit_range ranges[] = {EXIT_RANGE(0, classes)};

const struct exit_numbers arm64_exits = {
	.ranges = ranges,
	.nr_ranges = ARRAY_SIZE(ranges),
	.hypercall = 0x16,
};
