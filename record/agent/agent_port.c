/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_port.h"
#include "record/remote/link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int port_open(struct agent_port *p, const char *path, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int ret;

	p->path = path;
	p->epoll_fd = -1;
	ret = link_open_port(path, &p->fd, err);
	if (ret)
		return ret;
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll_fd >= 0 && !epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->fd, &event))
		return 0;
	ret = fail(err, -errno, "cannot wait for %s: %s", path, strerror(errno));
	port_close(p);
	return ret;
}

int port_take(struct agent_port *p)
{
	struct epoll_event event;
	int fd = p->fd;

	/* Takes the edge first: what comes after it makes another. */
	if (epoll_wait(p->epoll_fd, &event, 1, 0) < 0 || !link_port_is_connected(fd))
		return -1;
	p->fd = -1;
	port_close(p);
	return fd;
}

void port_close(struct agent_port *p)
{
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = p->epoll_fd = -1;
}
