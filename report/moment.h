/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MOMENT_H
#define REPORT_MOMENT_H

#include "query/outermost.h"
#include "base/members.h"
#include "sonde/history.h"

#include <stddef.h>

/* One moment in words: layers of a physical CPU, vCPUs, threads.  All write into the caller's
 * buffer. */

/* What layer @layer of a stack does: runs the vCPU inside it, or what its innermost thread does. */
void stack_does_text(const struct sonde_history *history, const struct sonde_stack *s,
		     unsigned layer, char *buf, size_t room);

/* True when a clock's error may have put @at on the wrong side of a change. */
bool stack_is_uncertain(const struct sonde_stack *s, int64_t at);

/* What the outermost machine's CPUs are called: "Physical CPUs", "vCPUs of L0", "CPUs of host0". */
void outermost_cpus_text(const struct sonde_history *history, char *buf, size_t room);

/* What a machine (a row) is: "VM", "nested VM", "physical machine"; an outermost one of which that
 * is not known: "host", or "machine" when it has no VM; one that is known to be a VM: "outermost
 * machine with a trace, itself a VM (kvm)", or, @brief, the last words of that.  "" for no row. */
void machine_kind_text(const struct sonde_history *history, int64_t machine, bool brief, char *buf,
		       size_t room);

/* Adds each VM to the group of the machine that it runs in (all are rows), in the order of rows. */
void list_vms(const struct sonde_history *history, struct members *vms);

/* Whether a PID namespace (a row, or -1) is a container: all are but a machine's first. */
bool is_container(const struct sonde_history *history, int64_t pid_ns);

/* The container that a thread (a row) is in; "" for none. */
void container_text(const struct sonde_history *history, int64_t thread, char *buf, size_t room);

/* Who had the CPU while a vCPU (a row) was ready to run, and why it lost it: "instead of it
 * h-burn[519] on host0; its time was up"; "" when nothing is known, or it was not ready. */
void vcpu_off_text(struct sonde_history *history, int64_t vcpu, int64_t at, char *buf, size_t room);

/* What a waiting vCPU waits for: "for timer local_timer: its own thread found ..."; "" as above. */
void vcpu_wait_text(struct sonde_history *history, int64_t vcpu, int64_t at, char *buf,
		    size_t room);

#endif
