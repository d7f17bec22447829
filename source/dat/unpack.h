/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_UNPACK_H
#define SOURCE_DAT_UNPACK_H

#include "base/types.h"

/*
 * Decompression of trace.dat's blocks: each block says beforehand how long it is and how long it
 * will be.  An unpacker keeps its decoder's memory from block to block; one per thread.
 * Zero-initialise, unpacker_release() at the end.
 */
enum packing { PACKING_NONE, PACKING_ZSTD, PACKING_ZLIB, PACKING_UNKNOWN };

/* A block may claim any size up to 4 GiB.  trace-cmd itself makes blocks of ten pages, and the
 * largest table (kallsyms) has some 10 MB; what is far above that is not read. */
#define UNPACK_MAX_BYTES (64u << 20)

struct unpacker {
	void *zstd; /* ZSTD_DCtx, made when first needed */
};

/* What the name in the file's header means. */
enum packing packing_by_name(const char *name);

/* Exactly @out_len bytes come out, or -EINVAL (damaged), -ENOMEM, -EOPNOTSUPP. */
int unpack(struct unpacker *u, enum packing how, const uint8_t *in, size_t in_len, uint8_t *out,
	   size_t out_len);
void unpacker_release(struct unpacker *u);

#endif
