/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/link_find.h"
#include "record/host/qemu_option.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX (256u << 10)
#define VALUE_MAX 200

/* ---- arguments ----------------------------------------------------------------------------- */

static const char *next_arg(const char *arg, const char *end)
{
	arg += strlen(arg) + 1;
	return arg < end ? arg : NULL;
}

/* The chardev of that id: its socket's path, or "fd:N". */
static bool chardev_socket(const char *args, const char *end, const char *id, char *path,
			   size_t room)
{
	for (const char *arg = args; arg; arg = next_arg(arg, end)) {
		char value[VALUE_MAX];

		if (strncmp(arg, "socket,", 7) && *arg != '{')
			continue;
		if (!qemu_option(arg, "id", value, sizeof(value)) || strcmp(value, id))
			continue;
		if (qemu_option(arg, "path", path, room))
			return true;
		if (qemu_option(arg, "fd", value, sizeof(value))) {
			snprintf(path, room, "fd:%s", value);
			return true;
		}
	}
	return false;
}

static bool take_vsock(const char *arg, struct link_target *t)
{
	char value[VALUE_MAX];
	const char *end;

	if (!strstr(arg, "vhost-vsock") || !qemu_option(arg, "guest-cid", value, sizeof(value)))
		return false;
	*t = (struct link_target){.kind = LINK_VSOCK, .port = LINK_VSOCK_PORT};
	return link_number(value, UINT32_MAX, &t->cid, &end) && !*end && t->cid > 2;
}

static bool take_port(const char *args, const char *end, const char *arg, struct link_target *t)
{
	char name[VALUE_MAX], id[VALUE_MAX];

	if (!strstr(arg, "virtserialport") || !qemu_option(arg, "name", name, sizeof(name)) ||
	    strcmp(name, LINK_PORT_NAME) || !qemu_option(arg, "chardev", id, sizeof(id)))
		return false;
	*t = (struct link_target){.kind = LINK_SOCKET};
	return chardev_socket(args, end, id, t->address, sizeof(t->address));
}

unsigned link_find_in(const char *args, size_t len_bytes,
		      struct link_target found[static LINK_FOUND_MAX])
{
	const char *end = args + len_bytes;
	bool vsock = false, port = false;
	struct link_target other;

	if (!len_bytes || end[-1])
		return 0;
	for (const char *arg = args; arg; arg = next_arg(arg, end)) {
		vsock = vsock || take_vsock(arg, &found[0]);
		port = port || take_port(args, end, arg, &other);
	}
	if (port)
		found[vsock] = other;
	return (unsigned)vsock + port;
}

/* ---- processes ----------------------------------------------------------------------------- */

/* The path a unix socket of that inode is bound to. */
static bool path_of_socket(unsigned long inode, char *path, size_t room)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long number;
		int at = 0;

		/* Num RefCount Protocol Flags Type St Inode Path */
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %n", &number, &at) != 1 || !at ||
		    number != inode)
			continue;
		line[strcspn(line, "\n")] = '\0';
		found = line[at] == '/' && (size_t)snprintf(path, room, "%s", line + at) < room;
	}
	if (f)
		fclose(f);
	return found;
}

/* "fd:N" of a process -> the path of the socket that it is. */
static bool resolve_fd(pid_t pid, char *address, size_t room)
{
	char link[64], target[64];
	unsigned long inode;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/fd/%.20s", (int)pid, address + 3);
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	return sscanf(target, "socket:[%lu]", &inode) == 1 && path_of_socket(inode, address, room);
}

/* The same mounts, and the same root.  What cannot be told (we are not root) is taken for it. */
static bool sees_what_we_see(pid_t pid)
{
	static const char *const names[] = {"ns/mnt", "root"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64], own_path[64];
		struct stat its, own;

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, names[i]);
		snprintf(own_path, sizeof(own_path), "/proc/self/%s", names[i]);
		if (!stat(path, &its) && !stat(own_path, &own) &&
		    (its.st_dev != own.st_dev || its.st_ino != own.st_ino))
			return false;
	}
	return true;
}

/* A path as the VM's process sees it -> as we see it, or as link_connect() finds it. */
static void resolve_path(pid_t pid, struct link_target *t)
{
	char seen[LINK_TEXT];

	if (!sees_what_we_see(pid)) {
		t->root_pid = pid;
		return;
	}
	if (*t->address == '/')
		return;
	snprintf(seen, sizeof(seen), "/proc/%d/cwd/%s", (int)pid, t->address);
	if (strlen(seen) < sizeof(t->address))
		memcpy(t->address, seen, strlen(seen) + 1);
}

static size_t read_args(pid_t pid, char *args, size_t room)
{
	char path[64];
	size_t used = 0;
	ssize_t got = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && used < room) {
		got = read(fd, args + used, room - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return used < room ? used : 0;
}

unsigned link_find(pid_t vm_pid, struct link_target found[static LINK_FOUND_MAX])
{
	char *args = malloc(ARGS_MAX);
	size_t len = args ? read_args(vm_pid, args, ARGS_MAX) : 0;
	unsigned nr = link_find_in(args, len, found), kept = 0;

	for (unsigned i = 0; i < nr; i++) {
		char *address = found[i].address;
		bool usable = true;

		if (!strncmp(address, "fd:", 3))
			usable = resolve_fd(vm_pid, address, sizeof(found[i].address));
		else if (found[i].kind == LINK_SOCKET)
			resolve_path(vm_pid, &found[i]);
		if (usable)
			found[kept++] = found[i];
	}
	free(args);
	return kept;
}
