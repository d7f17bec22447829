/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that unpack to far more than any recorder's and hold no events.  A few bytes can claim to
 * be megabytes of zeros; a file of such chunks would cost what it claims, not what it is.
 */
#include "source/dat/page.h"

#include <errno.h>
#include <stdlib.h>

/* Events become an eighth when packed, or so; pages with one event each may become far less, but
 * hold together and count for nothing here. */
#define HOLLOW_TIMES 64u
#define HOLLOW_ANYWAY (16u << 20) /* a short file may have lost a few chunks */

static uint64_t hollow_bytes(struct dat *d, const struct dat_stream *ds, const struct dat_chunk *c,
			     uint8_t *buf)
{
	struct page_run run = {
		.d = d, .begin = buf, .end = buf + c->len_bytes, .page_size = ds->page_size};
	uint64_t bytes = 0;

	if (unpack(&d->file.unpacker, d->file.packing, c->packed, c->packed_len, buf, c->len_bytes))
		return c->len_bytes;
	for (uint64_t at = 0; at < c->len_bytes; at += ds->page_size) {
		struct page_look look;

		if (page_judge(&run, buf + at, &look) != PAGE_HOLDS)
			bytes += ds->page_size;
	}
	return bytes;
}

/* False when with this packet there are too many: it ends with the chunk that made it so. */
static bool packet_fits(struct dat *d, const struct dat_stream *ds, struct packet *p, uint8_t *buf)
{
	uint64_t pos = p->offset_bytes, end = pos + p->len_bytes;
	struct dat_chunk c;

	if (p->unpacked_bytes / HOLLOW_TIMES <= p->len_bytes)
		return true;
	while (dat_chunk_next(ds, &pos, end, &c)) {
		d->hollow_bytes += hollow_bytes(d, ds, &c, buf);
		if (d->hollow_bytes > HOLLOW_ANYWAY &&
		    d->hollow_bytes / HOLLOW_TIMES > d->file.map.len_bytes) {
			p->len_bytes = pos - p->offset_bytes;
			return false;
		}
	}
	return true;
}

int dat_cut_hollow(struct dat *d, struct stream *s, const struct dat_stream *ds)
{
	uint8_t *buf = s->nr_packets ? malloc(ds->chunk_max) : NULL;
	uint64_t end = ds->offset_bytes + ds->len_bytes, at;
	uint32_t i = 0;

	if (s->nr_packets && !buf)
		return -ENOMEM;
	while (i < s->nr_packets && packet_fits(d, ds, &s->packets[i], buf))
		i++;
	free(buf);
	if (i == s->nr_packets)
		return 0;
	at = s->packets[i].offset_bytes + s->packets[i].len_bytes;
	s->nr_packets = i + 1;
	s->cut = true;
	d->file.trace->loss.bytes_skipped += end - at;
	d->file.trace->loss.unknown++;
	dat_problem(&d->file, at,
		    "CPU %d's chunks unpack to pages without events, over %u times the file; the "
		    "rest of this CPU is skipped",
		    s->cpu, HOLLOW_TIMES);
	return 0;
}
