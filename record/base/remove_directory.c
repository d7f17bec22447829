/* SPDX-License-Identifier: Apache-2.0 */
#include "record/base/remove_directory.h"
#include "record/base/walk_directory.h"

#include <fcntl.h>
#include <unistd.h>

static void remove_entry(int dir, const char *name, bool is_directory, void *data)
{
	(void)data;
	unlinkat(dir, name, is_directory ? AT_REMOVEDIR : 0);
}

void remove_below(int dir)
{
	walk_below(dir, remove_entry, NULL);
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
