/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include "base/arena.h"
#include "base/map.h"

/*
 * A string table: every distinct byte string once, known by a small number from then on.
 * Id 0 is always the empty string.  Zero-initialise, strings_release() at the end.
 */
struct strings {
	struct arena arena;
	struct map by_hash;
	const char **list;   /* owned array; the strings live in the arena, NUL-terminated */
	uint32_t *len_bytes; /* owned, beside list */
	uint32_t *next;	     /* owned: the next string with the same hash, or 0 */
	uint32_t nr;
	uint32_t room;
	uint64_t secret; /* of the hashes, while there is a string */
};

/* The id of the string, added if new.  UINT32_MAX when memory is out. */
uint32_t strings_put(struct strings *s, const char *text, size_t len_bytes);

/* Its id; UINT32_MAX when it is not there. */
uint32_t strings_find(const struct strings *s, const char *text, size_t len_bytes);

/* The string with this id; "" for an id that was never given out. */
const char *strings_get(const struct strings *s, uint32_t id);

void strings_release(struct strings *s);

#endif
