/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/types.h"

/* Bytes of the well-formed UTF-8 character at @s (NUL-terminated text), 1 to 4; 0 when there is
 * none: a stray or overlong byte, a surrogate, beyond U+10FFFF. */
static inline unsigned utf8_length(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned len = u[0] < 0x80 ? 1 : u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;

	if (len == 1)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return len;
}

/* Whether the character at @s, which is one, is a control character: terminals obey U+0080 to
 * U+009F, too. */
static inline bool utf8_is_control(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	return u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
}

#endif
