/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_ALIGN_H
#define CLOCK_ALIGN_H

#include "clock/parents.h"

/*
 * One machine's clock to its parent's: gathers the evidence, chooses the best method it allows, and
 * fills m->to_parent, m->clock, m->vcpus.  @parent is the machine it runs in, already aligned.
 */
int align_machine(struct topology *t, struct machine *m, const struct candidate *guest,
		  const struct machine *parent, const struct candidate *host, struct error *err);

#endif
