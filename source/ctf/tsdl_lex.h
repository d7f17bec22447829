/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_TSDL_LEX_H
#define SOURCE_CTF_TSDL_LEX_H

#include "base/types.h"

/*
 * Tokens of TSDL, CTF 1.8's metadata language.  A lexer is a plain value: copy it to look ahead.
 * Token texts point into the metadata.
 */
enum tsdl_kind { TSDL_END, TSDL_BAD, TSDL_WORD, TSDL_INT, TSDL_STRING, TSDL_PUNCT };

/* Punctuation of more than one character. */
enum { TSDL_ASSIGN_TYPE = 256 /* := */, TSDL_ELLIPSIS /* ... */, TSDL_ARROW /* -> */ };

struct tsdl_token {
	enum tsdl_kind kind;
	const char *text; /* STRING: what is between the quotes, escapes not yet resolved */
	size_t len;
	uint64_t value; /* INT: its value; a minus sign is punctuation */
	int punct;	/* PUNCT: the character or one of the above */
	char quote;	/* STRING: the one it stands in */
	unsigned line;
};

struct tsdl_lexer {
	const char *at, *end;
	unsigned line;
};

struct tsdl_token tsdl_next(struct tsdl_lexer *lx);

/* Resolves the escapes of a STRING token; returns the length written, at most @len. */
size_t tsdl_unescape(char *out, const char *text, size_t len);

#endif
