/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_UNSEEN_SWITCH_H
#define MODEL_SCHED_UNSEEN_SWITCH_H

#include "model/state/state.h"

/*
 * Threads that leave their CPUs without a word.
 *
 * There are kernels (a virtual machine's 6.18, for one) that record no events of some threads but
 * those of the interrupts upon them: of a CPU's idle task, or of any other.  The switch to such a
 * thread is there, that away from it is missing: the thread that follows shows with an event of its
 * own, as a rule when it leaves.  Taken as it is, such a trace says that the CPU went on idling
 * while a thread waited for it.
 *
 * Which threads are is source/leaves.h's to say.  Where such a one is switched to, nobody knows how
 * long it stays; the idle task stays until somebody is woken for its CPU.  From then on until the
 * next thread shows what the CPU runs is unknown, and so is whether a thread waits that was woken
 * for it.
 */

/* An event of @cpu has been taken in: drops the thread that is known to have gone, or may have. */
void unseen_switch_settle(struct cpu *cpu);
/* @th is to run on the CPU of that number from now on; true when it is not known whether it waits:
 * that CPU runs a mute thread, or the trace has no event of it. */
bool unseen_switch_woken(struct thread *th, int64_t number);
void unseen_switch_moved(struct machine_state *mc, const struct event *e);

#endif
