/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "arch/arch.h"

static void numbers_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 0), "read");
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 1), "write");
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 59), "execve");
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 231), "exit_group");
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 257), "openat");
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 435), "clone3");
}

/* Where both have a number, they mean different calls by it. */
static void each_architecture_has_its_own(void **state)
{
	(void)state;
	assert_string_equal(arch_syscall_name(ARCH_X86_64, 56), "clone");
	assert_string_equal(arch_syscall_name(ARCH_ARM64, 56), "openat");
	assert_string_equal(arch_syscall_name(ARCH_ARM64, 25), "fcntl");
	assert_string_equal(arch_syscall_name(ARCH_ARM64, 435), "clone3");
	assert_null(arch_syscall_name(ARCH_ARM64, 244)); /* where an architecture's own begin */
	assert_null(arch_syscall_name(ARCH_UNKNOWN, 56));
	assert_null(arch_syscall_name(NR_ARCHS, 56));
}

static void architectures_are_told_by_kernels_names(void **state)
{
	(void)state;
	assert_int_equal(arch_of_machine("aarch64"), ARCH_ARM64);
	assert_int_equal(arch_of_machine("riscv64"), ARCH_UNKNOWN);
	assert_int_equal(arch_of_machine(""), ARCH_UNKNOWN);
	assert_int_equal(arch_of_release("6.1.0-56-arm64"), ARCH_ARM64);
	assert_int_equal(arch_of_release("5.14.0-70.el9.x86_64"), ARCH_X86_64);
	assert_int_equal(arch_of_release("6.8.0-generic"), ARCH_UNKNOWN);
	assert_int_equal(arch_of_release(""), ARCH_UNKNOWN);
	assert_string_equal(arch_vector_name(ARCH_X86_64, 0xec), "local_timer");
	assert_null(arch_vector_name(ARCH_ARM64, 0xec));
}

static void other_numbers_have_none(void **state)
{
	(void)state;
	assert_null(arch_syscall_name(ARCH_X86_64, -1));
	assert_null(arch_syscall_name(ARCH_X86_64, INT64_MIN));
	assert_null(arch_syscall_name(ARCH_X86_64, INT64_MAX));
	assert_null(arch_syscall_name(ARCH_X86_64, 1 << 30)); /* x32's range is not named */
	assert_null(arch_syscall_name(ARCH_X86_64, 400));     /* a gap in the table */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_their_names),
		cmocka_unit_test(each_architecture_has_its_own),
		cmocka_unit_test(architectures_are_told_by_kernels_names),
		cmocka_unit_test(other_numbers_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
