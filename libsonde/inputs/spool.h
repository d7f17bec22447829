/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_SPOOL_H
#define LIBSONDE_INPUTS_SPOOL_H

#include "base/error.h"
#include "source/hyper/hyper.h"

/*
 * A spool keeps blocks of guests that were put together from a host's trace: in a file without a
 * name, so that memory does not grow with the trace.  Each writer's blocks stand together in
 * extents.
 */
struct spool {
	int fd;
	uint64_t len_bytes;
};

#define SPOOL_CHUNK 16384 /* more than any block */

struct spool_writer {
	uint8_t *chunk; /* owned */
	uint32_t used;
	struct hyper_extent *list; /* owned */
	size_t nr, room;
};

int spool_open(struct spool *s, struct error *err);
void spool_close(struct spool *s);

/* 0, -ENOMEM, or what writing failed with. */
int spool_put(struct spool *s, struct spool_writer *w, const void *block, uint32_t len);
int spool_flush(struct spool *s, struct spool_writer *w);
void spool_writer_release(struct spool_writer *w);

#endif
