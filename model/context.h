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

/* The evidence of a wait of which nothing is known after that: its end is no wake-up. */
#define WAKE_LOST_TEXT "events were lost before it was seen to end"
/* The evidence of a wait of which only who woke the vCPU's thread is known. */
#define WAKE_UNSEEN_TEXT "it was woken; its host's trace does not show interrupts"

/* What ended a wait of a vCPU. */
enum wake_cause {
	WAKE_UNKNOWN,
	WAKE_TIMER,
	WAKE_DISK,
	WAKE_NETWORK,
	WAKE_IPI,
	WAKE_DEVICE,
	WAKE_VMM,
	WAKE_HOST,
	WAKE_NONE,
	NR_WAKE_CAUSES
};

/* Instead of the moment of a request: perhaps it was, while events were lost. */
#define REQUEST_PERHAPS (-2)

/* Why a vCPU's thread lost its CPU while it was ready to run. */
enum why_off {
	OFF_NONE,
	OFF_UNKNOWN,
	OFF_SLICE,
	OFF_WAKEUP,
	OFF_CLASS,
	OFF_MOVED,
	OFF_QUOTA,     /* concluded, maybe later: since it lost the CPU */
	OFF_READY,     /* from now on it waits for its turn, as after a wake-up: its quota is there
			  again */
	OFF_THROTTLED, /* from now on: the kernel said that its quota is used up */
	NR_WHY_OFF
};

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
