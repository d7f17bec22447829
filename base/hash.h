/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/types.h"

#include <string.h>
#include <sys/auxv.h>

/*
 * Hashes of what a file or a guest says.  Who writes it must not be able to choose keys that all
 * fall on one slot, so that each look-up walks past all others: hashes depend on a secret, which
 * the kernel gives each process anew.
 *
 * So the order of slots differs from process to process.  Nothing that is shown or written may
 * depend on it.
 */

/* Odd.  The kernel's 16 random bytes (getauxval(3)) serve libc, too: none of them shows in the
 * result. */
static inline uint64_t hash_secret(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t word[2] = {0};

	if (random)
		memcpy(word, random, sizeof(word));
	word[0] = (word[0] ^ (word[1] << 32 | word[1] >> 32)) * 0x9e3779b97f4a7c15ull;
	return (word[0] ^ word[0] >> 29) | 1;
}

/* Both halves of a product that nobody can foresee: multiplication by a random odd factor is a
 * universal hash (Dietzfelbinger et al. 1997).  For each word of a key but the last. */
static inline uint64_t hash_fold(uint64_t key, uint64_t secret)
{
	unsigned __int128 product = (unsigned __int128)key * secret;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Any bits of it will do.  Twice, because equal steps between keys would now and then stay equal
 * steps between slots, and linear probing walk all of them. */
static inline uint64_t hash_mix(uint64_t key, uint64_t secret)
{
	return hash_fold(hash_fold(key, secret), secret);
}

#endif
