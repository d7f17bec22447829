/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/vmm.h"
#include "record/base/buffer.h"
#include "record/host/qemu_option.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX 1024

int process_of(int tid)
{
	char path[64], text[1024];
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	read_small(AT_FDCWD, path, text, sizeof(text));
	p = strstr(text, "\nTgid:");
	return p ? atoi(p + 6) : tid;
}

int vmm_vcpu_of_thread(const char *comm)
{
	/* QEMU (with debug-threads=on), Firecracker, cloud-hypervisor, crosvm. */
	static const char *const forms[] = {"CPU %u/KVM%n", "fc_vcpu %u%n", "vcpu%u%n",
					    "crosvm_vcpu%u%n"};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		unsigned id;
		int n = 0;

		if (sscanf(comm, forms[i], &id, &n) == 1 && n && !comm[n])
			return (int)id;
	}
	return -1;
}

static bool base_name_has(const char *path, const char *part)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash + 1 : path, part) != NULL;
}

static const char *vmm_of(const char *program)
{
	static const char *const known[][2] = {
		{"qemu", "qemu"},
		{"kvm", "qemu"},
		{"firecracker", "firecracker"},
		{"cloud-hypervisor", "cloud-hypervisor"},
		{"crosvm", "crosvm"},
		{"lkvm", "kvmtool"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (base_name_has(program, known[i][0]))
			return known[i][1];
	}
	return "";
}

/* What is too long for @out is cut. */
static bool take_value(const char *option, const char *key, char *out, size_t room)
{
	char value[VALUE_MAX];

	if (!qemu_option(option, key, value, sizeof(value)))
		return false;
	snprintf(out, room, "%.*s", (int)room - 1, value);
	return true;
}

/* Takes option @word with its @value; both belong to the VMM's command line. */
static void take_option(struct vm_info *vm, const char *word, const char *value)
{
	if (!strcmp(word, "-name") || !strcmp(word, "--name")) {
		if (!take_value(value, "guest", vm->name, sizeof(vm->name)))
			take_value(value, "", vm->name, sizeof(vm->name));
	} else if (!strcmp(word, "-uuid") || !strcmp(word, "--uuid")) {
		snprintf(vm->uuid, sizeof(vm->uuid), "%.36s", value);
	} else if (!strcmp(word, "-smbios") && !*vm->uuid) {
		take_value(value, "uuid", vm->uuid, sizeof(vm->uuid));
	} else if (!strcmp(word, "--id")) {
		snprintf(vm->name, sizeof(vm->name), "%.127s", value);
	} else if (!strcmp(word, "-device") && strstr(value, "ivshmem-")) {
		vm->shares_memory = true;
	}
}

void vmm_read_command(struct vm_info *vm, const char *words, size_t len_bytes)
{
	const char *end = words + len_bytes;
	const char *before = NULL;

	for (const char *w = words; w < end; w += strlen(w) + 1) {
		const char *equals = strchr(w, '=');

		if (!before) {
			snprintf(vm->manager, sizeof(vm->manager), "%s", vmm_of(w));
		} else if (*before == '-') {
			take_option(vm, before, w);
		}
		if (before && !strncmp(w, "--id=", 5))
			take_option(vm, "--id", equals + 1);
		before = w;
	}
}

/* libvirt keeps a file with the PID of each of its VMs. */
static bool is_libvirts(const struct vm_info *vm)
{
	char path[256], text[32];

	if (!*vm->name || strchr(vm->name, '/'))
		return false;
	snprintf(path, sizeof(path), "/run/libvirt/qemu/%s.pid", vm->name);
	return read_small(AT_FDCWD, path, text, sizeof(text)) > 0 && atoi(text) == vm->pid;
}

static void take_thread(struct vm_info *vm, int tid, const char *comm)
{
	int id = vmm_vcpu_of_thread(comm);

	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		if (id == (int)vm->vcpus[i].id && !vm->vcpus[i].tid)
			vm->vcpus[i].tid = tid;
	}
}

static void find_threads(struct vm_info *vm)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", vm->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char file[280], comm[32];

		snprintf(file, sizeof(file), "%s/comm", entry->d_name);
		if (entry->d_name[0] != '.' && read_small(dirfd(dir), file, comm, sizeof(comm)) > 0)
			take_thread(vm, atoi(entry->d_name), comm);
	}
	if (dir)
		closedir(dir);
}

void vmm_describe(struct vm_info *vm)
{
	struct buffer words = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", vm->pid);
	if (buffer_file(&words, AT_FDCWD, path) > 0) {
		buffer_bytes(&words, "", 1);
		if (!words.error)
			vmm_read_command(vm, words.data, words.len_bytes - 1);
	}
	buffer_release(&words);
	if (is_libvirts(vm))
		snprintf(vm->manager, sizeof(vm->manager), "libvirt");
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		if (!vm->vcpus[i].tid) {
			find_threads(vm);
			break;
		}
	}
}
