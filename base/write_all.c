/* SPDX-License-Identifier: Apache-2.0 */
#include "base/write_all.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t len_bytes)
{
	const uint8_t *next = data;

	while (len_bytes) {
		ssize_t n = write(fd, next, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		next += n;
		len_bytes -= (size_t)n;
	}
	return 0;
}
