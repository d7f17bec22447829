/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_READ_H
#define RECORD_STEAL_STOLEN_READ_H

#include "base/error.h"
#include "channel/stolen.h"

/*
 * What the host tells this guest, out of the memory that its module shows (docs/formats/stolen.md).
 * While it is open, the host is asked to tell.  One ring per CPU, by index; the module decides how
 * large they are, and no number of the host's leads out of them.
 */
#define STOLEN_DEVICE "/dev/sonde_stolen"

struct stolen_reader;

/* -ENOENT: there is no such device; -EINVAL: it shows something else. */
int stolen_reader_open(struct stolen_reader **out, const char *path, struct error *err);
void stolen_reader_close(struct stolen_reader *r);
unsigned stolen_reader_nr(const struct stolen_reader *r);

/* What was told last of this CPU; false when nothing was. */
bool stolen_reader_told(const struct stolen_reader *r, unsigned cpu, struct st_told *out);

/* Up to @room records of this CPU from number *@next (0 the first) on, as @told has them; *@next
 * goes behind them, *@missed counts those that had been written over.  Returns how many. */
unsigned stolen_reader_take(const struct stolen_reader *r, unsigned cpu, const struct st_told *told,
			    struct st_record *out, unsigned room, uint64_t *next, uint64_t *missed);

#endif
