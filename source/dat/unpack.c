/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dat/unpack.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum packing packing_by_name(const char *name)
{
	if (!strcmp(name, "none"))
		return PACKING_NONE;
	if (!strcmp(name, "zstd"))
		return PACKING_ZSTD;
	if (!strcmp(name, "zlib"))
		return PACKING_ZLIB;
	return PACKING_UNKNOWN;
}

static int unpack_zstd(struct unpacker *u, const uint8_t *in, size_t in_len, uint8_t *out,
		       size_t out_len)
{
	size_t n;

	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	if (!u->zstd)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(u->zstd, out, out_len, in, in_len);
	return ZSTD_isError(n) || n != out_len ? -EINVAL : 0;
}

static int unpack_zlib(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	uLongf n = out_len;
	int ret = uncompress(out, &n, in, in_len);

	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret != Z_OK || n != out_len ? -EINVAL : 0;
}

int unpack(struct unpacker *u, enum packing how, const uint8_t *in, size_t in_len, uint8_t *out,
	   size_t out_len)
{
	switch (how) {
	case PACKING_ZSTD:
		return unpack_zstd(u, in, in_len, out, out_len);
	case PACKING_ZLIB:
		return unpack_zlib(in, in_len, out, out_len);
	default:
		return -EOPNOTSUPP;
	}
}

void unpacker_release(struct unpacker *u)
{
	ZSTD_freeDCtx(u->zstd);
	u->zstd = NULL;
}
