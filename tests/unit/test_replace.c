/* SPDX-License-Identifier: Apache-2.0 */
/* Output that takes its place when it is good (base/replace.h). */
#include "base/replace.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_whole(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_holds(const char *path, const char *text)
{
	char found[16] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(found, sizeof(found), f));
	fclose(f);
	assert_string_equal(found, text);
}

/* Who may write in the folder knows what the output will be called, and puts a link there. */
static void output_goes_through_no_planted_link(void **state)
{
	char dir[] = "/tmp/sonde-replace-XXXXXX", victim[64], path[64], planted[64];
	struct replace r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(planted, sizeof(planted), "%s/out.part", dir);
	write_whole(victim, "victim");
	assert_int_equal(symlink(victim, planted), 0);
	assert_int_equal(replace_begin(&r, path, NULL), 0);
	write_whole(r.write_to, "output");
	assert_int_equal(replace_end(&r, true, NULL), 0);
	assert_holds(victim, "victim");
	assert_holds(path, "output");
	assert_int_not_equal(access(r.write_to, F_OK), 0);
	assert_int_equal(unlink(planted) | unlink(path) | unlink(victim) | rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_goes_through_no_planted_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
