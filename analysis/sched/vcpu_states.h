/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_VCPU_STATES_H
#define ANALYSIS_SCHED_VCPU_STATES_H

#include "analysis/rows.h"

/* Those rows of table "vcpu_state" that are about @vcpus, @nr rows of table "cpu": at the cost of
 * these, not of all vCPUs.  0 or a negative errno; the caller frees *@out. */
int vcpu_states_of(struct sonde_rows **out, struct sonde_history *history, const uint32_t *vcpus,
		   uint32_t nr, ns_t begin, ns_t end, struct error *err);

#endif
