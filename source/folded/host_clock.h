/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_FOLDED_HOST_CLOCK_H
#define SOURCE_FOLDED_HOST_CLOCK_H

#include "base/arena.h"
#include "base/mapfile.h"
#include "channel/hypercalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The records of a file (docs/formats/hypercalls.md), which may be longer than those we know. */
struct folded_records {
	struct mapfile file;
	size_t record_bytes, nr;
};

/* Where it is in the file; as long as that is open. */
static inline const uint8_t *folded_record(const struct folded_records *f, size_t i)
{
	return f->file.data + sizeof(struct hc_header) + i * f->record_bytes;
}

void folded_record_at(const struct folded_records *f, size_t i, struct hc_record *out);

/*
 * Records have the time of CLOCK_MONOTONIC, in ns; the host's trace has ticks, which may be these
 * ns or those of its TSC. Between two moments at which both were read, one is a straight line of
 * the other.
 */
struct host_clock {
	bool ticks_are_ns;
	struct moment {
		uint64_t ns, tick;
	} * moments; /* in the arena, in order */
	size_t nr_moments;
};

/* Finds the moments, unless ticks are ns; 0 or -ENOMEM. */
int host_clock_find(struct host_clock *c, const struct folded_records *f, struct arena *arena);

/* False: it cannot be told. */
bool host_clock_tick(const struct host_clock *c, uint64_t ns, uint64_t *tick);

/*
 * When a record's events are, on the host's clock; *entry 0: not known.  An exit is not where its
 * TSC says: that is when the guest was left, and the thread may have been interrupted, and have
 * moved to another CPU, before KVM came to the event.  It is never before that.  False: it cannot
 * be told.
 */
bool host_clock_of(const struct host_clock *c, const struct hc_record *r, uint64_t *exit,
		   uint64_t *entry);

#endif
