/* SPDX-License-Identifier: Apache-2.0 */
#include "report/palette.h"

static const struct color colors[SONDE_NR_MODES] = {
	[SONDE_MODE_UNKNOWN] = {"unknown", "\033[38;5;255m", 255, 0xf4f4f2, '?'},
	[SONDE_MODE_IDLE] = {"idle", "\033[38;5;246m", 246, 0xb9bcbf, '.'},
	[SONDE_MODE_USER] = {"user", "\033[38;5;71m", 71, 0x59a35a, 'u'},
	[SONDE_MODE_SYSCALL] = {"system call", "\033[38;5;32m", 32, 0x2f7fc1, 's'},
	[SONDE_MODE_IRQ] = {"interrupt", "\033[38;5;166m", 166, 0xd9622b, 'i'},
	[SONDE_MODE_SOFTIRQ] = {"soft interrupt", "\033[38;5;178m", 178, 0xe0a526, 'x'},
	[SONDE_MODE_HYPERVISOR] = {"hypervisor", "\033[38;5;97m", 97, 0x8d5fb3, 'h'},
	[SONDE_MODE_GUEST] = {"guest, not traced", "\033[38;5;73m", 73, 0x5fb3ae, 'g'},
	[SONDE_MODE_KERNEL] = {"kernel", "\033[38;5;25m", 25, 0x1f5a96, 'k'},
	[SONDE_MODE_TASK] = {"task", "\033[38;5;107m", 107, 0x8fae5d, 't'},
};

const struct color *mode_color(enum sonde_mode mode)
{
	return &colors[(unsigned)mode < SONDE_NR_MODES ? mode : SONDE_MODE_UNKNOWN];
}

/* In the order of model/context.h's enum vcpu_state. */
static const struct color vcpu_colors[] = {
	{"", "", 0, 0xffffff, ' '},
	{"unknown", "\033[38;5;255m", 255, 0xf4f4f2, '?'},
	{"on a CPU", "\033[38;5;151m", 151, 0xa9cfa9, '#'},
	{"preempted", "\033[38;5;160m", 160, 0xd03a36, '!'},
	{"waiting", "\033[38;5;187m", 187, 0xf0e0b0, '~'},
	{"gone", "\033[38;5;238m", 238, 0x55585b, '-'},
};

const struct color *vcpu_color(uint32_t state)
{
	return &vcpu_colors[state < sizeof(vcpu_colors) / sizeof(*vcpu_colors) ? state : 1];
}

/* In the order of model/context.h's enum thread_state. */
static const struct color thread_colors[] = {
	{"", "", 0, 0xffffff, ' '},
	{"unknown", "\033[38;5;255m", 255, 0xf4f4f2, '?'},
	{"running", "\033[38;5;71m", 71, 0x59a35a, '#'},
	{"runnable", "\033[38;5;178m", 178, 0xe0a526, '!'},
	{"sleeping", "\033[38;5;254m", 254, 0xe6e9ec, '.'},
	{"blocked", "\033[38;5;132m", 132, 0xc06a84, '~'},
	{"stopped", "\033[38;5;247m", 247, 0x9aa1a8, 's'},
	{"dead", "\033[38;5;238m", 238, 0x55585b, '-'},
};

const struct color *thread_color(uint32_t state)
{
	return &thread_colors[state < sizeof(thread_colors) / sizeof(*thread_colors) ? state : 1];
}
