/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_BPF_OPEN_H
#define RECORD_TRACERS_BPF_OPEN_H

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/error.h"

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

/*
 * Loads the program of @skeleton, which has been opened, maps its @ring into *@out, and attaches
 * it. What *@out holds is the caller's also when a later step fails; 0 or -errno.
 */
static inline int bpf_open_start(struct bpf_object_skeleton *skeleton, struct bpf_map *ring,
				 ring_buffer_sample_fn take, void *data, struct ring_buffer **out,
				 struct error *err)
{
	int ret = bpf_object__load_skeleton(skeleton);

	if (ret)
		return fail(err, ret, "the BPF program cannot be loaded: %s", bpf_open_advice(ret));
	*out = ring_buffer__new(bpf_map__fd(ring), take, data, NULL);
	if (!*out)
		return fail(err, -errno, "the BPF program's ring cannot be mapped: %s",
			    strerror(errno));
	ret = bpf_object__attach_skeleton(skeleton);
	if (ret)
		return fail(err, ret, "the BPF program cannot be attached: %s", strerror(-ret));
	return 0;
}

#endif
