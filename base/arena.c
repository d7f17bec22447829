/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Many arenas hold a few names: their first block is small. */
#define ARENA_FIRST_BYTES (4 * 1024)
#define ARENA_BLOCK_BYTES (64 * 1024)
#define ARENA_ALIGN 16

struct arena_block {
	struct arena_block *next;
	size_t len_bytes;
	size_t used_bytes;
	_Alignas(ARENA_ALIGN) unsigned char data[];
};

static struct arena_block *block_new(size_t len_bytes)
{
	struct arena_block *b = calloc(1, sizeof(*b) + len_bytes);

	if (b)
		b->len_bytes = len_bytes;
	return b;
}

void *arena_alloc(struct arena *a, size_t len_bytes)
{
	struct arena_block *b = a->head;
	void *p;

	if (len_bytes > SIZE_MAX / 2)
		return NULL;
	len_bytes = (len_bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (a->limit_bytes && len_bytes > a->limit_bytes - a->used_bytes) {
		a->reached_limit = true;
		return NULL;
	}
	if (!b || b->len_bytes - b->used_bytes < len_bytes) {
		size_t usual = b ? ARENA_BLOCK_BYTES : ARENA_FIRST_BYTES;
		bool large = len_bytes > usual / 4;

		b = block_new(large ? len_bytes : usual);
		if (!b)
			return NULL;
		if (large && a->head) { /* keep filling the current block afterwards */
			b->next = a->head->next;
			a->head->next = b;
		} else {
			b->next = a->head;
			a->head = b;
		}
	}
	p = b->data + b->used_bytes;
	b->used_bytes += len_bytes;
	a->used_bytes += len_bytes;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len_bytes)
{
	char *p = arena_alloc(a, len_bytes + 1);

	if (p)
		memcpy(p, s, len_bytes);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->head;

	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->head = NULL;
	a->used_bytes = 0;
}

int arena_blame(const struct arena *a, int ret, const char *path, struct error *err)
{
	if (ret != -ENOMEM || !a->reached_limit)
		return ret;
	return fail(err, -E2BIG, "%s says of itself more than is sensible: over %zu MB", path,
		    a->limit_bytes >> 20);
}
