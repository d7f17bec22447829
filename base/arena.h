/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/error.h"
#include "base/types.h"

/*
 * An arena hands out memory that lives until the whole arena is released: metadata, type tables,
 * names.  Zero-initialise, use, arena_release().  Memory is zeroed and aligned to 16 bytes.
 * arena_alloc() and friends return NULL when memory is out or the arena's limit is reached;
 * limit_bytes (0 = none) keeps hostile input from growing it without end.
 */
struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes;  /* handed out so far */
	size_t limit_bytes; /* set by the owner before use; 0 = none */
	bool reached_limit; /* something was refused for it */
};

void *arena_alloc(struct arena *a, size_t len_bytes);
char *arena_strndup(struct arena *a, const char *s, size_t len_bytes);
char *arena_strdup(struct arena *a, const char *s);
void arena_release(struct arena *a);

/* What opening @path came to: -ENOMEM for the limit's sake is the file's fault, -E2BIG, and @err
 * says so.  Any other @ret as it is. */
int arena_blame(const struct arena *a, int ret, const char *path, struct error *err);

#endif
