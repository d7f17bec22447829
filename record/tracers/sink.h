/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_SINK_H
#define RECORD_TRACERS_SINK_H

#include "base/error.h"

#include <sys/types.h>

/*
 * Where a machine's recording goes: a set of append-only parts.  The recorder of a machine writes
 * into a sink and does not know whether it is a folder on this machine (folder_sink) or an agent's
 * link to the host (wire_sink), where the other end writes the same parts into a folder.
 *
 * A part is named by its kind and a number, never by text, so that nothing a guest sends can name
 * a file.  Parts may be written from several threads at once, each part by one thread at a time.
 */
enum sink_part {
	SINK_HEAD,   /* number 0: what comes first in a trace.dat */
	SINK_CPU,    /* number = CPU: raw sub-buffers, whole pages */
	SINK_TAIL,   /* command names and options; 0: as the start knows them, 1: as the end does */
	SINK_FILE,   /* number = index of a file announced with file(): a CTF trace's files */
	SINK_BLOCKS, /* number 0: blocks of the hypertrace format, whole ones in each write */
	SINK_CALLS,  /* number 0: hypertrace calls of guests, only on this machine */
	SINK_KINDS
};

struct sink;

struct sink_ops {
	/* Appends; blocks while the other side is slower.  0, -ENOSPC, -EPIPE (link lost), ... */
	int (*write)(struct sink *s, enum sink_part kind, unsigned number, const void *data,
		     size_t len_bytes, struct error *err);
	/*
	 * Appends up to @len_bytes from @fd (a pipe) without copying.  NULL: the sink cannot, use
	 * write().  Returns bytes moved, or -errno.
	 */
	ssize_t (*splice)(struct sink *s, enum sink_part kind, unsigned number, int fd,
			  size_t len_bytes, struct error *err);
	/* Announces the relative name of file @number.  The other side checks it. */
	int (*file)(struct sink *s, unsigned number, const char *name, struct error *err);
	/*
	 * The directory on this machine that SINK_FILEs land in: a tracer that writes files by
	 * itself writes them there.  NULL (also as the whole function): there is none, send them.
	 */
	const char *(*place)(struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
};

#endif
