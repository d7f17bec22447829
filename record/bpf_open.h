/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BPF_OPEN_H
#define RECORD_BPF_OPEN_H

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

/* What the files that load BPF programs share: only those include it. */

static inline int bpf_print_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* What goes wrong is said by us. */
static inline void bpf_open_quietly(void)
{
	libbpf_set_print(bpf_print_nothing);
}

/* Why a program that uses KVM's types cannot be loaded. */
static inline const char *bpf_open_advice(int code)
{
	if (access("/sys/kernel/btf/vmlinux", F_OK))
		return "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)";
	if ((code == -EPERM || code == -EACCES) && geteuid())
		return "this user may not load BPF programs";
	if (code == -ESRCH || code == -ENOENT)
		return "this kernel's KVM has no BTF, or is not loaded";
	return strerror(-code);
}

#endif
