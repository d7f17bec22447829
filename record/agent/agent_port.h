/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_PORT_H
#define RECORD_AGENT_AGENT_PORT_H

#include "base/error.h"

/*
 * A virtio port while nobody is at its other end.  Such a port is always ready with a hang-up, so a
 * plain poll() would not sleep; port_wait_fd() is readable when something about it has changed.
 * Each session gets a newly opened port, which is the only way to be rid of what an earlier caller
 * sent and nobody read.
 */
struct agent_port {
	const char *path;
	int fd;
	int epoll_fd;
};

/* Opens it; -ENOENT when there is no such device (yet). */
int port_open(struct agent_port *p, const char *path, struct error *err);

/* Somebody is there: hands the descriptor over, and is closed itself.  -1: nobody. */
int port_take(struct agent_port *p);

void port_close(struct agent_port *p);

#endif
