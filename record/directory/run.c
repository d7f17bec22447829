/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_PATH */
#include "record/directory/run.h"
#include "record/tracers/datfile.h"
#include "record/base/remove_directory.h"
#include "record/base/walk_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST "run.json"
#define MANIFEST_NEW "run.json.part"
#define MANIFEST_VERSION 1
#define MACHINES_MAX 1024u

struct run {
	char path[3072];
	int dir;   /* locked */
	bool made; /* by us: run_abandon() may remove it */
	char *command;
	char version[32];
	struct timespec begin;
	struct run_machine **machines; /* owned, each owned */
	unsigned nr_machines;
};

/* ---- manifest ---- */

static json_t *wall_clock(const struct timespec *t)
{
	char text[64], all[80];
	struct tm tm;

	gmtime_r(&t->tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(all, sizeof(all), "%s.%03ldZ", text, t->tv_nsec / 1000000);
	return json_string(all);
}

/* Names come from command lines: bytes that are no UTF-8 are shown as "?". */
static json_t *text_value(const char *text)
{
	json_t *value = json_string(text);
	char *safe;

	if (value)
		return value;
	safe = strdup(text);
	for (char *c = safe; c && *c; c++)
		*c = *c & 0x80 ? '?' : *c;
	value = safe ? json_string(safe) : NULL;
	free(safe);
	return value;
}

static json_t *cost_value(const struct record_cost *cost)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_ns", (json_int_t)cost->cpu_ns, "bytes",
			 (json_int_t)cost->bytes, "events_lost", (json_int_t)cost->events_lost,
			 "state_ns", (json_int_t)cost->state_ns);
}

static json_t *machine_value(const struct run_machine *m, bool recording)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", text_value(m->name));
	json_object_set_new(o, "parent", *m->parent ? text_value(m->parent) : json_pack("n"));
	json_object_set_new(o, "folder", text_value(m->name));
	json_object_set_new(o, "tracer", text_value(m->tracer));
	if (*m->product_uuid)
		json_object_set_new(o, "product_uuid", text_value(m->product_uuid));
	if (m->vm_pid)
		json_object_set_new(o, "vm_pid", json_integer(m->vm_pid));
	if (recording)
		return o;
	json_object_set_new(o, "clock", text_value(m->cost.clock));
	json_object_set_new(o, "clock_reason", text_value(m->cost.clock_reason));
	json_object_set_new(o, "complete", json_boolean(m->complete));
	if (!m->complete)
		json_object_set_new(o, "why", text_value(m->why));
	json_object_set_new(o, "cost", cost_value(&m->cost));
	return o;
}

static json_t *manifest_of(const struct run *run, const char *state)
{
	bool recording = !strcmp(state, "recording");
	json_t *root = json_object();
	json_t *machines = json_array();
	struct timespec now;

	json_object_set_new(root, "version", json_integer(MANIFEST_VERSION));
	json_object_set_new(root, "state", json_string(state));
	json_object_set_new(root, "sonde", text_value(run->version));
	json_object_set_new(root, "command", text_value(run->command));
	json_object_set_new(root, "begin", wall_clock(&run->begin));
	if (!recording) {
		clock_gettime(CLOCK_REALTIME, &now);
		json_object_set_new(root, "end", wall_clock(&now));
	}
	for (unsigned i = 0; i < run->nr_machines; i++)
		json_array_append_new(machines, machine_value(run->machines[i], recording));
	json_object_set_new(root, "machines", machines);
	return root;
}

/* Takes its place only when it is whole, and on the disk. */
static int write_manifest(const char *path, int dir, json_t *root, struct error *err)
{
	char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
	size_t len = text ? strlen(text) : 0;
	int ret = 0;
	int fd;

	if (!text)
		return fail(err, -ENOMEM, "out of memory for %s/" MANIFEST, path);
	text[len++] = '\n'; /* in place of its NUL */
	fd = openat(dir, MANIFEST_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || fdatasync(fd) ||
	    renameat(dir, MANIFEST_NEW, dir, MANIFEST) || (fsync(dir) && errno != EINVAL)) {
		ret = fail(err, errno ? -errno : -EIO, "cannot write %s/" MANIFEST ": %s", path,
			   strerror(errno));
		unlinkat(dir, MANIFEST_NEW, 0);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return ret;
}

static int save(struct run *run, const char *state, struct error *err)
{
	json_t *root = manifest_of(run, state);
	int ret = write_manifest(run->path, run->dir, root, err);

	json_decref(root);
	return ret;
}

/* ---- the directory ---- */

static int open_locked(const char *path, struct error *err)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code;

	if (dir < 0)
		return fail(err, -errno, "cannot open the recording %s: %s", path, strerror(errno));
	if (!flock(dir, LOCK_EX | LOCK_NB))
		return dir;
	code = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(dir);
	return fail(err, code,
		    "%s is in use: it is still being recorded, or joined; wait for its end", path);
}

static bool is_empty(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool empty = true;

	while (d && (entry = readdir(d)))
		empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return d && empty;
}

static void release(struct run *run)
{
	for (unsigned i = 0; i < run->nr_machines; i++)
		free(run->machines[i]);
	free(run->machines);
	free(run->command);
	if (run->dir >= 0)
		close(run->dir);
	free(run);
}

static int make_directory(struct run *run, const char *path, struct error *err)
{
	if (snprintf(run->path, sizeof(run->path), "%s", path) >= (int)sizeof(run->path))
		return fail(err, -ENAMETOOLONG, "the path of the recording is too long: %.200s",
			    path);
	run->made = !mkdir(run->path, 0755);
	if (!run->made && errno != EEXIST)
		return fail(err, -errno, "cannot make the recording %s: %s", run->path,
			    strerror(errno));
	run->dir = open_locked(run->path, err);
	if (run->dir < 0)
		return run->dir;
	if (!run->made && !is_empty(run->dir))
		return fail(err, -EEXIST,
			    "%s is there already and is not empty; nothing is "
			    "overwritten",
			    run->path);
	return 0;
}

int run_create(struct run **out, const char *path, const char *command, const char *version,
	       struct error *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int ret;

	*out = NULL;
	if (run)
		run->command = strdup(command);
	if (!run || !run->command) {
		free(run);
		return fail(err, -ENOMEM, "out of memory");
	}
	run->dir = -1;
	clock_gettime(CLOCK_REALTIME, &run->begin);
	snprintf(run->version, sizeof(run->version), "%s", version);
	ret = make_directory(run, path, err);
	if (ret) {
		release(run);
		return ret;
	}
	*out = run;
	return 0;
}

static bool name_is_taken(const struct run *run, const char *name)
{
	if (!strcmp(name, MANIFEST) || !strcmp(name, MANIFEST_NEW))
		return true;
	for (unsigned i = 0; i < run->nr_machines; i++) {
		if (!strcmp(run->machines[i]->name, name))
			return true;
	}
	return false;
}

/* A folder's name: letters, digits, "._-", not too long, not beginning with a dot; unique. */
static void choose_name(const struct run *run, const char *wanted, char name[static 64])
{
	char base[48];
	size_t n = 0;

	for (const char *c = wanted; *c && n + 1 < sizeof(base); c++) {
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			     (*c >= '0' && *c <= '9') || *c == '-' || *c == '_' || (*c == '.' && n);

		base[n++] = plain ? *c : '_';
	}
	base[n] = '\0';
	if (!n)
		snprintf(base, sizeof(base), "machine");
	snprintf(name, 64, "%s", base);
	for (unsigned i = 2; name_is_taken(run, name); i++)
		snprintf(name, 64, "%s-%u", base, i);
}

struct run_machine *run_add_machine(struct run *run, const char *name,
				    const struct run_machine *parent, struct error *err)
{
	struct run_machine *m = calloc(1, sizeof(*m));
	struct run_machine **grown =
		run->nr_machines < MACHINES_MAX
			? reallocarray(run->machines, run->nr_machines + 1, sizeof(*grown))
			: NULL;

	if (grown)
		run->machines = grown;
	if (!m || !grown) {
		free(m);
		fail(err, -ENOMEM, "no room for one more machine in %s", run->path);
		return NULL;
	}
	choose_name(run, name, m->name);
	if (parent)
		memcpy(m->parent, parent->name, sizeof(m->parent));
	snprintf(m->folder, sizeof(m->folder), "%s/%s", run->path, m->name);
	run->machines[run->nr_machines++] = m;
	return m;
}

int run_save(struct run *run, struct error *err)
{
	return save(run, "recording", err);
}

/* ---- its end ---- */

struct owner {
	uid_t uid;
	gid_t gid;
};

/* What cannot be given stays root's; so does a file that has another name, too: it may be
 * anybody's. */
static void give_entry(int dir, const char *name, bool is_directory, void *data)
{
	const struct owner *to = data;
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int ret = -1;

	(void)is_directory; /* what was opened decides */
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && (S_ISDIR(st.st_mode) || st.st_nlink == 1))
		ret = fchownat(fd, "", to->uid, to->gid, AT_EMPTY_PATH);
	(void)ret; /* nobody could do more about it */
	close(fd);
}

/* Gives @dir and everything below it to the user who called sudo. */
static void give_to_owner(int dir)
{
	const char *uid = getenv("SUDO_UID");
	const char *gid = getenv("SUDO_GID");
	struct owner to;

	if (geteuid() || !uid || !gid)
		return;
	to = (struct owner){(uid_t)strtoul(uid, NULL, 10), (gid_t)strtoul(gid, NULL, 10)};
	walk_below(dir, give_entry, &to);
	if (fchown(dir, to.uid, to.gid))
		return; /* it stays root's */
}

/* Joins one machine's parts; what cannot be joined is said in the manifest. */
static int join_machine(struct run_machine *m, struct error *err)
{
	struct error why = {0};
	int ret;

	if (!datfile_has_parts(m->folder))
		return 0;
	ret = datfile_join(m->folder, &why);
	if (!ret)
		return 0;
	m->complete = false;
	snprintf(m->why, sizeof(m->why), "%.250s", why.text);
	if (err)
		*err = why;
	return ret;
}

int run_join(struct run *run, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < run->nr_machines; i++) {
		int joined = join_machine(run->machines[i], ret ? NULL : err);

		if (joined)
			ret = joined;
	}
	return ret;
}

int run_end(struct run *run, struct error *err)
{
	const char *state = "complete";
	int ret;

	for (unsigned i = 0; i < run->nr_machines; i++) {
		if (!run->machines[i]->complete)
			state = "partial";
	}
	ret = save(run, state, err);
	give_to_owner(run->dir);
	release(run);
	return ret;
}

void run_abandon(struct run *run)
{
	if (!run)
		return;
	remove_below(run->dir); /* it was empty when the run began */
	if (run->made)
		rmdir(run->path);
	release(run);
}

/* ---- what a killed recorder left ---- */

/* @known: there was one. */
static int load_manifest(const char *path, int dir, json_t **out, bool *known, struct error *err)
{
	int fd = openat(dir, MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	bool regular = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
	json_t *root = regular ? json_loadfd(fd, 0, NULL) : NULL;
	json_int_t version = json_integer_value(json_object_get(root, "version"));

	if (fd >= 0)
		close(fd);
	*known = json_is_object(root);
	if (!*known) {
		json_decref(root);
		root = json_object(); /* killed before it was written */
		json_object_set_new(root, "version", json_integer(MANIFEST_VERSION));
	} else if (version != MANIFEST_VERSION) {
		json_decref(root);
		return fail(err, -EPROTONOSUPPORT,
			    "%s/" MANIFEST " has version %lld, and this sonde knows only %d: "
			    "recover it with the one that recorded it",
			    path, (long long)version, MANIFEST_VERSION);
	}
	*out = root;
	return 0;
}

/* The entry of machine @name, made when there is none. */
static json_t *machine_entry(json_t *root, const char *name)
{
	json_t *machines = json_object_get(root, "machines");
	json_t *m;
	size_t i;

	if (!json_is_array(machines)) {
		json_object_set_new(root, "machines", json_array());
		machines = json_object_get(root, "machines");
	}
	json_array_foreach(machines, i, m)
	{
		const char *folder = json_string_value(json_object_get(m, "folder"));

		if (folder && !strcmp(folder, name))
			return m;
	}
	m = json_pack("{s:s, s:n, s:s, s:s}", "name", name, "parent", "folder", name, "tracer",
		      "ftrace");
	json_array_append_new(machines, m);
	return m;
}

static int recover_machine(const char *path, const char *name, json_t *root, struct error *err)
{
	char folder[4096];
	struct error why = {0};
	json_t *m;
	int ret;

	snprintf(folder, sizeof(folder), "%s/%s", path, name);
	if (!datfile_has_parts(folder))
		return 0;
	ret = datfile_join(folder, &why);
	m = machine_entry(root, name);
	json_object_set_new(m, "complete", json_false());
	if (ret)
		json_object_set_new(m, "why", text_value(why.text));
	else if (!json_object_get(m, "why"))
		json_object_set_new(m, "why",
				    json_string("the recorder was ended before it could finish"));
	if (ret && err)
		*err = why;
	return ret ? ret : 1;
}

static int recover_all(const char *path, int dir, json_t *root, unsigned *done, struct error *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!d) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return fail(err, ret, "cannot read %s: %s", path, strerror(-ret));
	}
	while ((entry = readdir(d))) {
		int one = entry->d_name[0] == '.'
				  ? 0
				  : recover_machine(path, entry->d_name, root, ret ? NULL : err);

		if (one > 0)
			++*done;
		else if (one < 0)
			ret = one;
	}
	closedir(d);
	return ret;
}

int run_recover(const char *path, unsigned *done, struct error *err)
{
	const char *state;
	json_t *root = NULL;
	int ret, saved;
	bool known;
	int dir;

	*done = 0;
	dir = open_locked(path, err);
	if (dir < 0)
		return dir;
	ret = load_manifest(path, dir, &root, &known, err);
	if (ret) {
		close(dir);
		return ret;
	}
	ret = recover_all(path, dir, root, done, err);
	state = json_string_value(json_object_get(root, "state"));
	if (!known && !*done && !ret) {
		ret = fail(err, -ENOENT, "%s is no recording: it has no " MANIFEST, path);
	} else if (*done || ret || !state || !strcmp(state, "recording")) {
		json_object_set_new(root, "state", json_string("partial"));
		saved = write_manifest(path, dir, root, ret ? NULL : err);
		ret = ret ? ret : saved;
	}
	json_decref(root);
	give_to_owner(dir);
	close(dir);
	return ret;
}
