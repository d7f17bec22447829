/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/wire_auth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef GRND_INSECURE
#define GRND_INSECURE 0x0004
#endif

int wire_token_load(struct wire_token *t, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, t->bytes, sizeof(t->bytes));
	int saved = errno;

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return fail(err, -saved, "cannot read the token file %s: %s", path,
			    strerror(saved));
	while (got && isspace(t->bytes[got - 1]))
		got--;
	t->len_bytes = (size_t)got;
	if (got < WIRE_TOKEN_MIN)
		return fail(err, -EINVAL,
			    "the token in %s is shorter than %u bytes; make one with: "
			    "head -c 32 /dev/urandom | base64",
			    path, WIRE_TOKEN_MIN);
	return 0;
}

void wire_prove(const struct wire_token *t, enum wire_side side, const struct wire_greeting *g,
		uint8_t proof[static WIRE_PROOF_BYTES])
{
	static const uint8_t roles[][16] = {
		[WIRE_FROM_CALLER] = "sonde caller",
		[WIRE_FROM_AGENT] = "sonde agent",
	};
	const uint8_t said[4] = {
		(uint8_t)g->version,
		(uint8_t)(g->version >> 8),
		(uint8_t)g->flags,
		(uint8_t)(g->flags >> 8),
	};
	struct hmac_sha256_ctx hmac;

	hmac_sha256_set_key(&hmac, t->len_bytes, t->bytes);
	hmac_sha256_update(&hmac, sizeof(roles[side]), roles[side]);
	hmac_sha256_update(&hmac, sizeof(said), said);
	hmac_sha256_update(&hmac, WIRE_NONCE_BYTES, g->caller_nonce);
	hmac_sha256_update(&hmac, WIRE_NONCE_BYTES, g->agent_nonce);
	hmac_sha256_digest(&hmac, WIRE_PROOF_BYTES, proof);
}

bool wire_proof_is_right(const struct wire_token *t, enum wire_side side,
			 const struct wire_greeting *g,
			 const uint8_t proof[static WIRE_PROOF_BYTES])
{
	uint8_t right[WIRE_PROOF_BYTES];

	wire_prove(t, side, g, right);
	return memeql_sec(right, proof, WIRE_PROOF_BYTES);
}

int wire_nonce(uint8_t nonce[static WIRE_NONCE_BYTES], bool secret, struct error *err)
{
	ssize_t got = getrandom(nonce, WIRE_NONCE_BYTES, GRND_NONBLOCK);

	if (got < 0 && errno == EAGAIN)
		got = getrandom(nonce, WIRE_NONCE_BYTES, secret ? 0 : GRND_INSECURE);
	if (got != WIRE_NONCE_BYTES)
		return fail(err, -EIO, "the kernel gives no random bytes: %s",
			    got < 0 ? strerror(errno) : "too few");
	return 0;
}
