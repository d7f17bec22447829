/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: joining the parts of a trace.dat, some of which a guest sent.  The input is several
 * parts, each after two bytes: which part it is, and its length in units of 64 bytes, as far as
 * there is something left.
 */
#include "record/tracers/datfile.h"
#include "tests/fuzz/scratch.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define UNIT_BYTES 64

static const char *const parts[] = {"head", "tail0", "tail1", "cpu0.raw", "cpu1.raw", "cpu300.raw"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct error err = {0};

	while (len_bytes > 2) {
		size_t len = (size_t)data[1] * UNIT_BYTES;

		if (!len || len > len_bytes - 2)
			len = len_bytes - 2;
		scratch_write(parts[data[0] % ARRAY_SIZE(parts)], data + 2, len);
		data += 2 + len;
		len_bytes -= 2 + len;
	}
	/* What fails once fails the same way again, or was done. */
	if (datfile_has_parts(scratch_dir()) && !datfile_join(scratch_dir(), &err) &&
	    datfile_has_parts(scratch_dir()))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		scratch_remove(parts[i]);
	scratch_remove("trace.dat");
	scratch_remove("trace.dat.part");
	return 0;
}
