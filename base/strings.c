/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t hash_of(const struct strings *s, const char *text, size_t len_bytes)
{
	return XXH3_64bits_withSeed(text, len_bytes, s->secret);
}

static int make_room(struct strings *s)
{
	uint32_t room = s->room ? s->room * 2 : 256;
	void *p;

	p = realloc(s->list, room * sizeof(*s->list));
	if (!p)
		return -ENOMEM;
	s->list = p;
	p = realloc(s->len_bytes, room * sizeof(*s->len_bytes));
	if (!p)
		return -ENOMEM;
	s->len_bytes = p;
	p = realloc(s->next, room * sizeof(*s->next));
	if (!p)
		return -ENOMEM;
	s->next = p;
	s->room = room;
	return 0;
}

static uint32_t add(struct strings *s, const char *text, size_t len_bytes, uint64_t hash)
{
	uint32_t *first = map_get(&s->by_hash, hash);
	uint32_t before = first ? *first : 0;
	char *copy;

	if (len_bytes >= UINT32_MAX || s->nr >= UINT32_MAX - 1)
		return UINT32_MAX;
	if (s->nr == s->room && make_room(s))
		return UINT32_MAX;
	copy = arena_strndup(&s->arena, text, len_bytes);
	if (!copy || map_put(&s->by_hash, hash, s->nr))
		return UINT32_MAX;
	s->list[s->nr] = copy;
	s->len_bytes[s->nr] = (uint32_t)len_bytes;
	s->next[s->nr] = before;
	return s->nr++;
}

static uint32_t find(const struct strings *s, const char *text, size_t len_bytes, uint64_t hash)
{
	const uint32_t *first = len_bytes ? map_get(&s->by_hash, hash) : NULL;

	if (!len_bytes)
		return 0;
	for (uint32_t id = first ? *first : 0; id; id = s->next[id]) {
		if (s->len_bytes[id] == len_bytes && !memcmp(s->list[id], text, len_bytes))
			return id;
	}
	return UINT32_MAX;
}

uint32_t strings_put(struct strings *s, const char *text, size_t len_bytes)
{
	uint64_t hash;
	uint32_t id;

	if (!s->nr) {
		s->secret = hash_secret();
		if (add(s, "", 0, hash_of(s, "", 0)) == UINT32_MAX)
			return UINT32_MAX;
	}
	hash = hash_of(s, text, len_bytes);
	id = find(s, text, len_bytes, hash);
	return id == UINT32_MAX ? add(s, text, len_bytes, hash) : id;
}

uint32_t strings_find(const struct strings *s, const char *text, size_t len_bytes)
{
	return find(s, text, len_bytes, hash_of(s, text, len_bytes));
}

const char *strings_get(const struct strings *s, uint32_t id)
{
	return id < s->nr ? s->list[id] : "";
}

void strings_release(struct strings *s)
{
	arena_release(&s->arena);
	map_release(&s->by_hash);
	free(s->list);
	free(s->len_bytes);
	free(s->next);
	memset(s, 0, sizeof(*s));
}
