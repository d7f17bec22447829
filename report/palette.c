/* SPDX-License-Identifier: Apache-2.0 */
#include "report/palette.h"
#include "query/counts.h"

static const struct color colors[QUERY_NR_MODES] = {
	[SONDE_MODE_UNKNOWN] = {"unknown", "\033[38;5;255m", 255, 255, 0xf4f4f2, '?'},
	[SONDE_MODE_IDLE] = {"idle", "\033[38;5;246m", 246, 246, 0xb9bcbf, '.'},
	[SONDE_MODE_USER] = {"user", "\033[38;5;71m", 71, 36, 0x59a35a, 'u'},
	[SONDE_MODE_SYSCALL] = {"system call", "\033[38;5;32m", 32, 74, 0x2f7fc1, 's'},
	[SONDE_MODE_IRQ] = {"hardirq", "\033[38;5;166m", 166, 166, 0xd9622b, 'i'},
	[SONDE_MODE_SOFTIRQ] = {"softirq", "\033[38;5;178m", 178, 214, 0xe0a526, 'x'},
	[SONDE_MODE_HYPERVISOR] = {"hypervisor", "\033[38;5;97m", 97, 175, 0x8d5fb3, 'h'},
	[SONDE_MODE_GUEST] = {"guest, not traced", "\033[38;5;73m", 73, 116, 0x5fb3ae, 'g'},
	[SONDE_MODE_KERNEL] = {"kernel", "\033[38;5;25m", 25, 25, 0x1f5a96, 'k'},
	[SONDE_MODE_TASK] = {"task", "\033[38;5;107m", 107, 143, 0x8fae5d, 't'},
};

const struct color *mode_color(enum sonde_mode mode)
{
	return &colors[(unsigned)mode < QUERY_NR_MODES ? mode : SONDE_MODE_UNKNOWN];
}

/* The second set is after Okabe and Ito, as the page's is.  States are in the order of
 * model/context.h's enum vcpu_state. */
static const struct color vcpu_colors[] = {
	{"", "", 0, 0, 0xffffff, ' '},
	{"unknown", "\033[38;5;255m", 255, 255, 0xf4f4f2, '?'},
	{"on a CPU", "\033[38;5;151m", 151, 116, 0xa9cfa9, '#'},
	{"preempted", "\033[38;5;160m", 160, 88, 0xd03a36, '!'},
	{"waiting", "\033[38;5;187m", 187, 187, 0xf0e0b0, '~'},
	{"gone", "\033[38;5;238m", 238, 238, 0x55585b, '-'},
};

const struct color *vcpu_color(uint32_t state)
{
	return &vcpu_colors[state < sizeof(vcpu_colors) / sizeof(*vcpu_colors) ? state : 1];
}

/* In the order of docs/formats/schema.md: threads/<row>/state. */
static const struct color thread_colors[] = {
	{"", "", 0, 0, 0xffffff, ' '},
	{"unknown", "\033[38;5;255m", 255, 255, 0xf4f4f2, '?'},
	{"running", "\033[38;5;71m", 71, 36, 0x59a35a, '#'},
	{"runnable", "\033[38;5;227m", 227, 227, 0xffe94a, '!'},
	{"sleeping", "\033[38;5;187m", 187, 187, 0xe6e9ec, '~'},
	{"blocked", "\033[38;5;132m", 132, 54, 0xc06a84, 'b'},
	{"stopped", "\033[38;5;243m", 243, 243, 0x9aa1a8, '='},
	{"dead", "\033[38;5;238m", 238, 238, 0x55585b, '-'},
};

const struct color *thread_color(uint32_t state)
{
	return &thread_colors[state < sizeof(thread_colors) / sizeof(*thread_colors) ? state : 1];
}
