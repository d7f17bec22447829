/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_JSON_H
#define SOURCE_CTF_JSON_H

#include <jansson.h>

#include "source/ctf/class.h"

/*
 * The parser of CTF 2 metadata, shared by json.c (fragments) and json_types.c (field classes).
 * Property names of the standard's drafts are taken too where traces with them exist.
 *
 * Integers: jansson's are signed; a literal above INT64_MAX was folded to the negative number with
 * the same 64 bits before parsing, so that an unsigned property is a cast away.
 */
#define JSON_MAX_ALIASES 4096

struct json_alias {
	const char *name;
	struct ctf_fc *fc;
};

struct json_parser {
	struct ctf_metadata *m;
	struct json_alias *aliases; /* [JSON_MAX_ALIASES], in the arena */
	unsigned nr_aliases;
	unsigned depth;
	struct problems *problems;
	struct error *err;
};

/* A field class: an object, or the name of an alias.  0 or -errno. */
int json_parse_fc(struct json_parser *p, const json_t *json, struct ctf_fc **out);

/* Properties of an object; absent ones leave *out as it is.  -EINVAL for another type. */
int json_get_uint(struct json_parser *p, const json_t *json, const char *key, uint64_t *out);
int json_get_text(struct json_parser *p, const json_t *json, const char *key, const char **out);

int json_oom(struct json_parser *p);

#endif
