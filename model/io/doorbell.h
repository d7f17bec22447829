/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IO_DOORBELL_H
#define MODEL_IO_DOORBELL_H

struct model;

/*
 * Which interrupt answers which doorbell.
 *
 * A guest tells each queue of a device by an address of its own (virtio's legacy devices: by the
 * queue's number at a port of the device's own), and the device answers by the
 * vector that the guest gave that queue: neither is the other's as long as the guest runs.  Where
 * nothing but a kick is seen of a request, the next interrupt of the thread that took it up may be
 * another device's.  So all of a run is counted: which vector on which vCPU came after a kick at
 * which address.
 *
 * A vector is that address's when it came after kicks there twice at least, when no more than a
 * tenth of what it came after were kicks elsewhere, and when it is no stray: a tenth at least of
 * the answers of that address, and most of these from its first one to its last one.  (A vector
 * moves to another vCPU now and then, so an address has more than one, but one after the other.)
 * The shares alone would not do: where much is lost, two strays are a tenth.
 *
 * Where a trace does not say at which address (no kvm_mmio, kvm_fast_mmio or kvm_pio), it is known
 * only if one vector answered all kicks of that VM.
 */

/* At the end, when VMs have been grouped: sets request.answered. */
void doorbells_settle(struct model *m);

#endif
