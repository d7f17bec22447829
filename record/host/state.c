/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/state.h"
#include "record/host/boot_trace.h"
#include "record/host/clocks.h"
#include "record/host/state_line.h"
#include "record/host/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define STATE_VERSION 1

void product_uuid(char *out, size_t room)
{
	read_small(AT_FDCWD, "/sys/class/dmi/id/product_uuid", out, room);
}

/* Who runs this machine: "none" for a physical one. */
static const char *hypervisor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	static const char *const known[][2] = {
		{"KVMKVMKVM", "kvm"},	    {"TCGTCGTCGTCG", "tcg"}, {"Microsoft Hv", "hyper-v"},
		{"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xen"},
	};
	unsigned eax, ebx, ecx, edx;
	char name[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 31))
		return "none";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(name, known[i][0]))
			return known[i][1];
	}
	return "other";
#else
	return "";
#endif
}

static void write_begin(struct line *l, const struct state_block *b)
{
	char text[256];
	struct utsname u;

	uname(&u);
	line_begin(l, "begin");
	line_number(l, "version", STATE_VERSION);
	line_text(l, "cause", b->cause);
	line_text(l, "hostname", u.nodename);
	read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text));
	line_text(l, "boot_id", text);
	product_uuid(text, sizeof(text));
	line_text(l, "product_uuid", text);
	line_text(l, "release", u.release);
	line_number(l, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	read_small(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof(text));
	line_text(l, "online", text);
	line_text(l, "hypervisor", hypervisor());
	read_small(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   text, sizeof(text));
	line_text(l, "clocksource", text);
	if (b->tsc_khz)
		line_number(l, "tsc_khz", b->tsc_khz);
	line_end(l);
}

static void write_clock(struct line *l)
{
	struct clock_reading now;

	clock_read(&now);
	line_begin(l, "clock");
	if (now.tsc)
		line_number(l, "tsc", now.tsc);
	line_signed(l, "mono", now.mono);
	line_signed(l, "boot", now.boot);
	line_signed(l, "real", now.real);
	if (now.tsc)
		line_number(l, "width", now.width);
	line_end(l);
}

static void write_vm(struct line *l, unsigned number, const struct vm_info *vm)
{
	line_begin(l, "vm");
	line_number(l, "vm", number);
	line_signed(l, "pid", vm->pid);
	line_text(l, "name", vm->name);
	line_text(l, "uuid", vm->uuid);
	line_text(l, "manager", vm->manager);
	line_end(l);
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu_info *c = &vm->vcpus[i];

		line_begin(l, "vcpu");
		line_number(l, "vm", number);
		line_number(l, "vcpu", c->id);
		if (c->tid)
			line_signed(l, "tid", c->tid);
		if (c->offset_known)
			line_signed(l, "tsc_offset", c->tsc_offset);
		if (c->tsc_ratio) {
			line_number(l, "tsc_ratio", c->tsc_ratio);
			line_number(l, "tsc_ratio_bits", c->tsc_ratio_bits);
		}
		line_end(l);
	}
}

/* "cpuN user nice system idle iowait irq softirq steal guest guest_nice" */
static void write_stat(struct line *l)
{
	static const char *const names[] = {"user", "nice",    "system", "idle",  "iowait",
					    "irq",  "softirq", "steal",	 "guest", "guest_nice"};
	FILE *file = fopen("/proc/stat", "re");
	char text[512];

	while (file && fgets(text, sizeof(text), file)) {
		char *p = text;

		if (strncmp(text, "cpu", 3))
			break;
		if (text[3] == ' ')
			continue;
		line_begin(l, "stat");
		line_number(l, "cpu", strtoul(p + 3, &p, 10));
		for (size_t i = 0; i < ARRAY_SIZE(names) && *p == ' '; i++)
			line_number(l, names[i], strtoull(p, &p, 10));
		line_number(l, "hz", (uint64_t)sysconf(_SC_CLK_TCK));
		line_end(l);
	}
	if (file)
		fclose(file);
}

/* All that is known of this machine, not only what has changed. */
static bool is_whole(const struct state_block *b)
{
	return strcmp(b->cause, "vm") && strcmp(b->cause, "clock") && strcmp(b->cause, "boot");
}

/* @nr_tasks: how many lines there are. */
static int write_tasks(struct line *l, const struct state_block *b, unsigned *nr_tasks)
{
	struct task_walk walk;
	int ret = task_walk_open(&walk, l, b->comms);

	if (!ret && is_whole(b)) {
		ret = task_walk_all(&walk);
	} else {
		for (unsigned i = 0; i < b->vms->nr && !ret; i++)
			ret = task_walk_process(&walk, b->vms->list[i].pid);
	}
	*nr_tasks = walk.nr_tasks;
	task_walk_release(&walk);
	return ret;
}

int state_write(const struct state_block *b, struct error *err)
{
	struct line l = {.fd = b->fd};
	unsigned nr_tasks = 0;
	int ret = 0;

	write_begin(&l, b);
	write_clock(&l);
	for (unsigned i = 0; b->vms && i < b->vms->nr; i++)
		write_vm(&l, i, &b->vms->list[i]);
	if (b->vms)
		ret = write_tasks(&l, b, &nr_tasks);
	if (is_whole(b))
		write_stat(&l);
	if (!strcmp(b->cause, "boot"))
		ret = booted_write(&l, err);
	line_begin(&l, "end");
	line_text(&l, "cause", b->cause);
	line_number(&l, "tasks", nr_tasks);
	line_end(&l);
	if (l.error)
		return fail(err, l.error,
			    "cannot write the state of this machine into the trace: %s",
			    strerror(-l.error));
	if (ret == -ENOTSUP)
		return fail(err, ret,
			    "this program runs in a PID namespace (a container): threads that are "
			    "there already cannot be named");
	if (ret && !strcmp(b->cause, "boot"))
		return ret; /* err has the reason */
	return ret ? fail(err, ret, "cannot read the threads of this machine: %s", strerror(-ret))
		   : 0;
}
