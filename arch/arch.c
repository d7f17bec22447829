/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include <string.h>

#include "arch/tables.h"

static const struct {
	const char *name;
	enum arch arch;
} machines[] = {
	{"x86_64", ARCH_X86_64},
	{"amd64", ARCH_X86_64},
	{"aarch64", ARCH_ARM64},
	{"arm64", ARCH_ARM64},
};

static const struct names *const syscalls[NR_ARCHS] = {
	[ARCH_X86_64] = &x86_64_syscalls,
	[ARCH_ARM64] = &arm64_syscalls,
};

enum arch arch_of_machine(const char *machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		if (!strcmp(machine, machines[i].name))
			return machines[i].arch;
	}
	return ARCH_UNKNOWN;
}

/* The word behind the last '-', '.' or '+' that is one: "cloud-amd64", "el9.x86_64". */
enum arch arch_of_release(const char *release)
{
	size_t len = strlen(release);

	while (len && !strchr("-.+", release[len - 1]))
		len--;
	return arch_of_machine(release + len);
}

const char *arch_syscall_name(enum arch arch, int64_t nr)
{
	const struct names *n = arch < NR_ARCHS ? syscalls[arch] : NULL;

	return n && nr >= 0 && nr < n->nr ? n->names[nr] : NULL;
}

const char *arch_vector_name(enum arch arch, int64_t vector)
{
	return arch == ARCH_X86_64 ? x86_64_vector_name(vector) : NULL;
}
