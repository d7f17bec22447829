/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_LINK_FIND_H
#define RECORD_REMOTE_LINK_FIND_H

#include "record/remote/link.h"

#include <sys/types.h>

/*
 * Which links a VM of this machine offers, as its QEMU's command line tells: the CID of a
 * vhost-vsock device, and the unix socket behind a virtio-serial port named LINK_PORT_NAME.  Both
 * ways of writing devices are known ("vhost-vsock-pci,guest-cid=3" and JSON, which libvirt uses),
 * and sockets that QEMU was given as an open descriptor.
 */
#define LINK_FOUND_MAX 2

/* The best first.  Returns how many there are; 0 also when the process is gone. */
unsigned link_find(pid_t vm_pid, struct link_target found[static LINK_FOUND_MAX]);

/* The same from the bytes of a command line; paths are as they stand there. */
unsigned link_find_in(const char *args, size_t len_bytes,
		      struct link_target found[static LINK_FOUND_MAX]);

#endif
