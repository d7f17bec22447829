/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* realpath() */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX_BYTES sizeof(".0123456789abcdef.part")

static bool is_direct(const struct replace *r)
{
	return !strcmp(r->path, r->write_to);
}

/* "PATH.RANDOM.part"; of a name that is too long with that, its begin. */
static int name_part(struct replace *r, size_t len, struct error *err)
{
	const char *slash = strrchr(r->path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - r->path) : 0;
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail(err, -errno, "cannot write %.200s: no random numbers", r->path);
	if (len - folder + SUFFIX_BYTES - 1 > NAME_MAX)
		len = folder + NAME_MAX + 1 - SUFFIX_BYTES;
	snprintf(r->write_to + len, SUFFIX_BYTES, ".%016" PRIx64 ".part", random);
	return 0;
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
	if (len + SUFFIX_BYTES > sizeof(r->path))
		return fail(err, -ENAMETOOLONG, "cannot write %.200s...: its name is too long",
			    path);
	memcpy(r->write_to, r->path, len + 1);
	/* A link to nothing can only be followed by writing through it. */
	if (!there || (!stat(r->path, &st) && S_ISREG(st.st_mode)))
		return name_part(r, len, err);
	return 0;
}

/* On the disk before it takes the other's place.  EINVAL: a file system that cannot be told to. */
static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int ret = fd < 0 || (fsync(fd) && errno != EINVAL) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

int replace_end(const struct replace *r, bool keep, struct error *err)
{
	struct stat st;
	int ret;

	if (keep && is_direct(r))
		return 0;
	if (keep) {
		ret = sync_file(r->write_to);
		if (!ret && rename(r->write_to, r->path))
			ret = -errno;
		if (!ret)
			return 0;
		ret = fail(err, ret, "cannot rename %s to %s: %s", r->write_to, r->path,
			   strerror(-ret));
		unlink(r->write_to);
		return ret;
	}
	/* Never a device, and never what stood there before. */
	if (!is_direct(r) && !lstat(r->write_to, &st) && S_ISREG(st.st_mode))
		unlink(r->write_to);
	return 0;
}
