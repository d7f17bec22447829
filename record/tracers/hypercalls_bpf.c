/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/hypercalls_bpf.h"
#include "channel/hypercalls.h"
#include "channel/vm_limits.h"
#include "gen/hypertrace.skel.h"
#include "record/tracers/bpf_open.h"
#include "record/host/tasks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hypercalls_bpf {
	struct hypertrace_skel *skel;
	struct ring_buffer *ring;
	void (*take)(void *data, const struct hc_record *r);
	void *data;
	uint64_t unsaid;   /* skipped calls that no record could tell of */
	bool is_elsewhere; /* processes have other numbers here than in the kernel */
};

static int take_record(void *data, void *record, size_t len_bytes)
{
	struct hypercalls_bpf *b = data;

	if (len_bytes != sizeof(struct hc_record))
		return 0;
	b->take(b->data, record);
	return 0;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* A module without such a file is part of the kernel, and the kernel's BTF has its types. */
static bool lacks_btf(const char *initstate, const char *btf)
{
	return !exists("/sys/kernel/btf/vmlinux") || (exists(initstate) && !exists(btf));
}

static bool is_vmx(void)
{
	return !exists("/sys/module/kvm_amd") && exists("/sys/module/kvm_intel");
}

/* Without EPT, the page table that the CPU uses is one of KVM's own. */
static bool has_ept(void)
{
	FILE *f = fopen("/sys/module/kvm_intel/parameters/ept", "r");
	int c = f ? fgetc(f) : 'Y';

	if (f)
		fclose(f);
	return c != 'N';
}

/* AMD's CPUs keep a guest's CR3 in memory that the program can read; Intel's need a module. */
const char *hypercalls_bpf_no_spaces(void)
{
	if (is_vmx()) {
		if (!has_ept())
			return "kvm_intel runs without EPT";
		if (!exists("/sys/module/sonde_vmx"))
			return "on Intel's CPUs the module sonde_vmx reads them, which is not "
			       "loaded";
		if (lacks_btf("/sys/module/kvm_intel/initstate", "/sys/kernel/btf/kvm_intel"))
			return "this kernel's kvm_intel has no BTF (CONFIG_DEBUG_INFO_BTF_MODULES)";
		return NULL;
	}
	if (!exists("/sys/module/kvm_amd"))
		return "no KVM for this machine's CPUs is loaded";
	if (lacks_btf("/sys/module/kvm_amd/initstate", "/sys/kernel/btf/kvm_amd"))
		return "this kernel's kvm_amd has no BTF (CONFIG_DEBUG_INFO_BTF_MODULES)";
	return NULL;
}

static int open_all(struct hypercalls_bpf *b, unsigned tasks, uint32_t calls_per_s,
		    struct error *err)
{
	bool folds = tasks & HYPERCALLS_FOLD, spaces = tasks & HYPERCALLS_SPACES;

	b->skel = hypertrace_skel__open();
	if (!b->skel)
		return fail(err, -errno, "the BPF program cannot be opened: %s", strerror(errno));
	bpf_map__set_max_entries(b->skel->maps.ring, HC_RING_BYTES);
	b->skel->rodata->wake_bytes = HC_RING_BYTES / 4;
	b->skel->rodata->records_most = (calls_per_s + VM_WINDOWS_PER_S - 1) / VM_WINDOWS_PER_S;
	b->skel->rodata->folds_calls = folds;
	b->skel->rodata->tells_spaces = spaces;
	bpf_program__set_autoload(b->skel->progs.on_exit, folds || !is_vmx());
	bpf_program__set_autoload(b->skel->progs.on_vmx_exit, spaces && is_vmx());
	bpf_program__set_autoload(b->skel->progs.on_hypercall, folds);
	bpf_program__set_autoload(b->skel->progs.on_entry, folds);
	return bpf_open_start(b->skel->skeleton, b->skel->maps.ring, take_record, b, &b->ring, err);
}

int hypercalls_bpf_open(struct hypercalls_bpf **out, unsigned tasks, uint32_t calls_per_s,
			void (*take)(void *data, const struct hc_record *r), void *data,
			struct error *err)
{
	struct hypercalls_bpf *b = calloc(1, sizeof(*b));
	int ret;

	*out = NULL;
	if (!b)
		return fail(err, -ENOMEM, "out of memory");
	b->take = take;
	b->data = data;
	bpf_open_quietly();
	b->is_elsewhere = in_pid_namespace();
	ret = open_all(b, tasks, calls_per_s, err);
	if (ret) {
		hypercalls_bpf_close(b);
		return ret;
	}
	*out = b;
	return 0;
}

void hypercalls_bpf_poll(struct hypercalls_bpf *b, int timeout_ms)
{
	ring_buffer__poll(b->ring, timeout_ms);
	/* What the program did not find worth waking us for. */
	ring_buffer__consume(b->ring);
}

bool hypercalls_bpf_knows_exits(const struct hypercalls_bpf *b)
{
	return b->skel->bss->knows_exits;
}

int hypercalls_bpf_watch(struct hypercalls_bpf *b, uint64_t rip)
{
	uint8_t one = 1;
	int ret = bpf_map__update_elem(b->skel->maps.fold_sites, &rip, sizeof(rip), &one,
				       sizeof(one), BPF_NOEXIST);

	if (!ret)
		b->skel->bss->nr_sites++;
	return ret;
}

void hypercalls_bpf_forget(struct hypercalls_bpf *b, uint64_t rip)
{
	if (!bpf_map__delete_elem(b->skel->maps.fold_sites, &rip, sizeof(rip), 0))
		b->skel->bss->nr_sites--;
}

static void tell_skipped(struct hypercalls_bpf *b, uint64_t key)
{
	uint32_t nr[VM_USER_CALLS];
	struct hc_record r;
	struct vm_limits vm;
	unsigned kind = 0;

	if (bpf_map__lookup_elem(b->skel->maps.vms, &key, sizeof(key), &vm, sizeof(vm), 0))
		return;
	for (unsigned i = 0; i < VM_USER_CALLS; i++)
		nr[i] = vm_limits_untold(&vm, i);
	while (kind < VM_USER_CALLS && !nr[kind])
		kind++;
	if (kind == VM_USER_CALLS)
		return;
	key |= kind;
	if (bpf_map__lookup_elem(b->skel->maps.skipped, &key, sizeof(key), &r, sizeof(r), 0)) {
		b->unsaid += (uint64_t)nr[VM_FORGED] + nr[VM_MARK];
		return;
	}
	/* The record is one of those that it counts. */
	vm.skipped[kind]--;
	r.skipped = vm_limits_skipped(&vm);
	b->take(b->data, &r);
}

static void forget_vm(struct hypercalls_bpf *b, uint64_t key)
{
	bpf_map__delete_elem(b->skel->maps.vms, &key, sizeof(key), 0);
	for (uint64_t kind = 0; kind < VM_USER_CALLS; kind++) {
		uint64_t its = key | kind;

		bpf_map__delete_elem(b->skel->maps.skipped, &its, sizeof(its), 0);
	}
}

void hypercalls_bpf_skipped(struct hypercalls_bpf *b, bool is_end)
{
	const struct bpf_map *map = b->skel->maps.vms;
	uint64_t key, next;
	bool more = !bpf_map__get_next_key(map, NULL, &key, sizeof(key));

	for (; more; key = next) {
		bool has_ended = !b->is_elsewhere && kill((pid_t)(key >> 32), 0) && errno == ESRCH;

		more = !bpf_map__get_next_key(map, &key, &next, sizeof(next));
		if (has_ended || is_end)
			tell_skipped(b, key);
		if (has_ended)
			forget_vm(b, key);
	}
}

uint64_t hypercalls_bpf_lost(const struct hypercalls_bpf *b)
{
	return b->skel->bss->records_lost + b->unsaid;
}

uint64_t hypercalls_bpf_over(const struct hypercalls_bpf *b)
{
	return b->skel->bss->records_over;
}

void hypercalls_bpf_close(struct hypercalls_bpf *b)
{
	if (!b)
		return;
	if (b->skel)
		hypertrace_skel__detach(b->skel);
	ring_buffer__free(b->ring);
	hypertrace_skel__destroy(b->skel);
	free(b);
}
