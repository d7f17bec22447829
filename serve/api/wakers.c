/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/wakers.h"
#include "sonde/sonde.h"

bool thread_woken_by(struct sonde_history *history, uint32_t waker, uint32_t state, int64_t at,
		     struct sonde_context *out)
{
	struct sonde_interval by;

	return !sonde_interval_at(history, waker, at, &by) && by.value &&
	       (state == THREAD_RUNNABLE || by.begin == at) &&
	       !sonde_context_get(history, (int64_t)by.value - 1, out);
}
