/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/instance.h"
#include "record/base/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs.h>
#include <unistd.h>

#define PREFIX "sonde-"
#define TRIES 16

int tracefs_usable(char *dir, size_t room, struct error *err)
{
	const char *path = NULL;

	tracefs_set_loglevel(TEP_LOG_NONE); /* what goes wrong is said by us */
	if (tracefs_tracing_dir_is_mounted(false, &path) <= 0 || !path) {
		if (access("/sys/kernel/tracing", F_OK))
			return fail(err, -ENODEV,
				    "this kernel has no ftrace (no /sys/kernel/tracing); it needs "
				    "CONFIG_FTRACE");
		return fail(err, -ENODEV,
			    "tracefs is not mounted; as root: mount -t tracefs tracefs "
			    "/sys/kernel/tracing");
	}
	snprintf(dir, room, "%s", path);
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS))
		return fail(err, -EACCES, "%s may not be used by this user; run it as root (sudo)",
			    path);
	return 0;
}

/* When process @pid began, in ticks after boot; 0 = it does not live: one that was killed stays
 * until its parent asks for its status. */
static unsigned long long start_of(long pid)
{
	unsigned long long start = 0;
	char path[64], text[1024], state = 'X';
	char *p;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	p = strrchr(text, ')');
	if (p)
		sscanf(p + 1,
		       " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		       "%*d %llu",
		       &state, &start);
	return state == 'Z' || state == 'X' ? 0 : start;
}

static int make_instance(struct instance *in, struct error *err)
{
	long pid = getpid();
	unsigned long long start = start_of(pid);

	for (unsigned i = 0; i < TRIES; i++) {
		snprintf(in->name, sizeof(in->name), PREFIX "%ld-%llu-%u", pid, start, i);
		if (tracefs_instance_exists(in->name)) /* this process has another recorder */
			continue;
		in->tracefs = tracefs_instance_create(in->name);
		if (!in->tracefs)
			return fail(err, errno ? -errno : -EIO,
				    "cannot make a tracing instance: %s", strerror(errno));
		if (tracefs_instance_is_new(in->tracefs))
			return 0;
		tracefs_instance_free(in->tracefs);
		in->tracefs = NULL;
	}
	return fail(err, -EEXIST, "%u tracing instances of this process exist", TRIES);
}

static int open_file(struct instance *in, const char *name, int flags, struct error *err)
{
	int fd = openat(in->dir, name, flags | O_CLOEXEC);

	return fd >= 0 ? fd
		       : fail(err, -errno, "cannot open %s/%s: %s", in->path, name,
			      strerror(errno));
}

static int open_files(struct instance *in, struct error *err)
{
	char *dir = tracefs_instance_get_dir(in->tracefs);

	snprintf(in->path, sizeof(in->path), "%s", dir ? dir : "");
	if (dir)
		tracefs_put_tracing_file(dir);
	in->dir = open(in->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->dir < 0)
		return fail(err, -errno, "cannot open %s: %s", in->path, strerror(errno));
	in->tracing_on = open_file(in, "tracing_on", O_WRONLY, err);
	if (in->tracing_on < 0)
		return in->tracing_on;
	in->marker = open_file(in, "trace_marker", O_WRONLY, err);
	if (in->marker < 0)
		return in->marker;
	in->free_buffer = open_file(in, "free_buffer", O_WRONLY, err);
	return in->free_buffer < 0 ? in->free_buffer : 0;
}

int instance_open(struct instance *in, struct error *err)
{
	int ret;

	memset(in, 0, sizeof(*in));
	in->dir = in->marker = in->tracing_on = in->free_buffer = -1;
	ret = make_instance(in, err);
	if (!ret)
		ret = open_files(in, err);
	if (!ret)
		ret = instance_switch(in, false, err);
	if (!ret)
		ret = instance_set(in, "options/disable_on_free", "1", err);
	return ret;
}

int instance_set(struct instance *in, const char *file, const char *value, struct error *err)
{
	int fd = openat(in->dir, file, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, value, strlen(value));
	int code = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (code)
		return fail(err, code, "cannot write \"%s\" to %s/%s: %s", value, in->path, file,
			    strerror(-code));
	return 0;
}

int instance_switch(struct instance *in, bool on, struct error *err)
{
	if (write(in->tracing_on, on ? "1" : "0", 1) != 1)
		return fail(err, -errno, "cannot switch tracing %s in %s: %s", on ? "on" : "off",
			    in->path, strerror(errno));
	return 0;
}

static uint64_t lost_on(const struct instance *in, const char *cpu)
{
	static const char *const names[] = {
		"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "};
	char path[320], text[1024];
	uint64_t lost = 0;

	snprintf(path, sizeof(path), "per_cpu/%.32s/stats", cpu);
	if (read_small(in->dir, path, text, sizeof(text)) <= 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *p = strstr(text, names[i]);

		lost += p ? strtoull(p + strlen(names[i]), NULL, 10) : 0;
	}
	return lost;
}

uint64_t instance_lost(const struct instance *in)
{
	int fd = openat(in->dir, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t lost = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "cpu", 3))
			lost += lost_on(in, entry->d_name);
	}
	closedir(dir);
	return lost;
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int instance_close(struct instance *in, struct error *err)
{
	int ret = 0;

	if (!in->tracefs)
		return 0;
	close_file(&in->marker);
	close_file(&in->tracing_on);
	close_file(&in->free_buffer);
	close_file(&in->dir);
	if (tracefs_instance_destroy(in->tracefs))
		ret = fail(err, -errno, "cannot remove the tracing instance %s: %s", in->name,
			   strerror(errno));
	tracefs_instance_free(in->tracefs);
	in->tracefs = NULL;
	return ret;
}

/* Somebody who lives elsewhere (another PID namespace) holds its files open: rmdir() then fails. */
static bool remove_dead(const char *instances, const char *name)
{
	unsigned long long start;
	char path[512];
	unsigned n;
	long pid;

	if (sscanf(name, PREFIX "%ld-%llu-%u", &pid, &start, &n) != 3 || start_of(pid) == start)
		return false;
	snprintf(path, sizeof(path), "%s/%.200s", instances, name);
	return !rmdir(path);
}

unsigned instance_clean(void)
{
	char *path = tracefs_get_tracing_file("instances");
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;
	unsigned removed = 0;

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			removed += remove_dead(path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (path)
		tracefs_put_tracing_file(path);
	return removed;
}
