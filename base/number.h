/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * A number of 64 bits as users write it: decimal, 0x... or 0..., with a sign or without; above
 * INT64_MAX it stands for the negative number that has its bits, as in KVM's debugfs, which prints
 * a TSC offset signed or unsigned as it likes.  False when @text is anything else, or more.
 */
static inline bool number_parse(const char *text, int64_t *out)
{
	char *end;

	if ((unsigned char)*text <= ' ') /* blanks, which strtoull() would skip */
		return false;
	errno = 0;
	*out = strtoll(text, &end, 0);
	if (errno == ERANGE && *text != '-') {
		errno = 0;
		*out = (int64_t)strtoull(text, &end, 0);
	}
	return !errno && end != text && !*end;
}

#endif
