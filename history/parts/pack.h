/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_PACK_H
#define HISTORY_PARTS_PACK_H

#include "history/parts/format.h"

/*
 * Packed parts.  The plain form of a part lets any entry be read without the others, and that
 * costs bits.  Where a part takes much less room without it, the file has it packed instead: a
 * reader unpacks it whole, once, into the plain form it reads from.
 *
 * A packed part is columns of bytes, each compressed on its own with zstd, and a row of plain bits.
 * A number has its size and first bits in a column, and the others in the row.  Kernels repeat
 * themselves, so most of it is foreseen (pack_model.h): a value by the two before it, the time a
 * value stays by how long it stayed before the same one, and the moment at which a thread changes
 * by the moments at which the CPUs do.
 *
 * Parts of kinds that are nodes, and totals, can be packed; docs/formats/history.md has the bytes.
 */

/* A part with more entries (changes, runs) or rows stays plain, or with more in its snapshot or its
 * totals: the bound of a reader's memory. */
#define PACK_ENTRIES_MAX (1u << 19)
#define PACK_LIST_MAX (1u << 21)
/* Columns are at most so many times as long as the payload, and so long together: an entry is five
 * symbols at most, a row six, an attribute of a snapshot three. */
#define PACK_RATIO_MAX 1024
#define PACK_COLUMNS_MAX (11ull * PACK_ENTRIES_MAX + 3ull * PACK_LIST_MAX)

/* Work memory of the writer, about 1 MB and what the largest part takes. */
struct pack;
struct pack *pack_new(void);
void pack_free(struct pack *p);

/* Guesses from some changes of a slice whether packing may make it smaller by a third.  This costs
 * a tenth of trying it. */
bool pack_promises(struct pack *p, const struct bytes *slice);

/* Writes the packed form of a payload to @out, which it clears.  False: this part cannot be
 * packed, or memory is out. */
bool pack_part(struct pack *p, enum part_kind kind, const struct bytes *plain, struct bytes *out);

/* Work memory of a reader, about as much. */
struct unpack;
struct unpack *unpack_new(void);
void unpack_free(struct unpack *u);

/* Appends the plain form of a packed payload.  0, -ENOMEM, or -EIO when its bytes make no sense. */
int unpack_part(struct unpack *u, enum part_kind kind, const uint8_t *from, uint64_t len_bytes,
		struct bytes *plain);

#endif
