/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzz target: a perf.data file. */
#include "tests/fuzz/one_file_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	fuzz_trace(&perf_trace_ops, data, len_bytes);
	return 0;
}
