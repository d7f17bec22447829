/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNDIR_MANIFEST_BYTES (4u << 20)
#define MACHINES_MAX 4096
#define VERSION 1

/* The file's text in the arena; NULL with errno. */
static const char *load(struct arena *a, const char *dir, size_t *len_bytes)
{
	char path[4096];
	struct stat st;
	char *text = NULL;
	ssize_t got = -1;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/" RUNDIR_MANIFEST, dir) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	errno = EFBIG;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= (off_t)RUNDIR_MANIFEST_BYTES) {
		text = arena_alloc(a, (size_t)st.st_size + 1);
		errno = ENOMEM;
		got = text ? read(fd, text, (size_t)st.st_size) : -1;
	}
	close(fd);
	*len_bytes = got < 0 ? 0 : (size_t)got;
	return got < 0 ? NULL : text;
}

/* A name in the run directory, and not one that leads out of it. */
static bool is_plain(const char *folder)
{
	return *folder && strcmp(folder, ".") && strcmp(folder, "..") && !strchr(folder, '/');
}

static const char *text_of(const json_t *machine, const char *key)
{
	const char *text = json_string_value(json_object_get(machine, key));

	return text ? text : "";
}

/* What went wrong with this machine's recording. */
static void tell(const json_t *m, const char *name, struct problems *problems)
{
	const json_t *cost = json_object_get(m, "cost");
	json_int_t lost = json_integer_value(json_object_get(cost, "events_lost"));
	const char *why = text_of(m, "why");

	if (json_is_false(json_object_get(m, "complete")))
		problems_add(problems, "%.60s: its recording is not complete%s%.180s", name,
			     *why ? ": " : "", why);
	if (lost > 0)
		problems_add(problems, "%.60s: its recorder counted %lld lost events", name,
			     (long long)lost);
	if (*text_of(m, "clock_reason"))
		problems_note(problems, "%.60s: recorded with clock %.30s: %.140s", name,
			      text_of(m, "clock"), text_of(m, "clock_reason"));
}

static int add_machine(struct rundir *r, const char *dir, const json_t *m,
		       struct problems *problems)
{
	struct rundir_machine *out = &r->machines[r->nr];
	const char *name = text_of(m, "name"), *folder = text_of(m, "folder");
	const char *parent = json_string_value(json_object_get(m, "parent"));
	char path[4096];

	if (!*name || !is_plain(folder) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, folder) >= sizeof(path)) {
		problems_add(problems,
			     "%s/" RUNDIR_MANIFEST ": a machine without name or folder is left out",
			     dir);
		return 0;
	}
	tell(m, name, problems);
	out->name = arena_strdup(&r->arena, name);
	out->folder = arena_strdup(&r->arena, path);
	out->vm_pid = (int)json_integer_value(json_object_get(m, "vm_pid"));
	out->parent = parent ? arena_strdup(&r->arena, parent) : NULL;
	if (!out->name || !out->folder || (parent && !out->parent))
		return -ENOMEM;
	r->nr++;
	return 0;
}

static int add_machines(struct rundir *r, const char *dir, const json_t *root,
			struct problems *problems)
{
	const json_t *list = json_object_get(root, "machines");
	size_t nr = json_array_size(list);
	int ret = 0;

	if (nr > MACHINES_MAX)
		nr = MACHINES_MAX;
	r->machines = arena_alloc(&r->arena, (nr + 1) * sizeof(*r->machines));
	if (!r->machines)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !ret; i++)
		ret = add_machine(r, dir, json_array_get(list, i), problems);
	if (!strcmp(text_of(root, "state"), "recording"))
		problems_add(problems,
			     "%s was not ended in order: its recorder was killed, or still runs",
			     dir);
	return ret;
}

int rundir_read(struct rundir *out, const char *path, struct problems *problems, struct error *err)
{
	json_error_t why;
	const char *text;
	size_t len_bytes;
	json_t *root;
	int ret;

	memset(out, 0, sizeof(*out));
	text = load(&out->arena, path, &len_bytes);
	if (!text) {
		ret = errno == ENOMEM ? fail(err, -ENOMEM, "out of memory") : 0;
		if (!ret && errno != ENOENT && errno != ENOTDIR)
			problems_add(problems,
				     "%s/" RUNDIR_MANIFEST " cannot be read: %s; it is not used",
				     path, strerror(errno));
		rundir_release(out);
		return ret;
	}
	root = json_loadb(text, len_bytes, JSON_REJECT_DUPLICATES, &why);
	/* Other programs, too, may call a file so. */
	if (!root || (json_object_get(root, "machines") &&
		      json_integer_value(json_object_get(root, "version")) != VERSION))
		problems_add(problems,
			     "%s/" RUNDIR_MANIFEST
			     " is no manifest of version %d%s%s; it is not used",
			     path, VERSION, root ? "" : ": ", root ? "" : why.text);
	if (json_integer_value(json_object_get(root, "version")) != VERSION ||
	    !json_is_array(json_object_get(root, "machines"))) {
		json_decref(root);
		rundir_release(out);
		return 0;
	}
	ret = add_machines(out, path, root, problems);
	json_decref(root);
	if (!ret)
		return 1;
	rundir_release(out);
	return fail(err, ret, "out of memory");
}

void rundir_release(struct rundir *r)
{
	arena_release(&r->arena);
	memset(r, 0, sizeof(*r));
}
