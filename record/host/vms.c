/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fsopen() and others */
#include "record/host/vms.h"
#include "record/base/buffer.h"
#include "record/host/vmm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#define VCPUS_MAX 4096u
#define VMS_MAX 4096u

int debugfs_open(void)
{
	static const char path[] = "/sys/kernel/debug";
	struct statfs fs;
	int context, root;

	if (!statfs(path, &fs) && fs.f_type == DEBUGFS_MAGIC) {
		root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return root < 0 ? -errno : root;
	}
	context = fsopen("debugfs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	root = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0)
		       ? -1
		       : fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (root < 0)
		root = -errno;
	close(context);
	return root;
}

void vm_source_open(struct vm_source *s)
{
	int root = debugfs_open();

	*s = (struct vm_source){.kvm_dir = -1};
	if (root < 0)
		return;
	s->kvm_dir = openat(root, "kvm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(root);
}

void vm_source_close(struct vm_source *s)
{
	if (s->kvm_dir >= 0)
		close(s->kvm_dir);
	s->kvm_dir = -1;
}

/* opendir() on a directory below @dir, NULL when there is none. */
static DIR *open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* "PID-FD", as KVM names a VM's directory. */
static bool is_vm_dir(const char *name, int *pid, int *fd)
{
	char end;

	return sscanf(name, "%d-%d%c", pid, fd, &end) == 2 && *pid > 0;
}

static bool is_vcpu_dir(const char *name, unsigned *id)
{
	char end;

	return sscanf(name, "vcpu%u%c", id, &end) == 1;
}

/* A number that changes when a VM or a vCPU comes or goes. */
static uint64_t print_of(const struct vm_source *s)
{
	DIR *dir = s->kvm_dir < 0 ? NULL : open_dir(s->kvm_dir, ".");
	struct dirent *entry;
	uint64_t print = 1;
	int pid, fd;

	while (dir && (entry = readdir(dir))) {
		DIR *vm = is_vm_dir(entry->d_name, &pid, &fd) ? open_dir(s->kvm_dir, entry->d_name)
							      : NULL;
		uint64_t vcpus = 0;
		struct dirent *e;
		unsigned id;

		if (!vm)
			continue;
		while ((e = readdir(vm)))
			vcpus += is_vcpu_dir(e->d_name, &id);
		closedir(vm);
		print += ((uint64_t)pid << 40 | (uint64_t)fd << 20 | vcpus) * 0x9e3779b97f4a7c15ull;
	}
	if (dir)
		closedir(dir);
	return print;
}

bool vm_source_changed(struct vm_source *s)
{
	return print_of(s) != s->print;
}

static struct vm_info *add_vm(struct vms *v, int pid, int fd)
{
	struct vm_info *grown;

	if (v->nr == VMS_MAX)
		return NULL;
	grown = reallocarray(v->list, v->nr + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	v->list = grown;
	grown[v->nr] = (struct vm_info){.pid = pid, .fd = fd};
	return &grown[v->nr++];
}

static struct vcpu_info *add_vcpu(struct vm_info *vm, unsigned id)
{
	struct vcpu_info *grown;

	if (vm->nr_vcpus == VCPUS_MAX)
		return NULL;
	grown = reallocarray(vm->vcpus, vm->nr_vcpus + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	vm->vcpus = grown;
	grown[vm->nr_vcpus] = (struct vcpu_info){.id = id};
	return &grown[vm->nr_vcpus++];
}

static bool read_number(int dir, const char *file, int64_t *out)
{
	char text[64];
	char *end;

	if (read_small(dir, file, text, sizeof(text)) <= 0)
		return false;
	errno = 0;
	/* Offsets are signed, ratios are not: both come through whole. */
	*out = text[0] == '-' ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
	return end != text && !errno;
}

static void read_vcpu(int vm_dir, const char *name, struct vcpu_info *c)
{
	int dir = openat(vm_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t number;

	if (dir < 0)
		return;
	if (read_number(dir, "pid", &number))
		c->tid = (int)number;
	c->offset_known = read_number(dir, "tsc-offset", &c->tsc_offset);
	if (read_number(dir, "tsc-scaling-ratio-frac-bits", &number) && number > 0 && number < 64) {
		c->tsc_ratio_bits = (unsigned)number;
		if (read_number(dir, "tsc-scaling-ratio", &number) &&
		    (uint64_t)number != 1ull << c->tsc_ratio_bits)
			c->tsc_ratio = (uint64_t)number;
	}
	close(dir);
}

static int by_id(const void *a, const void *b)
{
	const struct vcpu_info *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int read_vm(int kvm_dir, const char *name, struct vm_info *vm)
{
	DIR *dir = open_dir(kvm_dir, name);
	struct dirent *entry;
	unsigned id;
	int ret = 0;

	while (dir && !ret && (entry = readdir(dir))) {
		struct vcpu_info *c;

		if (!is_vcpu_dir(entry->d_name, &id))
			continue;
		c = add_vcpu(vm, id);
		if (c)
			read_vcpu(dirfd(dir), entry->d_name, c);
		else
			ret = -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return ret;
}

static int find_in_debugfs(struct vm_source *s, struct vms *out)
{
	DIR *dir = open_dir(s->kvm_dir, ".");
	struct dirent *entry;
	int ret = 0;
	int pid, fd;

	while (dir && !ret && (entry = readdir(dir))) {
		struct vm_info *vm;

		if (!is_vm_dir(entry->d_name, &pid, &fd))
			continue;
		vm = add_vm(out, process_of(pid), fd);
		ret = vm ? read_vm(s->kvm_dir, entry->d_name, vm) : -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return ret;
}

/* The open files of one process: VMs and, after each, its vCPUs. */
static int look_at_files(int pid, struct vms *out)
{
	char path[64], target[128];
	struct vm_info *vm = NULL;
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = open_dir(AT_FDCWD, path);
	while (dir && !ret && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		unsigned id;

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (!strncmp(target, "anon_inode:kvm-vm", 17)) {
			vm = add_vm(out, pid, atoi(entry->d_name));
			ret = vm ? 0 : -ENOMEM;
		} else if (vm && sscanf(target, "anon_inode:kvm-vcpu:%u", &id) == 1) {
			ret = add_vcpu(vm, id) ? 0 : -ENOMEM;
		}
	}
	if (dir)
		closedir(dir);
	return ret;
}

static int find_in_files(struct vms *out)
{
	DIR *dir = open_dir(AT_FDCWD, "/proc");
	struct dirent *entry;
	int ret = 0;

	while (dir && !ret && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid > 0)
			ret = look_at_files(pid, out);
	}
	if (dir)
		closedir(dir);
	return ret;
}

int vms_find(struct vm_source *s, struct vms *out)
{
	int ret;

	memset(out, 0, sizeof(*out));
	s->print = print_of(s);
	ret = s->kvm_dir >= 0 ? find_in_debugfs(s, out) : find_in_files(out);
	for (unsigned i = 0; i < out->nr; i++) {
		struct vm_info *vm = &out->list[i];

		if (vm->nr_vcpus)
			qsort(vm->vcpus, vm->nr_vcpus, sizeof(*vm->vcpus), by_id);
		vmm_describe(vm);
	}
	if (ret)
		vms_release(out);
	return ret;
}

void vms_release(struct vms *v)
{
	for (unsigned i = 0; i < v->nr; i++)
		free(v->list[i].vcpus);
	free(v->list);
	*v = (struct vms){0};
}

int vms_with_uuid(const struct vms *v, const char *uuid)
{
	int pid = 0;

	for (unsigned i = 0; i < v->nr && *uuid; i++) {
		if (strcasecmp(v->list[i].uuid, uuid) != 0)
			continue;
		if (pid && pid != v->list[i].pid)
			return -1;
		pid = v->list[i].pid;
	}
	return pid;
}

int vm_of_uuid(const char *uuid)
{
	struct vm_source source;
	struct vms vms;
	int pid = 0;

	if (!*uuid)
		return 0;
	vm_source_open(&source);
	if (!vms_find(&source, &vms)) {
		pid = vms_with_uuid(&vms, uuid);
		vms_release(&vms);
	}
	vm_source_close(&source);
	return pid;
}
