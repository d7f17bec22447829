/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_TSDL_H
#define SOURCE_CTF_TSDL_H

#include "source/ctf/class.h"
#include "source/ctf/tsdl_lex.h"

/*
 * The TSDL parser, shared by tsdl.c (blocks: trace, env, clock, stream, event), tsdl_types.c
 * (types and declarations) and tsdl_attrs.c (types without members).  Recursive descent, one token
 * of look-ahead in @tok.
 *
 * Every function returns 0 or a negative errno; the first failure has set @err and ends the parse.
 */
#define TSDL_BUCKETS 1024

/* A named type: "struct packet_context", "unsigned long". */
struct tsdl_name {
	struct tsdl_name *next_in_bucket;
	struct tsdl_name *next_in_scope;
	unsigned bucket;
	const char *name;
	struct ctf_fc *fc;
};

struct tsdl {
	struct ctf_metadata *m;
	struct tsdl_lexer lx;
	struct tsdl_token tok;
	struct tsdl_name *buckets[TSDL_BUCKETS];
	struct tsdl_name *scope; /* names of the innermost open scope, newest first */
	unsigned depth;
	struct problems *problems;
	struct error *err;
};

/* A value on the right of "=". */
struct tsdl_value {
	enum { TSDL_VALUE_INT, TSDL_VALUE_TEXT, TSDL_VALUE_WORD } kind;
	bool negative;
	int64_t number;
	const char *text; /* TEXT and WORD: in the arena; words of a path joined by '.' */
	size_t len;	  /* of TEXT, which may have a NUL in it */
};

int tsdl_fail(struct tsdl *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tsdl_advance(struct tsdl *p);
bool tsdl_is(const struct tsdl *p, int punct);
bool tsdl_is_word(const struct tsdl *p, const char *word);
int tsdl_expect(struct tsdl *p, int punct);
bool tsdl_accept(struct tsdl *p, int punct);
int tsdl_parse_value(struct tsdl *p, struct tsdl_value *out);
int tsdl_oom(struct tsdl *p);

/* Scopes for type names; a block and a struct body open one each. */
struct tsdl_name *tsdl_scope_open(struct tsdl *p);
void tsdl_scope_close(struct tsdl *p, struct tsdl_name *outer);

/* True when the current token begins a declaration of types (typealias, struct name {...}). */
bool tsdl_at_declaration(const struct tsdl *p);
int tsdl_parse_declaration(struct tsdl *p);

/* A type on the right of ":=", a copy of its own. */
int tsdl_parse_type(struct tsdl *p, struct ctf_fc **out);

/* What stands behind the words "integer", "floating_point" and "string". */
int tsdl_parse_integer(struct tsdl *p, struct ctf_fc **out);
int tsdl_parse_float(struct tsdl *p, struct ctf_fc **out);
int tsdl_parse_string(struct tsdl *p, struct ctf_fc **out);
/* The alignment that an attribute, or a structure's "align(N)", says. */
int tsdl_set_align(struct tsdl *p, const struct tsdl_value *v, struct ctf_fc *fc);

#endif
