/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 16

static void remove_entries(int dir, unsigned depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!d && fd >= 0)
		close(fd);
	while (d && (entry = readdir(d))) {
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		below = openat(dirfd(d), entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			if (depth < DEPTH_MAX)
				remove_entries(below, depth + 1);
			close(below);
		}
		unlinkat(dirfd(d), entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
	}
	if (d)
		closedir(d);
}

void remove_below(int dir)
{
	remove_entries(dir, 0);
}

void remove_tree(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	remove_below(dir);
	close(dir);
	rmdir(path);
}
