/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"

#include <stdarg.h>
#include <stdio.h>

enum exit_code complain(const struct invocation *inv, enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "sonde %s: ", inv->command->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}
