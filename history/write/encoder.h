/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_WRITE_ENCODER_H
#define HISTORY_WRITE_ENCODER_H

#include "history/parts/node.h"
#include "history/parts/outfile.h"
#include "history/parts/snapshot.h"
#include "history/parts/totals.h"

/*
 * The encoder turns batches of changes, in the order they happened, into parts of the file.  It
 * is the only one that writes the file between open and close, and knows nothing of the threads
 * around it.
 */
struct change {
	ns_t t;
	uint32_t attr, value;
};

/* One slice's worth of changes.  All of it belongs to whoever holds the batch. */
struct batch {
	struct change *changes;
	uint32_t nr, room;
	ns_t end;	   /* all changes are earlier */
	bool last;	   /* of the history */
	uint32_t nr_attrs; /* attributes known when the batch was closed */
	uint8_t *flags;	   /* of attributes first_flag .. nr_attrs - 1 */
	uint32_t first_flag, flag_room;
	struct bytes names; /* names_put(): what is new since the batch before */
	struct batch *next;
};

struct encoder;

int encoder_new(struct encoder **out, struct outfile *file);
void encoder_batch(struct encoder *e, const struct batch *b);
/* Writes what waited for more to come; no batch may follow. */
void encoder_finish(struct encoder *e, ns_t end);
void encoder_free(struct encoder *e);

#endif
