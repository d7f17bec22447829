/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MOMENT_H
#define REPORT_MOMENT_H

#include "sonde/run.h"

#include <stddef.h>

/* One moment in words: layers of a physical CPU, vCPUs, threads.  All write into the caller's
 * buffer. */

/* What layer @layer of a stack does: runs the vCPU inside it, or what its innermost thread does. */
void stack_does_text(const struct sonde_run *run, const struct sonde_stack *s, unsigned layer,
		     char *buf, size_t room);

/* True when a clock's error may have put @at on the wrong side of a change. */
bool stack_is_uncertain(const struct sonde_stack *s, int64_t at);

/* Whether the outermost machine with a trace has said, or its hypercalls show, that it is a VM:
 * then its CPUs are vCPUs, whose host has no trace. */
bool outermost_is_vm(const struct sonde_run *run);

/* What a machine (a row) is: "VM", "nested VM", "physical machine"; an outermost one that is known
 * to be a VM: "outermost machine with a trace, itself a VM (kvm)", or, @brief, the last
 * words of that.  "" for no row. */
void machine_kind_text(const struct sonde_run *run, int64_t machine, bool brief, char *buf,
		       size_t room);

/* Whether a PID namespace (a row, or -1) is a container: all are but a machine's first. */
bool is_container(const struct sonde_run *run, int64_t pid_ns);

/* The container that a thread (a row) is in; "" for none. */
void container_text(const struct sonde_run *run, int64_t thread, char *buf, size_t room);

/* Who had the CPU while a vCPU (a row) was ready to run, and why it lost it: "instead of it
 * h-burn[519] on host0; its time was up"; "" when nothing is known, or it was not ready. */
void vcpu_off_text(struct sonde_run *run, int64_t vcpu, int64_t at, char *buf, size_t room);

/* What a waiting vCPU waits for: "for timer local_timer: its own thread found ..."; "" as above. */
void vcpu_wait_text(struct sonde_run *run, int64_t vcpu, int64_t at, char *buf, size_t room);

#endif
