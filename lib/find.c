/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* asprintf */
/* Traces at or under a path. */
#include "analysis/run.h"
#include "source/trace.h"
#include "sonde/analyze.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 16 /* of directories: enough for any layout, and ends loops of links */

struct found {
	char **list; /* owned, each owned */
	unsigned nr;
};

static int add(struct found *f, const char *path)
{
	char **grown = reallocarray(f->list, f->nr + 1, sizeof(*grown));
	char *copy = strdup(path);

	if (grown)
		f->list = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	f->list[f->nr++] = copy;
	return 0;
}

static bool is_regular_or_dir(const char *path, bool *is_dir)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*is_dir = S_ISDIR(st.st_mode);
	return *is_dir || S_ISREG(st.st_mode);
}

static int search(struct found *f, const char *path, unsigned depth)
{
	struct dirent *entry;
	bool is_dir;
	int ret = 0;
	DIR *dir;

	if (depth > DEPTH_MAX || !is_regular_or_dir(path, &is_dir))
		return 0;
	if (trace_probe(path))
		return add(f, path);
	dir = is_dir ? opendir(path) : NULL;
	if (!dir)
		return 0;
	while (!ret && (entry = readdir(dir))) {
		char *below;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			ret = -ENOMEM;
			break;
		}
		ret = search(f, below, depth + 1);
		free(below);
	}
	closedir(dir);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One block: the array, then its strings. */
static char **pack(const struct found *f)
{
	size_t len = (f->nr + 1) * sizeof(char *);
	char **out;
	char *text;

	for (unsigned i = 0; i < f->nr; i++)
		len += strlen(f->list[i]) + 1;
	out = calloc(1, len);
	if (!out)
		return NULL;
	text = (char *)(out + f->nr + 1);
	for (unsigned i = 0; i < f->nr; i++) {
		out[i] = text;
		text = stpcpy(text, f->list[i]) + 1;
	}
	return out;
}

int sonde_find_traces(const char *path, char ***out, struct sonde_error *err)
{
	struct error inner = {0};
	struct found f = {0};
	struct stat st;
	int ret;

	*out = NULL;
	if (stat(path, &st))
		return run_error(err,
				 fail(&inner, -errno, "cannot open %s: %s", path, strerror(errno)),
				 &inner);
	ret = search(&f, path, 0);
	if (!ret && !f.nr)
		ret = fail(&inner, -EINVAL,
			   S_ISDIR(st.st_mode)
				   ? "no trace under %s: neither a trace.dat file nor a directory "
				     "with a CTF \"metadata\" file"
				   : "%s is not a trace: neither a trace.dat file nor a directory "
				     "with a CTF \"metadata\" file",
			   path);
	if (!ret) {
		qsort(f.list, f.nr, sizeof(*f.list), by_name);
		*out = pack(&f);
	}
	if (!ret && !*out)
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		fail(&inner, ret, "out of memory looking for traces under %s", path);
	for (unsigned i = 0; i < f.nr; i++)
		free(f.list[i]);
	free(f.list);
	return ret ? run_error(err, ret, &inner) : (int)f.nr;
}
