/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_FEED_AGENDA_H
#define MODEL_FEED_AGENDA_H

#include "model/state/state.h"

/*
 * What happens at a time that is known beforehand, without an event: a machine's clock bound
 * changes with the pieces of its clock model, a machine's trace ends while others go on, and it
 * covers one of the machine's CPUs only from some time on, or up to some time, or not at all.
 */

int agenda_open(struct model *m);
void agenda_run(struct model *m, ns_t until);

#endif
