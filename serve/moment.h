/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_MOMENT_H
#define SERVE_MOMENT_H

#include "sonde/run.h"

/*
 * What is known of a moment beyond the value of one attribute: for the page and for other viewers,
 * which tell it in their own forms.
 */

/* Values of a vCPU's state, docs/formats/schema.md. */
#define VCPU_PREEMPTED 3
#define VCPU_WAITING 4

/* What ended, or will end, the wait of vCPU @row that @t is in: known from the VM entry behind it.
 */
bool moment_wake(struct sonde_run *run, int64_t row, int64_t t, struct sonde_wake *out);

/* Why its thread lost the CPU; SONDE_OFF_UNKNOWN. */
enum sonde_off moment_off(struct sonde_run *run, int64_t row, int64_t t);

/* Who ran at @t while vCPU @row was ready to: rows of a thread and of its machine, -1 unknown.
 * 1 found, 0 not, or -errno. */
int moment_culprit(struct sonde_run *run, int64_t row, int64_t t, int64_t *thread,
		   int64_t *machine);

/* The thread in a vCPU, -1 unknown. */
int64_t moment_task(struct sonde_run *run, int64_t row, int64_t t);

/* The innermost container of a thread, then the one around it with the result as @inside, and so
 * on; -1: no more. */
int64_t moment_container(struct sonde_run *run, int64_t thread, int64_t inside);

#endif
