/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_RECORD_RINGS_H
#define CMD_RECORD_RECORD_RINGS_H

#include "cmd/common/command.h"
#include "cmd/record/record_guests.h"
#include "record/directory/run.h"

/*
 * Guests that keep their events in memory for their host to read: each becomes a machine of the
 * run, with a file "hypertrace" in its folder.  @out stays NULL, and all else does nothing, where
 * rings are not to be read.
 */
struct record_rings;

int record_rings_start(struct record_rings **out, const struct invocation *inv,
		       const struct guest_options *opt, struct guests *guests, struct run *run,
		       struct run_machine *host, struct error *err);
void record_rings_tick(struct record_rings *r);

/* Reads what is left; what is known is in the run's machines from then on. */
void record_rings_stop(struct record_rings *r);
void record_rings_print(const struct record_rings *r, FILE *out);
void record_rings_json(const struct record_rings *r, struct json *j);
void record_rings_close(struct record_rings *r);

#endif
