/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_WAKE_VCPU_WAITS_H
#define MODEL_WAKE_VCPU_WAITS_H

#include "model/state/state.h"

/*
 * A vCPU's rests: from when it halts, or its thread falls asleep, until it goes on; and the rows of
 * table "wake", which say what ended them.
 */

void rest_begins(struct cpu *vcpu, enum halted halted);
void rest_ends(struct cpu *vcpu, const struct note *n);
/* A vCPU of any VM rests no longer, or is found to have a thread that is alive. */
void rest_note_up(struct cpu *vcpu);

const char *wake_evidence_text(enum wake_evidence evidence);

#endif
