/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/not_trace.h"
#include "history/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC_MAX 6

/* With what it is packed, and what unpacks it; NULL: with none of these. */
static const char *const *packed_with(const char *path)
{
	static const char *const packers[][3] = {{"\x1f\x8b", "gzip", "gunzip"},
						 {"\xfd"
						  "7zXZ",
						  "xz", "unxz"},
						 {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
						 {"BZh", "bzip2", "bunzip2"},
						 {"PK\x03\x04", "zip", "unzip"}};
	char head[MAGIC_MAX] = "";
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(head, 1, sizeof(head), file) : 0;

	if (file)
		fclose(file);
	for (size_t i = 0; i < sizeof(packers) / sizeof(*packers); i++) {
		size_t wanted = strlen(packers[i][0]);

		if (len >= wanted && !memcmp(head, packers[i][0], wanted))
			return packers[i];
	}
	return NULL;
}

int not_trace(const char *path, struct error *err)
{
	const char *const *packer;
	struct stat st;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fail(err, -EINVAL,
			    "%s is a %s, not a trace: a trace is a file or a directory, for it is "
			    "read more than once",
			    path,
			    S_ISFIFO(st.st_mode)   ? "pipe"
			    : S_ISSOCK(st.st_mode) ? "socket"
						   : "device");
	if (history_probe(path))
		return fail(err, -EINVAL,
			    "%s is a history, not a trace: sonde analyze made it of traces, and "
			    "sonde report reads it",
			    path);
	packer = packed_with(path);
	if (packer)
		return fail(err, -EINVAL,
			    "%s is not a trace but packed with %s: unpack it first, with %s or tar",
			    path, packer[1], packer[2]);
	return fail(err, -EINVAL,
		    "%s is not a trace: no trace.dat or perf.data file, no directory with a CTF "
		    "\"metadata\" file, and no ring of the module sonde_guest is in it",
		    path);
}
