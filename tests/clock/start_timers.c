/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has KVM start a timer for each of so many TSC deadlines of a vCPU that never runs, and prints the
 * deadlines as values of this machine's TSC, one a line, between two lines
 *
 *	clocks TSC CLOCK_MONOTONIC WIDTH
 *
 * with these clocks read together, within WIDTH cycles: start_timers COUNT.  With COUNT 0 it only
 * waits, a second.  Exit status 77: there is no KVM here that can do it.
 */
#define SKIP 77

#ifndef __x86_64__
int main(void)
{
	return SKIP;
}
#else

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define READINGS 20000
#define CPUID_DEADLINE (1u << 24)
#define APIC_SPIV 0xf0
#define APIC_LVTT 0x320
#define SPIV_ON 0x1ff
#define LVTT_DEADLINE 0x400ec
#define MSR_TSC_DEADLINE 0x6e0
#define CPUID_ENTRIES 256

static long need(long result, const char *what)
{
	if (result < 0) {
		printf("%s: %s\n", what, strerror(errno));
		exit(SKIP);
	}
	return result;
}

static uint64_t tsc(void)
{
	unsigned aux;
	uint64_t t = __rdtscp(&aux);

	_mm_lfence();
	return t;
}

static void print_clocks(void)
{
	uint64_t best = UINT64_MAX, at = 0, mono = 0;

	for (unsigned i = 0; i < READINGS; i++) {
		struct timespec t;
		uint64_t begin = tsc(), width;

		clock_gettime(CLOCK_MONOTONIC, &t);
		width = tsc() - begin;
		if (width >= best)
			continue;
		best = width;
		at = begin + width / 2;
		mono = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	}
	printf("clocks %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", at, mono, best);
	fflush(stdout);
}

/* A vCPU whose APIC timer takes TSC deadlines; @offset: its TSC less this machine's. */
static int make_vcpu(uint64_t *offset, uint64_t *khz)
{
	struct kvm_cpuid2 *ids =
		calloc(1, sizeof(*ids) + CPUID_ENTRIES * sizeof(struct kvm_cpuid_entry2));
	struct kvm_device_attr attr = {
		.group = KVM_VCPU_TSC_CTRL,
		.attr = KVM_VCPU_TSC_OFFSET,
		.addr = (uintptr_t)offset,
	};
	int kvm = (int)need(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	int vm = (int)need(ioctl(kvm, KVM_CREATE_VM, 0), "no VM");
	struct kvm_lapic_state apic;
	int vcpu;

	need(ids ? ioctl(vm, KVM_CREATE_IRQCHIP, 0) : -1, "no APIC");
	vcpu = (int)need(ioctl(vm, KVM_CREATE_VCPU, 0), "no vCPU");
	ids->nent = CPUID_ENTRIES;
	need(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, ids), "no CPUID");
	for (unsigned i = 0; i < ids->nent; i++)
		ids->entries[i].ecx |= ids->entries[i].function == 1 ? CPUID_DEADLINE : 0;
	need(ioctl(vcpu, KVM_SET_CPUID2, ids), "CPUID was refused");
	need(ioctl(vcpu, KVM_GET_LAPIC, &apic), "the APIC cannot be read");
	memcpy(&apic.regs[APIC_SPIV], &(uint32_t){SPIV_ON}, sizeof(uint32_t));
	memcpy(&apic.regs[APIC_LVTT], &(uint32_t){LVTT_DEADLINE}, sizeof(uint32_t));
	need(ioctl(vcpu, KVM_SET_LAPIC, &apic), "the APIC was refused");
	need(ioctl(vcpu, KVM_GET_DEVICE_ATTR, &attr), "no TSC offset");
	*khz = (uint64_t)need(ioctl(vcpu, KVM_GET_TSC_KHZ, 0), "no rate of the TSC");
	free(ids);
	return vcpu;
}

/* Some soon, some late: whether rates differ would show. */
static void start(int vcpu, unsigned i, uint64_t offset, uint64_t khz)
{
	static const unsigned left_us[] = {300, 1000, 3000, 9000};
	uint64_t room[(sizeof(struct kvm_msrs) + sizeof(struct kvm_msr_entry)) / sizeof(uint64_t)];
	struct kvm_msrs *msrs = (struct kvm_msrs *)room;
	uint64_t deadline = tsc() + left_us[i % 4] * khz / 1000;

	memset(room, 0, sizeof(room));
	msrs->nmsrs = 1;
	msrs->entries[0].index = MSR_TSC_DEADLINE;
	msrs->entries[0].data = deadline + offset;
	if (need(ioctl(vcpu, KVM_SET_MSRS, msrs), "no deadline") != 1)
		exit(SKIP);
	printf("%" PRIu64 "\n", deadline);
	usleep(100 + i * 37 % 700);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t offset = 0, khz = 0;
	int vcpu = count ? make_vcpu(&offset, &khz) : -1;

	print_clocks();
	for (unsigned i = 0; i < count; i++)
		start(vcpu, i, offset, khz);
	if (!count)
		usleep(1000000);
	print_clocks();
	return 0;
}

#endif
