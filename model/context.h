/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

/* Values of context.mode and of the state attributes; the meaning is in docs/formats/schema.md. */
enum context_mode {
	MODE_UNKNOWN,
	MODE_IDLE,
	MODE_USER,
	MODE_SYSCALL,
	MODE_IRQ,
	MODE_SOFTIRQ,
	MODE_HYPERVISOR,
	MODE_GUEST,
	MODE_KERNEL,
	MODE_TASK,
	NR_MODES
};

enum vcpu_state { VCPU_NONE, VCPU_UNKNOWN, VCPU_ON_CPU, VCPU_PREEMPTED, VCPU_WAITING, VCPU_GONE };

enum thread_state {
	THREAD_NONE,
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_SLEEPING,
	THREAD_BLOCKED,
	THREAD_STOPPED,
	THREAD_DEAD
};

#endif
