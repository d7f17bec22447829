/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the file behind an ivshmem device, all of which a guest may write. */
#define _GNU_SOURCE /* memfd_create() */
#include "channel/reader.h"
#include "source/hyper/ring_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* What was copied are blocks, and no more than there was. */
static void check_copy(int out, size_t len_bytes)
{
	off_t len = lseek(out, 0, SEEK_CUR);
	uint8_t *copy = malloc((size_t)len + 1);

	if (!copy || len < 0 || (size_t)len > len_bytes || pread(out, copy, (size_t)len, 0) != len)
		abort();
	for (size_t at = 0; at < (size_t)len;) {
		uint32_t left = (uint32_t)((size_t)len - at);
		uint32_t block = ht_block_length(copy + at, left);

		if (!block || block > left || block > HT_SLOT_BLOCK_MAX)
			abort();
		at += block;
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	int ret;

	if (in < 0 || out < 0 || write(in, data, len_bytes) != (ssize_t)len_bytes)
		abort();
	ret = ring_file_copy(in, out);
	if (!ret != ring_file_is(in) && ret != -ENOMEM)
		abort();
	check_copy(out, len_bytes);
	close(in);
	close(out);
	return 0;
}
