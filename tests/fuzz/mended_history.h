/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_MENDED_HISTORY_H
#define TESTS_FUZZ_MENDED_HISTORY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "history/parts/format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Makes a damaged history's checksums right: what they find is known, what a file with right
 * checksums and wrong content does is the question. */
static inline void mend_parts(uint8_t *d, size_t len)
{
	size_t at = FILE_HEADER_BYTES;

	while (at <= len && len - at >= PART_HEADER_BYTES) {
		uint8_t *h = d + at;
		uint64_t room = len - at - PART_HEADER_BYTES;

		if (get_u32(h) != PART_MAGIC || get_u64(h + 8) > room)
			return;
		set_u64(h + 32, XXH3_64bits(h + PART_HEADER_BYTES, get_u64(h + 8)));
		set_u64(h + 40, XXH3_64bits(h, 40));
		at += PART_HEADER_BYTES + ((get_u64(h + 8) + 7) & ~7ull);
	}
}

static inline void mend(uint8_t *d, size_t len)
{
	uint8_t *t = d + len - TRAILER_BYTES;

	if (len < FILE_HEADER_BYTES)
		return;
	memcpy(d, FILE_MAGIC, 8);
	set_u32(d + 8, FORMAT_VERSION);
	set_u64(d + 56, XXH3_64bits(d, 56));
	mend_parts(d, len);
	if (len < FILE_HEADER_BYTES + TRAILER_BYTES || memcmp(t, TRAILER_MAGIC, 8))
		return;
	set_u64(t + 32, len);
	set_u64(t + 56, XXH3_64bits(t, 56));
}

/* The mended file, in memory: a descriptor, and by which path it is opened. */
static inline int mended_history(const uint8_t *data, size_t len_bytes, char *path, size_t room)
{
	int fd = memfd_create("history", MFD_CLOEXEC);
	uint8_t *copy = malloc(len_bytes);

	if (fd < 0 || !copy)
		abort();
	memcpy(copy, data, len_bytes);
	mend(copy, len_bytes);
	if (write(fd, copy, len_bytes) != (ssize_t)len_bytes)
		abort();
	free(copy);
	snprintf(path, room, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
