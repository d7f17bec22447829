/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_EXACT_H
#define CLOCK_EXACT_H

#include "clock/align.h"
#include "clock/sample/declared.h"

/*
 * The exact way, by what the host lists of its VMs' vCPUs (clock/sample/declared.h):
 *
 *	guest's TSC = (host's TSC * ratio >> bits) + offset
 *
 * What is listed is put to the test: hypercalls that both sides recorded, and everything that the
 * guest's CPUs did, must fit.  Of several listed relations the one that does is taken; one that
 * breaks more than one in a hundred of what was tested is not believed.  While a guest runs a guest
 * of its own, KVM shows the sum of both offsets: what the guest lists itself tells them apart.
 * Where an offset was changed (kvm_write_tsc_offset), there are two pieces.
 */

/* The host's ticks that the guest shows as @x, and the guest's at the host's @y. */
__int128 exact_to_host(const struct tsc_relation *r, uint64_t x);
__int128 exact_to_guest(const struct tsc_relation *r, uint64_t y);

/* The relation as a model for guest ticks from @first to @last; its bound is what rounding leaves:
 * 0 when it is not scaled.  -ERANGE when it leaves the range of clocks. */
int exact_model(struct clock_model *out, const struct tsc_relation *r, uint64_t first,
		uint64_t last, struct error *err);

/* The same when @before counted until the host's tick @at, and @after does from there on.  -ERANGE,
 * too, when that sets the guest's counter back: what it showed twice cannot be told apart. */
int exact_changed_model(struct clock_model *out, const struct tsc_relation *before,
			const struct tsc_relation *after, uint64_t at, uint64_t first,
			uint64_t last, struct error *err);

/* Parent ticks per guest tick, times 2^CLOCK_SHIFT. */
uint64_t exact_mult(const struct tsc_relation *r);

/* The relation that counts until another is proven: the one listed most often; false when none is,
 * or the clocks of the two do not count cycles. */
bool exact_listed(const struct candidate *guest, const struct candidate *host,
		  struct tsc_relation *out);

/*
 * Sets p->machine->to_parent to the exact model and says in the machine's evidence what it rests
 * on: 1.  0: nothing is listed, or it is contradicted, and then p->candidate->refuted says why;
 * to_parent is left as it was.  @pairs: constraints in the parent's ticks.  @rough: without a test.
 */
int exact_align(struct placed *p, const struct constraints *pairs, bool rough, struct error *err);

#endif
