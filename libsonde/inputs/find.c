/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* asprintf */
/* Traces at or under a path. */
#include "libsonde/inputs/find.h"
#include "libsonde/inputs/not_trace.h"
#include "libsonde/inputs/rundir.h"
#include "base/map.h"
#include "query/query.h"
#include "source/trace.h"
#include "sonde/analyze.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 16		/* of directories: enough for any layout */
#define BEHIND_LINKS_MAX 10000u /* files and directories: a link may lead to the whole machine */

struct found {
	char **list; /* owned, each owned */
	unsigned nr;
	struct map linked; /* directories that links led to, by number: each is looked at once */
	unsigned nr_behind_links; /* files and directories looked at */
	const struct find_watcher *watcher;
	bool runs;     /* manifests have listed some already */
	char *doubted; /* owned: the first file that looks like a trace and is none; NULL none yet */
	char doubt[PATH_MAX + 256]; /* ... what is to be said of it */
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

/* ---- what looks like a trace but is none --------------------------------------------------- */

static void suspect(struct found *f, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The first is kept: where nothing is found it is the reason, and is said as that only. */
static void suspect(struct found *f, const char *path, const char *fmt, ...)
{
	char text[PATH_MAX + 256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!f->doubted && (f->doubted = strdup(path)))
		snprintf(f->doubt, sizeof(f->doubt), "%s", text);
	else if (f->watcher)
		f->watcher->suspect(path, text, f->watcher->data);
}

int find_reason_len(const char *text)
{
	const char *end = strrchr(text, ';');
	size_t len = strlen(text);

	/* What can be done about it stays. */
	return (int)(end && strstr(end, " left out") ? (size_t)(end - text) : len);
}

static int nothing_found(const struct found *f, const char *path, bool is_dir, struct error *err)
{
	int len = find_reason_len(f->doubt);

	if (f->doubted)
		return strcmp(f->doubted, path)
			       ? fail(err, -EINVAL, "no trace under %s: %.*s", path, len, f->doubt)
			       : fail(err, -EINVAL, "%.*s", len, f->doubt);
	if (!is_dir)
		return not_trace(path, err);
	return fail(err, -EINVAL,
		    "no trace under %s: no trace.dat or perf.data file, and no directory with a "
		    "CTF \"metadata\" file",
		    path);
}

static bool begins_like_ctf(const char *path)
{
	static const unsigned char magic[2][4] = {{0xc1, 0x1f, 0xfc, 0xc1},
						  {0xc1, 0xfc, 0x1f, 0xc1}};
	unsigned char bytes[4] = {0};
	FILE *file = fopen(path, "re");
	bool whole = file && fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes);

	if (file)
		fclose(file);
	return whole && (!memcmp(bytes, magic[0], 4) || !memcmp(bytes, magic[1], 4));
}

/* What a file should be by the end of its name; NULL: nothing that Sonde reads. */
static const char *meant_by_name(const char *path)
{
	static const char *const names[][2] = {{".dat", "trace.dat"}, {".data", "perf.data"}};
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t end = strlen(names[i][0]);

		if (len > end && !strcmp(path + len - end, names[i][0]))
			return names[i][1];
	}
	return NULL;
}

static void suspect_file(struct found *f, const char *path)
{
	const char *meant = meant_by_name(path);
	struct stat st;

	if (!meant || stat(path, &st))
		return;
	if (access(path, R_OK))
		suspect(f, path, "%s cannot be read: %s; it is left out", path, strerror(errno));
	else if (!st.st_size)
		suspect(f, path, "%s is empty; it is left out", path);
	else
		suspect(f, path, "%s does not begin like a %s file; it is left out", path, meant);
}

/* @stream: the first CTF stream seen in directory @path, which has no metadata. */
static void suspect_dir(struct found *f, const char *path, const char *stream)
{
	suspect(f, path,
		"%s has CTF streams such as %s, which cannot be read without its metadata file: "
		"they are left out; copy the directory whole",
		path, stream);
}

/* What `sonde record` writes while it records: to be joined before it can be read. */
static bool is_unfinished(const char *path)
{
	static const char *const parts[] = {"head", "tail0"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *part;
		int missing;

		if (asprintf(&part, "%s/%s", path, parts[i]) < 0)
			return false;
		missing = access(part, F_OK);
		free(part);
		if (missing)
			return false;
	}
	return true;
}

static void suspect_unfinished(struct found *f, const char *path)
{
	suspect(f, path,
		"%s has only the raw parts of a trace, as a killed recorder leaves them; "
		"sonde record --recover joins those of a recording",
		path);
}

/* Whether the "metadata" in @dir begins as that of CTF does: a packet's magic number in either order,
 * the comment of version 1.8, or the record separator of version 2. */
static bool has_ctf_metadata(const char *dir)
{
	static const char *const begins[] = {"\x75\xd1\x1d\x57", "\x57\x1d\xd1\x75", "/* CTF",
					     "\x1e"};
	char bytes[8] = {0}, *path;
	bool found = false;
	FILE *file;

	if (asprintf(&path, "%s/metadata", dir) < 0)
		return true;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return true;
	(void)!fread(bytes, 1, sizeof(bytes) - 1, file);
	fclose(file);
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		found |= !strncmp(bytes, begins[i], strlen(begins[i]));
	return found;
}

/* ---- the search ---------------------------------------------------------------------------- */

static int search(struct found *f, const char *path, unsigned depth, bool linked);

/* @path: where a link led to that is being looked at. */
static bool is_enough(struct found *f, const char *path)
{
	if (f->nr_behind_links == BEHIND_LINKS_MAX)
		suspect(f, path,
			"%s: links lead to more than %u files; name the folders that have traces, "
			"others behind links are left out",
			path, BEHIND_LINKS_MAX);
	return f->nr_behind_links++ >= BEHIND_LINKS_MAX;
}

/* What is in @dir, whose path is @path.  @told: it is known for a trace, so that its streams need no
 * word. */
static int search_dir(struct found *f, const char *path, DIR *dir, bool told, unsigned depth,
		      bool linked)
{
	struct dirent *entry;
	bool seen_stream = told;
	int ret = 0;

	while (!ret && (entry = readdir(dir))) {
		char *below;
		bool is_dir;

		if (entry->d_name[0] == '.')
			continue;
		if (linked && is_enough(f, path))
			break;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0)
			return -ENOMEM;
		if (!seen_stream && is_regular_or_dir(below, &is_dir) && !is_dir &&
		    begins_like_ctf(below)) {
			seen_stream = true;
			suspect_dir(f, path, entry->d_name);
		}
		ret = search(f, below, depth + 1, linked);
		free(below);
	}
	return ret;
}

static int search_below(struct found *f, const char *path, bool told, unsigned depth, bool linked)
{
	DIR *dir = opendir(path);
	int ret;

	if (!dir) {
		suspect(f, path, "%s cannot be read: %s; it is left out", path, strerror(errno));
		return 0;
	}
	ret = search_dir(f, path, dir, told, depth, linked);
	closedir(dir);
	return ret;
}

/* A folder is a CTF trace by the name of one file in it: a stray one must not hide other traces. */
static int add_probed(struct found *f, const char *path, bool is_dir, unsigned depth, bool linked)
{
	int ret = add(f, path);

	return ret || !is_dir || has_ctf_metadata(path)
		       ? ret
		       : search_below(f, path, true, depth, linked);
}

/* Without links directories are a tree; with them, paths without end.  1: the directory, which a link
 * led to, has been looked at; -ENOMEM. */
static int led_there_again(struct found *f, const char *path)
{
	struct stat st;
	uint64_t key;

	if (stat(path, &st))
		return 0;
	key = (uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 40;
	return map_get(&f->linked, key) ? 1 : map_put(&f->linked, key, 1);
}

static bool is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* 1 when a manifest lists what is there. */
static int listed_by_manifest(struct found *f, const char *path, unsigned depth)
{
	char *manifest;
	int ret;

	if (!depth || !f->watcher || !f->watcher->run)
		return 0;
	if (asprintf(&manifest, "%s/" RUNDIR_MANIFEST, path) < 0)
		return -ENOMEM;
	ret = access(manifest, R_OK) ? 0 : f->watcher->run(path, f->watcher->data);
	free(manifest);
	f->runs |= ret > 0;
	return ret;
}

static int search(struct found *f, const char *path, unsigned depth, bool linked)
{
	bool is_dir;
	int ret;

	if (depth > DEPTH_MAX || !is_regular_or_dir(path, &is_dir))
		return 0;
	linked = is_dir && (linked || (depth && is_link(path)));
	if (linked && (ret = led_there_again(f, path)))
		return ret < 0 ? ret : 0;
	if (trace_probe(path))
		return add_probed(f, path, is_dir, depth, linked);
	if (!is_dir) {
		suspect_file(f, path);
		return 0;
	}
	if (is_unfinished(path)) {
		suspect_unfinished(f, path);
		return 0;
	}
	ret = listed_by_manifest(f, path, depth);
	if (ret)
		return ret < 0 ? ret : 0;
	return search_below(f, path, false, depth, linked);
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

int find_traces(const char *path, const struct find_watcher *watcher, char ***out,
		struct error *err)
{
	struct found f = {.watcher = watcher};
	struct stat st;
	int ret;

	*out = NULL;
	if (stat(path, &st))
		return fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	ret = search(&f, path, 0, false);
	if (!ret && !f.nr && !f.runs)
		ret = nothing_found(&f, path, S_ISDIR(st.st_mode), err);
	else if (f.doubted && watcher)
		watcher->suspect(f.doubted, f.doubt, watcher->data);
	if (!ret) {
		qsort(f.list, f.nr, sizeof(*f.list), by_name);
		*out = pack(&f);
	}
	if (!ret && !*out)
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		fail(err, ret, "out of memory looking for traces under %s", path);
	for (unsigned i = 0; i < f.nr; i++)
		free(f.list[i]);
	free(f.list);
	map_release(&f.linked);
	free(f.doubted);
	return ret ? ret : (int)f.nr;
}

int sonde_find_traces(const char *path, char ***out, struct sonde_error *err)
{
	struct error inner = {0};
	int ret = find_traces(path, NULL, out, &inner);

	return query_error(err, ret, &inner);
}
