/* SPDX-License-Identifier: Apache-2.0 */
#include "record/base/walk_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void walk(int dir, walk_entry *entry, void *data, unsigned depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		int below;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		below = openat(dirfd(d), e->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			if (depth < WALK_DEPTH_MAX)
				walk(below, entry, data, depth + 1);
			close(below);
		}
		entry(dirfd(d), e->d_name, below >= 0, data);
	}
	if (d)
		closedir(d);
}

void walk_below(int dir, walk_entry *entry, void *data)
{
	walk(dir, entry, data, 0);
}
