/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_WAKE_ON_BEHALF_OF_H
#define MODEL_WAKE_ON_BEHALF_OF_H

#include "model/state/state.h"

/*
 * On whose behalf a CPU's current code acts: the class of what it delivers or wakes.
 */

/* What the code that @cpu executes acts for: FOR_ bits. */
unsigned source_activity(const struct cpu *cpu, const struct thread *woken);
/* Who is it that delivers an interrupt to a vCPU? */
struct note source_of_delivery(const struct cpu *cpu);
/* Who wakes a thread, where no interrupt was delivered before. */
struct note source_of_wakeup(const struct cpu *cpu);

#endif
