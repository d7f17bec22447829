/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_CULPRIT_H
#define ANALYSIS_CULPRIT_H

#include "analysis/run.h"

/* Who ran instead of somebody: a context as a cause, so that what is one cause is one. */
struct culprit {
	int64_t machine; /* row of the machine whose code ran, -1 unknown */
	int64_t thread; /* row, -1 unknown; an interrupt is not the fault of the thread it fell upon
			 */
	int64_t mode;	/* enum sonde_mode, by culprit_class() */
	int64_t vcpu; /* CPU row when the machine is a VM, or of the vCPU a hypervisor serves; -1 */
};

/* The first question makes it of every context, once per run: analyses ask for each piece of time. */
struct culprits;
void culprits_free(struct culprits *c);
struct culprit culprit_of(struct sonde_run *run, int64_t context);

/* What a thread did is one thing, be it in user space or in the kernel: SONDE_MODE_TASK; its work
 * as a hypervisor for its vCPU is another. */
int64_t culprit_class(int64_t mode);

#endif
