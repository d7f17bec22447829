/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_STATES_H
#define SERVE_STATES_H

#include "base/types.h"

/* Values of a vCPU's and of a thread's attribute `state`: docs/formats/schema.md. */
enum vcpu_state { VCPU_UNKNOWN = 1, VCPU_ON_CPU, VCPU_PREEMPTED, VCPU_WAITING, VCPU_GONE };
enum thread_state {
	THREAD_UNKNOWN = 1,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_SLEEPING,
	THREAD_BLOCKED,
	THREAD_STOPPED,
	THREAD_DEAD
};

static inline bool thread_sleeps(uint32_t state)
{
	return state >= THREAD_SLEEPING && state <= THREAD_STOPPED;
}

#endif
