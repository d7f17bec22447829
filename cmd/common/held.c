/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/held.h"
#include "base/unnamed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

FILE *held_begin(const struct invocation *inv)
{
	FILE *held = NULL;
	int fd;

	if (!inv->command->whole || (!is_json(inv) && !is_csv(inv)))
		return NULL;
	fd = unnamed_file("the answer", NULL);
	if (fd >= 0)
		held = fdopen(fd, "w+");
	if (fd >= 0 && !held)
		close(fd);
	return held;
}

/* Whether all of it could be read again; that it was written is main()'s to see. */
static bool give_out(FILE *held)
{
	char piece[1 << 16];
	size_t n;

	rewind(held);
	while ((n = fread(piece, 1, sizeof(piece), held)) && fwrite(piece, 1, n, stdout) == n)
		;
	return !ferror(held);
}

enum exit_code held_end(const struct invocation *inv, FILE *held, enum exit_code code)
{
	bool kept;

	if (!held)
		return code;
	kept = !fflush(held) && !ferror(held);
	if (kept && (code == EXIT_DONE || code == EXIT_UNSOUND))
		kept = give_out(held);
	if (!kept)
		code = complain(inv, EXIT_FAILED,
				"cannot keep the answer: %s; TMPDIR names another directory",
				strerror(errno));
	fclose(held);
	return code;
}
