/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_WAKERS_H
#define SERVE_API_WAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/context.h"

struct sonde_context;
struct sonde_history;

static inline bool thread_sleeps(uint32_t state)
{
	return state >= THREAD_SLEEPING && state <= THREAD_STOPPED;
}

/*
 * Who woke a thread: @at is the begin of its state @state after a sleep, @waker its attribute.
 * False when that is not known: a thread that runs without having been runnable may have been woken
 * unseen, and its attribute may then tell of an earlier time.
 */
bool thread_woken_by(struct sonde_history *history, uint32_t waker, uint32_t state, int64_t at,
		     struct sonde_context *out);

#endif
