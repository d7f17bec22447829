/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_WAKE_VECTOR_H
#define MODEL_WAKE_VECTOR_H

#include "model/state/state.h"

/*
 * What each interrupt vector of each vCPU means, learned from all deliveries.
 */

void vector_learn(struct model *m, const struct cpu *vcpu, const struct note *n);
/* What a vector means as far as has been learned: enum wake_cause. */
uint8_t vector_cause(const struct model *m, const struct cpu *vcpu, int vector);
/* An interrupt handler begins, by line or by vector: a guest's says what the vector that was
 * injected last means. */
struct line {
	int vector;    /* that its host injected last; -1 unknown */
	bool of_disk;  /* as far as the line's name tells ... */
	bool receives; /* ... packets */
};
struct line vector_irq_entry(struct cpu *cpu, const struct event *e);
void vector_entry(struct cpu *cpu, const struct event *e);
/* What is known of the vector in the end, and how. */
struct verdict {
	uint8_t cause;
	uint32_t irq_name; /* string id */
	uint32_t times, agree;
	const char *evidence;
};
struct verdict vector_verdict(const struct model *m, const struct vector *v);

#endif
