/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_REMOTE_WIRE_AUTH_H
#define RECORD_REMOTE_WIRE_AUTH_H

#include "record/remote/wire.h"

/*
 * Both ends prove that they know the token, and neither sends it: each sends
 * HMAC-SHA256(token, role | version | flags | caller's nonce | agent's nonce).  The role keeps one
 * end's proof from being the other's; the nonces keep it from being used again.  The arithmetic is
 * GNU Nettle's, linked statically: a guest's kernel may lack AF_ALG, and 37 KB is what it costs.
 *
 * What follows is neither encrypted nor signed: a token keeps strangers from starting and feeding
 * recordings, it does not hide a recording from who can read the network.
 */
#define WIRE_PROOF_BYTES 32
#define WIRE_TOKEN_MIN 16
#define WIRE_TOKEN_MAX 1024

struct wire_token {
	uint8_t bytes[WIRE_TOKEN_MAX];
	size_t len_bytes; /* 0: no token */
};

/* The file's bytes without white space at the end. */
int wire_token_load(struct wire_token *t, const char *path, struct error *err);

/* The proof of who is @side. */
void wire_prove(const struct wire_token *t, enum wire_side side, const struct wire_greeting *g,
		uint8_t proof[static WIRE_PROOF_BYTES]);

bool wire_proof_is_right(const struct wire_token *t, enum wire_side side,
			 const struct wire_greeting *g,
			 const uint8_t proof[static WIRE_PROOF_BYTES]);

/* Bytes nobody can foretell; waits for the kernel's generator when @secret, else takes what it has
 * (a guest that boots may have gathered nothing yet). */
int wire_nonce(uint8_t nonce[static WIRE_NONCE_BYTES], bool secret, struct error *err);

#endif
