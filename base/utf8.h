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

/* The number of the character at @s, which is one. */
static inline uint32_t utf8_code(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] < 0x80)
		return u[0];
	if (u[0] < 0xe0)
		return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
	if (u[0] < 0xf0)
		return (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
	return (u[0] & 7u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
}

/* Whether it is one that nobody sees, but that makes two names look alike, or turns round the order
 * in which the rest of a line is shown (Unicode's general category Cf, and its separators of lines
 * and paragraphs). */
static inline bool utf8_is_unseen(const char *s)
{
	static const uint32_t ranges[][2] = {
		{0xad, 0xad},	  {0x61c, 0x61c},   {0x180e, 0x180e},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
	uint32_t code = utf8_code(s);

	for (size_t i = 0; code >= 0x80 && i < ARRAY_SIZE(ranges); i++) {
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	}
	return false;
}

#endif
