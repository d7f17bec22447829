/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and their packets.  A packet is a run of pages, or of compressed chunks, that is long
 * enough to be worth a thread's while and short enough that a stream has some hundred of them; a
 * stream never has more than about PACKETS_MAX, so that opening a huge trace, which looks at the
 * first page of every packet, stays quick.
 */
#include "source/dat/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES (256u << 10)
#define PACKETS_MAX 1024u
/* trace-cmd packs so many pages into a chunk.  Plain pages are grouped alike, so that a trace has
 * the same packets whether it is packed or not. */
#define CHUNK_PAGES 10
#define CHUNK_HEADER_BYTES 8
#define CHUNK_MAX_BYTES (16u << 20)
#define STREAMS_MAX 65536u
#define PAGES_AT_END 64 /* looked at for when a stream ends */

bool dat_chunk_next(const struct dat_stream *ds, uint64_t *pos, uint64_t end, struct dat_chunk *out)
{
	const struct dat_file *f = &ds->dat->file;
	const uint8_t *p = f->map.data + *pos;

	if (*pos + CHUNK_HEADER_BYTES > end) {
		*pos = end;
		return false;
	}
	out->packed_len = load32(p, f->swap);
	out->len_bytes = load32(p + 4, f->swap);
	out->packed = p + CHUNK_HEADER_BYTES;
	if (!out->packed_len || out->packed_len > end - *pos - CHUNK_HEADER_BYTES ||
	    !out->len_bytes || out->len_bytes > CHUNK_MAX_BYTES) {
		*pos = end;
		return false;
	}
	*pos += CHUNK_HEADER_BYTES + (uint64_t)out->packed_len;
	return true;
}

static void packet_add(struct stream *s, uint32_t room, uint64_t offset, uint64_t len,
		       uint64_t unpacked)
{
	if (s->nr_packets < room)
		s->packets[s->nr_packets++] = (struct packet){
			.offset_bytes = offset, .len_bytes = len, .unpacked_bytes = unpacked};
}

static uint64_t units_per_packet(uint64_t nr_units, uint32_t unit_bytes)
{
	uint64_t least = PACKET_BYTES / unit_bytes ? PACKET_BYTES / unit_bytes : 1;
	uint64_t most = (nr_units + PACKETS_MAX - 1) / PACKETS_MAX;

	return least > most ? least : most;
}

static int plain_packets(struct stream *s, const struct dat_stream *ds)
{
	uint32_t chunk = CHUNK_PAGES * ds->page_size;
	uint64_t step = units_per_packet((ds->len_bytes + chunk - 1) / chunk, chunk) * chunk;
	uint64_t end = ds->offset_bytes + ds->len_bytes;
	uint32_t room = PACKETS_MAX + 1;

	s->packets = calloc(room, sizeof(*s->packets));
	if (!s->packets)
		return -ENOMEM;
	for (uint64_t pos = ds->offset_bytes; pos < end; pos += step)
		packet_add(s, room, pos, end - pos < step ? end - pos : step, 0);
	return 0;
}

/* Room for the packets, when the first chunk tells how large they are.  Returns chunks a packet. */
static uint64_t packed_room(struct stream *s, uint32_t nr_chunks, const struct dat_chunk *first,
			    uint32_t *room)
{
	uint64_t step = units_per_packet(nr_chunks, first->len_bytes);

	*room = (uint32_t)(nr_chunks / step + 1);
	s->packets = calloc(*room, sizeof(*s->packets));
	return s->packets ? step : 0;
}

static void chunks_broken(struct dat *d, const struct stream *s, uint64_t at, uint64_t end,
			  uint32_t chunk, uint32_t nr)
{
	dat_problem(
		&d->file, at,
		"chunk %u of CPU %d's %u is damaged or cut off; the rest of this CPU is skipped",
		chunk, s->cpu, nr);
	d->file.trace->loss.bytes_skipped += end - at;
	d->file.trace->loss.unknown++;
}

static int packed_packets(struct dat *d, struct stream *s, struct dat_stream *ds)
{
	uint64_t end = ds->offset_bytes + ds->len_bytes;
	uint64_t pos = ds->offset_bytes + 4;
	uint64_t begin = pos; /* of the packet that is being filled */
	uint64_t step = 0;
	uint64_t in_packet = 0, unpacked = 0;
	uint32_t room = 0;
	bool broken = false;
	uint32_t nr;

	if (ds->len_bytes < 4)
		return 0;
	nr = load32(d->file.map.data + ds->offset_bytes, d->file.swap);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t at = pos;
		struct dat_chunk c;

		if (!dat_chunk_next(ds, &pos, end, &c)) {
			chunks_broken(d, s, at, end, i, nr);
			broken = s->cut = true;
			pos = at;
			break;
		}
		if (!i && nr > ds->len_bytes / CHUNK_HEADER_BYTES)
			nr = (uint32_t)(ds->len_bytes / CHUNK_HEADER_BYTES);
		if (!i && !(step = packed_room(s, nr, &c, &room)))
			return -ENOMEM;
		if (ds->chunk_max < c.len_bytes)
			ds->chunk_max = c.len_bytes;
		unpacked += c.len_bytes;
		if (++in_packet == step) {
			packet_add(s, room, begin, pos - begin, unpacked);
			mapfile_forget(&d->file.map, begin, pos - begin);
			begin = pos;
			in_packet = unpacked = 0;
		}
	}
	if (in_packet)
		packet_add(s, room, begin, pos - begin, unpacked);
	if (!broken && end - pos > CHUNK_HEADER_BYTES) {
		dat_problem(&d->file, pos, "CPU %d has more data than its %u chunks; it is skipped",
			    s->cpu, nr);
		d->file.trace->loss.bytes_skipped += end - pos;
	}
	return 0;
}

struct page_run dat_stream_run(const struct dat_stream *ds)
{
	const uint8_t *data = ds->dat->file.map.data + ds->offset_bytes;

	return (struct page_run){.d = ds->dat,
				 .begin = data,
				 .end = data + ds->len_bytes,
				 .page_size = ds->page_size};
}

static uint64_t time_of_next(const struct page_run *run, const uint8_t *page, const uint8_t *end)
{
	struct page_head head;

	page += run->page_size;
	return page < end &&
			       page_head_read(run->d, page, run->page_size, (uint64_t)(end - page),
					      &head) &&
			       head.len_bytes
		       ? head.time
		       : 0;
}

/* The first page that is believed tells when the packet begins; false when there is none.  *next:
 * when the one behind it does; 0 not known. */
static bool packet_look(struct page_run *run, const uint8_t *pages, const uint8_t *end,
			struct packet *p, uint64_t *next)
{
	uint64_t last = 0;

	page_last_before(run, pages, &last);
	for (; pages < end; pages += run->page_size) {
		struct page_look look;

		if (page_judge(run, pages, &look) == PAGE_HOLDS &&
		    !page_is_astray(run, pages, &look, last)) {
			p->begin = look.head.time;
			p->lost = look.head.lost;
			*next = time_of_next(run, pages, end);
			return true;
		}
		if (end - pages <= run->page_size)
			break;
	}
	return false;
}

static bool packed_look(struct dat *d, const struct dat_stream *ds, struct packet *p, uint8_t *buf,
			uint64_t *next)
{
	uint64_t pos = p->offset_bytes;
	struct dat_chunk c;

	while (dat_chunk_next(ds, &pos, p->offset_bytes + p->len_bytes, &c)) {
		struct page_run run = {
			.d = d, .begin = buf, .end = buf + c.len_bytes, .page_size = ds->page_size};

		if (!unpack(&d->file.unpacker, d->file.packing, c.packed, c.packed_len, buf,
			    c.len_bytes) &&
		    packet_look(&run, run.begin, run.end, p, next))
			return true;
	}
	return false;
}

static bool plain_look(const struct dat_stream *ds, struct packet *p, uint64_t *next)
{
	const uint8_t *pages = ds->dat->file.map.data + p->offset_bytes;
	struct page_run run = dat_stream_run(ds);

	return packet_look(&run, pages, pages + p->len_bytes, p, next);
}

/* @last may be shorter: a file's end. */
static bool same_bytes(const struct page_run *run, const uint8_t *page, const uint8_t *last)
{
	size_t left = (size_t)(run->end - last);

	return !memcmp(page, last, left < run->page_size ? left : run->page_size);
}

/* False when the last page cannot be read: until when it was is not known. */
static bool plain_ends_well(const struct dat_stream *ds)
{
	struct page_run run = dat_stream_run(ds);
	struct page_look look;
	const uint8_t *page, *last;
	uint64_t first, ahead = UINT64_MAX;

	if (run.begin == run.end)
		return true;
	page = last = run.begin + (ds->len_bytes - 1) / run.page_size * run.page_size;
	if (page_judge(&run, page, &look) != PAGE_HOLDS || look.head.time > ds->dat->latest)
		return false;
	first = look.head.time;
	for (unsigned i = 0; i < PAGES_AT_END && page > run.begin; i++) {
		struct page_head head;

		page -= run.page_size;
		if (!page_head_read(run.d, page, run.page_size, run.page_size, &head))
			continue;
		if (head.time < first)
			first = head.time;
		if (head.time < look.head.time ||
		    (head.time == look.head.time && !same_bytes(&run, page, last)))
			continue;
		if (head.time - look.head.time < ahead)
			ahead = head.time - look.head.time;
	}
	/* A later one that stands before it is not believed.  If it is near it belongs behind it;
	 * if it is the same, byte for byte, that is a page of an earlier time. */
	return ahead > look.head.time - first;
}

/* A packet of which nothing can be read begins where the next one does.  When none can be, the CPU
 * might as well not be there. */
static int packets_look(struct dat *d, struct stream *s, struct dat_stream *ds)
{
	uint8_t *buf = ds->packed ? malloc(ds->chunk_max) : NULL;
	bool any = !s->nr_packets;

	if (ds->packed && ds->chunk_max && !buf)
		return -ENOMEM;
	for (uint32_t i = s->nr_packets; i-- > 0;) {
		struct packet *p = &s->packets[i];
		bool found = ds->packed ? packed_look(d, ds, p, buf, &ds->second)
					: plain_look(ds, p, &ds->second);

		if (!found && i + 1 < s->nr_packets)
			p->begin = p[1].begin;
		else if (!found)
			s->cut = true;
		any |= found;
		mapfile_forget(&d->file.map, p->offset_bytes, p->len_bytes);
	}
	s->cut |= !any || (!ds->packed && !plain_ends_well(ds));
	free(buf);
	return 0;
}

/* Cuts a CPU's data to what is in the file; true when some is not.  trace-cmd does not count the
 * chunk count's own 4 bytes in the size it states. */
static bool clamp(struct dat *d, const struct dat_cpu *c, struct dat_stream *ds)
{
	uint64_t size = d->file.map.len_bytes;

	ds->offset_bytes = c->offset_bytes < size ? c->offset_bytes : size;
	ds->len_bytes = c->len_bytes;
	if (ds->packed && c->len_bytes && c->len_bytes <= UINT64_MAX - 4)
		ds->len_bytes += 4;
	if (ds->len_bytes <= size - ds->offset_bytes)
		return false;
	ds->len_bytes = size - ds->offset_bytes;
	dat_problem(
		&d->file, c->offset_bytes,
		"CPU %d's data, %llu bytes, reaches beyond the end of the file; what is there is "
		"used",
		c->cpu, (unsigned long long)c->len_bytes);
	d->file.trace->loss.unknown++;
	return true;
}

/* Sonde reads a buffer to its end, unless nobody takes any more (the disk is full), or it is
 * killed; then the count is of some moment before.  What others leave there may be what they
 * copied. */
static bool left_unread(struct dat *d, const struct dat_cpu *c)
{
	struct trace *t = d->file.trace;

	if (!c->stat_unread || strcmp(t->tracer, "sonde"))
		return false;
	dat_problem(&d->file, c->offset_bytes,
		    "CPU %d: recording ended before its last events were saved", c->cpu);
	return true;
}

static int stream_init(struct dat *d, struct stream *s, const struct dat_buffer *u,
		       const struct dat_cpu *c)
{
	struct trace *t = d->file.trace;
	struct dat_stream *ds = arena_alloc(&d->file.arena, sizeof(*ds));
	int ret;

	if (!ds)
		return -ENOMEM;
	ds->dat = d;
	ds->page_size = u->page_size;
	ds->packed = u->packed;
	ds->stat_lost = c->stat_lost;
	ds->stat_kept = c->stat_kept;
	ds->stat_least = c->stat_kept - c->stat_unread;
	ds->stat_oldest = c->stat_oldest;
	*s = (struct stream){.trace = t,
			     .path = t->path,
			     .buffer = u->name,
			     .cpu = c->cpu,
			     .read_to = c->stat_oldest,
			     .reader = ds};
	s->cut = clamp(d, c, ds);
	s->cut |= left_unread(d, c); /* both claim what they find */
	s->cut |= c->disputed;
	ret = ds->packed ? packed_packets(d, s, ds) : plain_packets(s, ds);
	if (!ret && ds->packed)
		ret = dat_cut_hollow(d, s, ds);
	if (!ret)
		ret = packets_look(d, s, ds);
	if (ret)
		return ret;
	ds->counted = calloc(s->nr_packets + 1, sizeof(*ds->counted));
	if (!ds->counted)
		return -ENOMEM;
	d->nr_packets += s->nr_packets;
	t->len_bytes += ds->len_bytes;
	t->loss.events += c->stat_lost;
	return 0;
}

/* One trace has one clock: that of the first buffer that holds anything. */
static const char *choose_clock(const struct dat_file *f)
{
	for (unsigned i = 0; i < f->nr_buffers; i++) {
		for (unsigned j = 0; j < f->buffers[i].nr_cpus; j++) {
			if (f->buffers[i].cpus[j].len_bytes && *f->buffers[i].clock)
				return f->buffers[i].clock;
		}
	}
	return f->trace->clock.name;
}

static bool buffer_usable(struct dat *d, const struct dat_buffer *u, const char *clock)
{
	if (!dat_page_size_ok(u->page_size)) {
		dat_problem(&d->file, u->section_bytes,
			    "buffer \"%s\" claims pages of %u bytes; it is skipped", u->name,
			    u->page_size);
		return false;
	}
	if (*u->clock && strcmp(u->clock, clock)) {
		dat_problem(
			&d->file, u->section_bytes,
			"buffer \"%s\" was recorded with clock \"%s\", the trace with \"%s\"; it "
			"is skipped",
			u->name, u->clock, clock);
		return false;
	}
	return true;
}

static int buffer_streams(struct dat *d, const struct dat_buffer *u, const char *clock)
{
	struct trace *t = d->file.trace;

	for (unsigned i = 0; i < u->nr_cpus; i++) {
		const struct dat_cpu *c = &u->cpus[i];
		int ret;

		if (c->cpu < 0 || c->cpu > UINT16_MAX) {
			dat_problem(&d->file, u->section_bytes, "there is no CPU %u",
				    (unsigned)c->cpu);
			continue;
		}
		if (!buffer_usable(d, u, clock)) {
			t->loss.bytes_skipped += dat_inside(&d->file, c->offset_bytes, c->len_bytes)
							 ? c->len_bytes
							 : 0;
			continue;
		}
		ret = stream_init(d, &t->streams[t->nr_streams++], u, c);
		if (ret)
			return ret;
		if (t->nr_cpus <= (unsigned)c->cpu)
			t->nr_cpus = (unsigned)c->cpu + 1;
	}
	return 0;
}

int dat_streams_init(struct dat *d, struct error *err)
{
	struct trace *t = d->file.trace;
	const char *clock = choose_clock(&d->file);
	size_t nr = 0;
	int ret = 0;

	dat_find_shifted(d);
	for (unsigned i = 0; i < d->file.nr_buffers; i++)
		nr += d->file.buffers[i].nr_cpus;
	if (nr > STREAMS_MAX)
		return fail(err, -EINVAL, "%s claims %zu CPU buffers", t->path, nr);
	t->streams = calloc(nr + 1, sizeof(*t->streams));
	if (!t->streams || dat_settle_claims(d))
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	t->nr_cpus = d->file.option_cpus;
	for (unsigned i = 0; i < d->file.nr_buffers && !ret; i++)
		ret = buffer_streams(d, &d->file.buffers[i], clock);
	if (!ret)
		ret = dat_find_far(d);
	for (unsigned i = 0; i < t->nr_streams && ret > 0; i++) {
		int again =
			packets_look(d, &t->streams[i], (struct dat_stream *)t->streams[i].reader);

		ret = again ? again : ret;
	}
	if (ret < 0)
		return fail(err, ret, "out of memory opening %s", t->path);
	if (!t->nr_streams)
		return fail(err, -EINVAL,
			    "%s holds no events that can be read: its options list no CPU's data",
			    t->path);
	if (clock != t->clock.name)
		snprintf(t->clock.name, sizeof(t->clock.name), "%s", clock);
	return 0;
}

void dat_streams_release(struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct dat_stream *ds = t->streams[i].reader;

		free(t->streams[i].packets);
		if (ds)
			free(ds->counted);
	}
	free(t->streams);
}
