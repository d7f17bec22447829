/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "source/syscalls.h"

static void numbers_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(syscall_name(0), "read");
	assert_string_equal(syscall_name(1), "write");
	assert_string_equal(syscall_name(59), "execve");
	assert_string_equal(syscall_name(231), "exit_group");
	assert_string_equal(syscall_name(257), "openat");
	assert_string_equal(syscall_name(435), "clone3");
}

static void other_numbers_have_none(void **state)
{
	(void)state;
	assert_null(syscall_name(-1));
	assert_null(syscall_name(INT64_MIN));
	assert_null(syscall_name(INT64_MAX));
	assert_null(syscall_name(1 << 30)); /* x32's range is not named */
	assert_null(syscall_name(400));	    /* a gap in the table */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_their_names),
		cmocka_unit_test(other_numbers_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
