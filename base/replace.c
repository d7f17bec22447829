/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* realpath() */
#include "base/replace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".part"

static bool is_direct(const struct replace *r)
{
	return !strcmp(r->path, r->write_to);
}

int replace_begin(struct replace *r, const char *path, struct error *err)
{
	struct stat st;
	bool there = !lstat(path, &st);
	size_t len = strlen(path);

	if (there && realpath(path, r->path))
		len = strlen(r->path);
	else if (len < sizeof(r->path))
		memcpy(r->path, path, len + 1);
	if (len + sizeof(SUFFIX) > sizeof(r->path))
		return fail(err, -ENAMETOOLONG, "cannot write %.200s...: its name is too long",
			    path);
	memcpy(r->write_to, r->path, len + 1);
	/* A link to nothing can only be followed by writing through it. */
	if (!there || (!stat(r->path, &st) && S_ISREG(st.st_mode)))
		memcpy(r->write_to + len, SUFFIX, sizeof(SUFFIX));
	return 0;
}

int replace_end(const struct replace *r, bool keep, struct error *err)
{
	struct stat st;
	int ret;

	if (keep) {
		if (is_direct(r) || !rename(r->write_to, r->path))
			return 0;
		ret = fail(err, -errno, "cannot rename %s to %s: %s", r->write_to, r->path,
			   strerror(errno));
		unlink(r->write_to);
		return ret;
	}
	/* Never a device, and never what stood there before. */
	if (!is_direct(r) && !lstat(r->write_to, &st) && S_ISREG(st.st_mode))
		unlink(r->write_to);
	return 0;
}
