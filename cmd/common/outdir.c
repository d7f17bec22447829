/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/outdir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only files that stand in it: what has other directories in it is not ours, and stays. */
static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

/* "dir/" is "dir". */
static bool part_of(char part[static PATH_MAX], const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return (size_t)snprintf(part, PATH_MAX, "%.*s.part", (int)len, path) < PATH_MAX;
}

enum exit_code write_outdir(const struct invocation *inv, const char *path,
			    int (*write)(const char *dir, void *data, struct error *err),
			    void *data)
{
	struct error err = {0};
	char part[PATH_MAX];
	int ret;

	if (!strcmp(path, "-"))
		return complain(inv, EXIT_USAGE, "-o: a directory cannot be written to stdout");
	if (!part_of(part, path))
		return complain(inv, EXIT_FAILED, "cannot write %.200s...: its name is too long",
				path);
	if (mkdir(part, 0777))
		return complain(inv, EXIT_FAILED, "cannot make %s: %s", part, strerror(errno));
	ret = write(part, data, &err);
	if (!ret && rename(part, path))
		ret = fail(&err, -errno, "cannot rename %s: %s", part, strerror(errno));
	if (!ret)
		return EXIT_DONE;
	remove_dir(part);
	if (ret == -EINTR)
		return complain(inv, EXIT_INTERRUPTED, "interrupted; %s is not written", path);
	return complain(inv, EXIT_FAILED, "cannot write %s: %s", path,
			*err.text ? err.text : strerror(-ret));
}
