/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_LINK_H
#define RECORD_REMOTE_LINK_H

#include "base/error.h"

#include <sys/types.h>

/*
 * Byte streams between a recorder and the agents of its guests.  Every descriptor is non-blocking
 * and close-on-exec.
 *
 * vsock          guest listens on LINK_VSOCK_PORT, the host connects to the guest's CID.  Needs
 *                nothing configured inside the guest.  The kernel vouches for who calls: the agent
 *                takes calls of the host (CID 2) from ports below 1024, which only root can use.
 * virtio-serial  a port named LINK_PORT_NAME; a device file in the guest, a unix socket of QEMU's
 *                on the host.  Whoever is at the other end is the hypervisor's choice.
 * TCP            for everything else.  Nothing vouches for who calls: needs a token.
 */
#define LINK_VSOCK_PORT 0x534f /* "SO", 21327 */
#define LINK_PORT_NAME "org.sonde.agent"
#define LINK_PORT_PATH "/dev/virtio-ports/" LINK_PORT_NAME

enum link_kind { LINK_VSOCK, LINK_SOCKET, LINK_TCP };

struct link_target {
	enum link_kind kind;
	unsigned cid;	   /* LINK_VSOCK */
	unsigned port;	   /* LINK_VSOCK, LINK_TCP */
	char address[256]; /* LINK_SOCKET: path; LINK_TCP: numeric address */
	pid_t root_pid;	   /* LINK_SOCKET: the path is as this process sees it, and never leads out
			      of its root; 0: as we do */
};

#define LINK_TEXT 300

/* "vsock 5:21327", for messages. */
const char *link_describe(const struct link_target *t, char text[static LINK_TEXT]);

/* ---- the recorder's end -------------------------------------------------------------------- */

/* Begins to connect.  The descriptor becomes writable when that is over; ask then. */
int link_connect(const struct link_target *t, int *fd, struct error *err);
int link_connected(const struct link_target *t, int fd, struct error *err);

/* ---- the agent's end ----------------------------------------------------------------------- */

int link_listen_vsock(unsigned port, int *fd, struct error *err);

/* @address: "PORT" (loopback), "ADDRESS:PORT" or "[IPV6]:PORT", numeric. */
int link_listen_tcp(const char *address, int *fd, struct error *err);

/* -EAGAIN: nobody there.  -EACCES: a vsock peer that is not the host's root, and the caller has no
 * token to ask for (@has_token false); it is sent away.  -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM: there
 * is somebody, who stays there: ask again later.  @who: who calls, for messages. */
int link_accept(enum link_kind kind, int listener, bool has_token, int *fd,
		char who[static LINK_TEXT], struct error *err);

/* Opens a virtio port. */
int link_open_port(const char *path, int *fd, struct error *err);

/* Whether somebody is at the other end of a virtio port now. */
bool link_port_is_connected(int fd);

/* The decimal number that @text begins with, 1 to @max, and where it ends.  False: there is none.
 */
bool link_number(const char *text, unsigned max, unsigned *value, const char **end);

/* Splits "ADDRESS:PORT" or "[IPV6]:PORT"; a missing address stays "". */
int link_split_address(const char *text, char *address, size_t room, unsigned *port,
		       struct error *err);

#endif
