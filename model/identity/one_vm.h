/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_ONE_VM_H
#define MODEL_IDENTITY_ONE_VM_H

#include "model/state/state.h"

/*
 * Which vCPUs are one VM, where that has no trace, or its trace lacks them: decided at the end, on
 * all that was seen.
 *
 * Evidence, in this order:
 *
 *	process    Their threads are of one process: a state dump, or fork events, say so.  ftrace's
 *	           fork event alone names only who made a thread; a VMM's threads are all made by
 *	           its main thread, so that counts as the process.
 *	           A number is one process as long as threads of it are
 *	           there together; a fork that makes it anew ends it.
 *	wake-ups   One has, on a VM exit, woken the other, not from within an interrupt handler:
 *	           that is how KVM delivers an interrupt between vCPUs.  This joins a vCPU with
 *	           a VM that has a trace, too, if that one knows of a CPU of this number and
 *	           has no events of it: its stream is lost.
 *	nested     They entered the same nested vCPU (address of its vmcb12 or vmcs12) with the
 *	           same page table: it moved from one to the other.  Equal images use equal
 *	           addresses, so this counts only if all who did can be one VM.
 *	guests     A guest with a trace was seen to run in both; or it is not known where it ran,
 *	           and only one VM was seen to run guests.  If there are several, "vm-unknown"
 *	           stands for the one.
 *
 * Of a VM with a trace are those, too, whose thread turns out to be of its process: both processes
 * are known, not only who made their threads, had threads at one time, and no number was run by
 * two.  A guest of such a vCPU that nothing tells apart is then "a guest of it", as it is where the
 * VM's own trace does not tell which: context and exit name that vCPU, and nobody whom it serves.
 *
 * Only processes join vCPUs of the same number, and nothing those of different processes.  Where
 * all that one kind of evidence holds together cannot be one by that, it joins nothing of it
 * (one_vm_evidence.h).  What remains apart stands as machines of their own, with the evidence,
 * or the lack of it, in words.
 */

void group_note_wakeup(struct cpu *waker, struct cpu *woken);
void group_vms(struct model *m);

#endif
