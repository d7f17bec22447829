/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hypercalls call NR COUNT     makes COUNT hypercalls with the number NR, from user space; says
 * what they returned hypercalls leave FIRST LAST  leaves nested guests' hypercalls to the host:
 * those whose numbers have FIRST to LAST in their bits 48 to 63 (MSR_KVM_NESTED_HYPERCALL of
 * kernel/patches); 0 0 takes it back.  Needs root and the module msr.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSR_KVM_NESTED_HYPERCALL 0x4b564d09
#define MSR_DEVICE "/dev/cpu/0/msr"

/* Which of the two instructions the CPU has follows from its maker; all but Intel's took AMD's. */
static bool has_vmmcall(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0, &a, &b, &c, &d) && b != signature_INTEL_ebx;
}

static int64_t hypercall(bool vmmcall, uint64_t nr, uint64_t a0)
{
	int64_t ret = (int64_t)nr;

	if (vmmcall)
		__asm__ volatile("vmmcall"
				 : "+a"(ret)
				 : "b"(a0), "c"(1), "d"(2), "S"(3)
				 : "memory");
	else
		__asm__ volatile("vmcall" : "+a"(ret) : "b"(a0), "c"(1), "d"(2), "S"(3) : "memory");
	return ret;
}

static int call(uint64_t nr, uint64_t count)
{
	bool vmmcall = has_vmmcall();
	int64_t ret = 0;

	for (uint64_t i = 0; i < count; i++)
		ret = hypercall(vmmcall, nr, i);
	printf("{\"nr\": %" PRIu64 ", \"calls\": %" PRIu64 ", \"last\": %" PRId64 "}\n", nr, count,
	       ret);
	return 0;
}

static int leave(uint64_t first, uint64_t last)
{
	uint64_t value = first || last ? last << 32 | first << 16 | 1 : 0, now = 0;
	int fd = open(MSR_DEVICE, O_RDWR);

	if (fd < 0) {
		fprintf(stderr, "hypercalls: %s: %s\n", MSR_DEVICE, strerror(errno));
		return 1;
	}
	if (pwrite(fd, &value, sizeof(value), MSR_KVM_NESTED_HYPERCALL) != sizeof(value) ||
	    pread(fd, &now, sizeof(now), MSR_KVM_NESTED_HYPERCALL) != sizeof(now)) {
		fprintf(stderr,
			"hypercalls: the host does not take hypercalls of nested guests (%s)\n",
			strerror(errno));
		return 1;
	}
	close(fd);
	printf("{\"msr\": \"0x%" PRIx64 "\"}\n", now);
	return now != value;
}

int main(int argc, char **argv)
{
	bool calls = argc == 4 && strcmp(argv[1], "call") == 0;

	if (!calls && (argc != 4 || strcmp(argv[1], "leave") != 0)) {
		fprintf(stderr, "usage: hypercalls call NR COUNT | hypercalls leave FIRST LAST\n");
		return 2;
	}
	uint64_t one = strtoull(argv[2], NULL, 0), two = strtoull(argv[3], NULL, 0);

	return calls ? call(one, two) : leave(one, two);
}
