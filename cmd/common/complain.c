/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/command.h"
#include "report/safe.h"

#include <stdarg.h>
#include <stdio.h>

enum exit_code complain(const struct invocation *inv, enum exit_code code, const char *fmt, ...)
{
	char text[1024], safe[1024]; /* names in it may come out of traces */
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "sonde %s: %s\n", inv->command->name, safe_text(safe, sizeof(safe), text));
	return code;
}
