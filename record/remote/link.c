/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4(), O_PATH */
#include "record/remote/link.h"
#include "record/base/buffer.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/vm_sockets.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PRIVILEGED_PORT_MAX 1023
#define PRIVILEGED_PORT_MIN 512
#define PORT_FLAGS (O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define VSOCK_BUFFER_BYTES (4ull << 20) /* what a guest can send ahead of a slow host */
/* The kernel gives up after 2 s, which a nested guest on a busy host can take; the caller has its
 * own, shorter limit. */
#define VSOCK_CONNECT_MAX_S 60

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
	struct sockaddr_vm vm;
};

const char *link_describe(const struct link_target *t, char text[static LINK_TEXT])
{
	if (t->kind == LINK_VSOCK)
		snprintf(text, LINK_TEXT, "vsock %u:%u", t->cid, t->port);
	else if (t->kind == LINK_TCP)
		snprintf(text, LINK_TEXT, "tcp %s port %u", t->address, t->port);
	else
		snprintf(text, LINK_TEXT, "the socket %s", t->address);
	return text;
}

bool link_number(const char *text, unsigned max, unsigned *value, const char **end)
{
	unsigned long long v;
	char *after;

	/* strtoull() takes signs and blanks, too, and makes a large number of "-5". */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &after, 10);
	*end = after;
	*value = (unsigned)v;
	return !errno && v && v <= max;
}

int link_split_address(const char *text, char *address, size_t room, unsigned *port,
		       struct error *err)
{
	const char *colon = strrchr(text, ':');
	const char *number = colon ? colon + 1 : text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	const char *end;

	if (!link_number(number, 65535, port, &end) || *end)
		return fail(err, -EINVAL, "\"%s\" is not ADDRESS:PORT", text);
	if (len && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= room)
		return fail(err, -EINVAL, "the address in \"%s\" is too long", text);
	memcpy(address, text, len);
	address[len] = '\0';
	return 0;
}

static int fill_ip(union any_address *a, socklen_t *len, const char *address, unsigned port,
		   struct error *err)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, address, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		*len = sizeof(a->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, address, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)port);
		*len = sizeof(a->v6);
		return 0;
	}
	return fail(err, -EINVAL, "\"%s\" is not a numeric IP address", address);
}

/* A path as process @pid sees it.  Symbolic links in it are the guest's owner's: they must not lead
 * us out of what it can see itself. */
static int open_below(pid_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[64];
	int dir, fd, code;

	snprintf(root, sizeof(root), "/proc/%d/%s", (int)pid, *path == '/' ? "root" : "cwd");
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	code = errno;
	close(dir);
	errno = code;
	return fd;
}

/*
 * A path longer than a socket address can hold, or one of another mount namespace, is reached
 * through a descriptor of the socket's file, *held.
 */
static int fill_path(union any_address *a, socklen_t *len, const struct link_target *t, int *held,
		     struct error *err)
{
	memset(a, 0, sizeof(*a));
	*held = t->root_pid ? open_below(t->root_pid, t->address)
			    : open(t->address, O_PATH | O_CLOEXEC);
	if (*held < 0)
		return fail(err, -errno, "cannot open %s: %s", t->address, strerror(errno));
	a->un.sun_family = AF_UNIX;
	snprintf(a->un.sun_path, sizeof(a->un.sun_path), "/proc/self/fd/%d", *held);
	*len = sizeof(a->un);
	return 0;
}

static int fill_target(const struct link_target *t, union any_address *a, socklen_t *len, int *held,
		       struct error *err)
{
	if (t->kind == LINK_TCP)
		return fill_ip(a, len, t->address, t->port, err);
	if (t->kind == LINK_SOCKET)
		return fill_path(a, len, t, held, err);
	memset(a, 0, sizeof(*a));
	a->vm.svm_family = AF_VSOCK;
	a->vm.svm_cid = t->cid;
	a->vm.svm_port = t->port;
	*len = sizeof(a->vm);
	return 0;
}

static void prepare_tcp(int fd)
{
	const int on = 1;

	/* Best effort: without them it works, but late. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* The agent takes calls from ports that only root can use.  Not root: the agent will say so. */
static void prepare_vsock_caller(int fd)
{
	const uint64_t bytes = VSOCK_BUFFER_BYTES;
	const struct timeval patience = {.tv_sec = VSOCK_CONNECT_MAX_S};
	struct sockaddr_vm own = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY};
	unsigned port = PRIVILEGED_PORT_MAX;

	(void)setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &patience, sizeof(patience));
	do {
		own.svm_port = port--;
	} while (bind(fd, (struct sockaddr *)&own, sizeof(own)) && errno == EADDRINUSE &&
		 port >= PRIVILEGED_PORT_MIN);
}

static int connect_failed(const struct link_target *t, int code, struct error *err)
{
	char text[LINK_TEXT];
	bool nobody = code == ECONNREFUSED || code == ECONNRESET;

	return fail(err, -code, "cannot connect to %s: %s%s", link_describe(t, text),
		    strerror(code), nobody ? "; does sonde-agent run there?" : "");
}

int link_connect(const struct link_target *t, int *out, struct error *err)
{
	union any_address address;
	socklen_t len = 0;
	int fd, held = -1;
	int ret = fill_target(t, &address, &len, &held, err);

	if (ret)
		return ret;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && t->kind == LINK_TCP)
		prepare_tcp(fd);
	if (fd >= 0 && t->kind == LINK_VSOCK)
		prepare_vsock_caller(fd);
	if (fd < 0 || (connect(fd, &address.any, len) && errno != EINPROGRESS)) {
		ret = connect_failed(t, errno, err);
		if (fd >= 0)
			close(fd);
	}
	if (held >= 0)
		close(held);
	*out = ret ? -1 : fd;
	return ret;
}

int link_connected(const struct link_target *t, int fd, struct error *err)
{
	int code = 0;
	socklen_t len = sizeof(code);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len))
		code = errno;
	return code ? connect_failed(t, code, err) : 0;
}

/* ---- the agent's end ----------------------------------------------------------------------- */

static int listen_at(const union any_address *a, socklen_t len, const char *what, int *out,
		     struct error *err)
{
	const int on = 1;
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int code;

	if (fd >= 0 && a->any.sa_family != AF_VSOCK)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && !bind(fd, &a->any, len) && !listen(fd, 8)) {
		*out = fd;
		return 0;
	}
	code = errno;
	if (fd >= 0)
		close(fd);
	*out = -1;
	return fail(err, -code, "cannot listen on %s: %s", what, strerror(code));
}

int link_listen_vsock(unsigned port, int *fd, struct error *err)
{
	union any_address a = {
		.vm = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port},
	};
	char what[40];

	snprintf(what, sizeof(what), "vsock port %u", port);
	return listen_at(&a, sizeof(a.vm), what, fd, err);
}

int link_listen_tcp(const char *address, int *fd, struct error *err)
{
	union any_address a;
	char host[64], what[LINK_TEXT];
	unsigned port;
	socklen_t len;
	int ret;

	*fd = -1;
	ret = link_split_address(address, host, sizeof(host), &port, err);
	if (!ret)
		ret = fill_ip(&a, &len, *host ? host : "127.0.0.1", port, err);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "TCP %.200s", address);
	return listen_at(&a, len, what, fd, err);
}

static void describe_peer(const union any_address *a, char who[static LINK_TEXT])
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (a->any.sa_family == AF_VSOCK) {
		snprintf(who, LINK_TEXT, "vsock %u:%u", a->vm.svm_cid, a->vm.svm_port);
	} else if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
		snprintf(who, LINK_TEXT, "%s port %u", text, ntohs(a->v4.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
		snprintf(who, LINK_TEXT, "%s port %u", text, ntohs(a->v6.sin6_port));
	}
}

static int accept_failed(int code, struct error *err)
{
	switch (code) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return fail(err, -code, "cannot take a call now: %s", strerror(code));
	default:
		return fail(err, -EAGAIN, "nobody calls: %s", strerror(code));
	}
}

int link_accept(enum link_kind kind, int listener, bool has_token, int *out,
		char who[static LINK_TEXT], struct error *err)
{
	union any_address a = {0};
	socklen_t len = sizeof(a);
	int fd = accept4(listener, &a.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	*out = -1;
	if (fd < 0)
		return accept_failed(errno, err);
	describe_peer(&a, who);
	if (kind == LINK_VSOCK && !has_token &&
	    (a.vm.svm_cid != VMADDR_CID_HOST || a.vm.svm_port > PRIVILEGED_PORT_MAX)) {
		close(fd);
		return fail(err, -EACCES,
			    "refused %s: only root of the host may call, or who has "
			    "the token (--token-file)",
			    who);
	}
	if (kind == LINK_TCP)
		prepare_tcp(fd);
	*out = fd;
	return 0;
}

/* udev makes LINK_PORT_PATH; where there is none, the port is found by the name the kernel knows.
 * A descriptor, or -errno. */
static int open_port_by_name(const char *wanted)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	struct dirent *entry;
	int fd = -ENOENT;

	while (dir && fd == -ENOENT && (entry = readdir(dir))) {
		char path[PATH_MAX], name[64];

		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/name", entry->d_name);
		if (read_small(dirfd(dir), path, name, sizeof(name)) < 0 || strcmp(name, wanted))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, PORT_FLAGS);
		if (fd < 0)
			fd = -errno;
	}
	if (dir)
		closedir(dir);
	return fd;
}

int link_open_port(const char *path, int *out, struct error *err)
{
	int fd = open(path, PORT_FLAGS);

	if (fd < 0)
		fd = -errno;
	if (fd == -ENOENT && !strcmp(path, LINK_PORT_PATH))
		fd = open_port_by_name(LINK_PORT_NAME);
	*out = fd < 0 ? -1 : fd;
	if (fd < 0)
		return fail(err, fd, "cannot open %s: %s", path, strerror(-fd));
	return 0;
}

bool link_port_is_connected(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR | POLLNVAL));
}
