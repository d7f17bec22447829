/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_TSC_H
#define CLOCK_BOUNDS_TSC_H

#include "clock/bounds/coincide.h"

/*
 * The exact way: both machines' traces count cycles of the same counter, and the hypervisor's trace
 * has the offset it gave the guest's (kvm_write_tsc_offset):
 *
 *	guest's TSC = hypervisor's TSC + offset
 *
 * A VM is given an offset several times while it starts, once per vCPU and more; the last one a
 * thread wrote counts.  An offset is only believed when it agrees with what else is known: with a
 * model that has a bound, and with containment; so one that changed in the middle of the trace, or
 * a scaled counter, falls back to bounds.
 */

/* Whether the counters of the two can be related like that at all. */
bool tsc_comparable(const struct sample *guest, const struct sample *host);

/* The last offset that thread @tid was given; false when there is none. */
bool tsc_offset_of(const struct sample *host, int32_t tid, int64_t *offset);

/* Whether @offset is what @model says, within its bound, all over the guest's trace. */
bool tsc_offset_fits(int64_t offset, const struct clock_model *model, const struct sample *guest);

/* The model that an offset makes; false when it leaves the range of clocks.  @from: where the
 * hypervisor's clock begins. */
bool tsc_piece(struct clock_piece *out, int64_t offset, uint64_t from);

/* Tries all offsets that the host wrote on the guest's busiest CPU, as coincide_find() does. */
int tsc_find(struct coincidence *out, const struct sample *guest, const struct sample *host);

#endif
