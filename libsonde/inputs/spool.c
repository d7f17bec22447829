/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/unnamed.h"

int spool_open(struct spool *s, struct error *err)
{
	*s = (struct spool){.fd = unnamed_file("the guests' events", err)};
	return s->fd < 0 ? s->fd : 0;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int put_extent(struct spool *s, struct spool_writer *w)
{
	if (w->nr &&
	    w->list[w->nr - 1].offset_bytes + w->list[w->nr - 1].len_bytes == s->len_bytes) {
		w->list[w->nr - 1].len_bytes += w->used;
		return 0;
	}
	if (!room_for_one(&w->list, w->nr, &w->room))
		return -ENOMEM;
	w->list[w->nr++] = (struct hyper_extent){s->len_bytes, w->used};
	return 0;
}

int spool_flush(struct spool *s, struct spool_writer *w)
{
	int ret = w->used ? put_extent(s, w) : 0;

	for (uint32_t done = 0; done < w->used && !ret;) {
		ssize_t n = pwrite(s->fd, w->chunk + done, w->used - done,
				   (off_t)(s->len_bytes + done));

		if (n < 0 && errno != EINTR)
			ret = -errno;
		done += n > 0 ? (uint32_t)n : 0;
	}
	s->len_bytes += w->used;
	w->used = 0;
	return ret;
}

int spool_put(struct spool *s, struct spool_writer *w, const void *block, uint32_t len)
{
	int ret = 0;

	if (!w->chunk) {
		w->chunk = malloc(SPOOL_CHUNK);
		if (!w->chunk)
			return -ENOMEM;
	}
	if (len > SPOOL_CHUNK - w->used)
		ret = spool_flush(s, w);
	if (ret)
		return ret;
	memcpy(w->chunk + w->used, block, len);
	w->used += len;
	return 0;
}

void spool_writer_release(struct spool_writer *w)
{
	free(w->chunk);
	free(w->list);
	memset(w, 0, sizeof(*w));
}
