/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the headers of all blocks, when a trace is opened: where each CPU's blocks are,
 * what is missing between them, and the tables. */
#include "base/grow.h"
#include "source/hyper/hyper.h"
#include "source/hyper/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES (64u << 10)
#define SYMBOLS_MAX (1u << 20)
/* A guest that says that its counter runs faster lies. */
#define TSC_KHZ_MAX UINT64_C(100000000)

struct walk {
	struct hyper *h;
	struct ht_reader reader; /* of tables */
	struct trace_loss loss;
	uint64_t restarts, strangers;
	bool machine_known, symbols_dropped;
	bool cut; /* what was last is no block: any CPU's */
};

/* ---- tables ---------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t room, const struct ht_text *text)
{
	size_t len = text->len < room - 1 ? text->len : room - 1;

	memcpy(to, text->at, len);
	to[len] = '\0';
}

static void take_machine(struct walk *w, const struct ht_item *item)
{
	struct trace *t = w->h->trace;

	if (w->machine_known)
		return;
	w->machine_known = true;
	copy_text(t->hostname, sizeof(t->hostname), &item->text[0]);
	copy_text(t->release, sizeof(t->release), &item->text[1]);
	if (item->args[0] > 0 && (uint64_t)item->args[0] <= TSC_KHZ_MAX)
		t->clock.freq_hz = (uint64_t)item->args[0] * 1000;
}

static int take_symbol(struct walk *w, const struct ht_item *item)
{
	struct hyper *h = w->h;
	uint64_t number = (uint64_t)item->args[0];
	char *name;

	if (map_get(&h->symbols, number))
		return 0;
	name = h->nr_symbols < SYMBOLS_MAX
		       ? arena_strndup(&h->arena, item->text[0].at, item->text[0].len)
		       : NULL;
	if (!name) {
		w->symbols_dropped = true;
		return 0;
	}
	if (!room_for_one(&h->symbol_names, h->nr_symbols, &h->symbols_room))
		return -ENOMEM;
	h->symbol_names[h->nr_symbols++] = name;
	return map_put(&h->symbols, number, h->nr_symbols);
}

static int take_description(struct walk *w, const struct ht_item *item)
{
	struct hyper *h = w->h;
	const char *name, *letters;
	uint8_t opcode = (uint8_t)item->args[0];

	if ((uint64_t)item->args[0] > 0xff || opcode <= HT_TABLE_LAST || h->type_of[opcode] >= 0)
		return 0;
	letters = w->reader.letters[opcode - HT_TABLE_LAST - 1]; /* as far as they were taken */
	if (!*letters)
		return 0;
	name = arena_strndup(&h->arena, item->text[0].at, item->text[0].len);
	return name ? hyper_types_add(h, opcode, name, letters) : -ENOMEM;
}

static int take_tables(struct walk *w, const uint8_t *block, uint32_t len)
{
	struct ht_item item;
	int ret = 0;

	if (ht_block_open(&w->reader, block, len))
		return 0;
	while (!ret && ht_block_next(&w->reader, &item)) {
		if (item.opcode == HT_MACHINE)
			take_machine(w, &item);
		else if (item.opcode == HT_SYMBOL)
			ret = take_symbol(w, &item);
		else if (item.opcode == HT_DESCRIBE)
			ret = take_description(w, &item);
	}
	return ret;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void count_gap(struct walk *w, uint32_t expected, uint32_t seq)
{
	uint32_t missing = seq - expected;

	if ((int32_t)missing > 0)
		w->loss.packets += missing;
	else if (missing)
		w->restarts++;
}

static void count_dropped(struct walk *w, const uint8_t *block)
{
	uint32_t dropped = (uint32_t)block[12] | (uint32_t)block[13] << 8 |
			   (uint32_t)block[14] << 16 | (uint32_t)block[15] << 24;

	if (dropped == HT_LOST_MANY)
		w->loss.unknown++;
	else
		w->loss.events += dropped;
}

static uint64_t block_begin(const uint8_t *block)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)block[16 + i] << 8 * i;
	return v;
}

static struct hyper_packet *new_packet(struct hyper *h)
{
	if (!room_for_one(&h->packets, h->nr_packets, &h->packets_room))
		return NULL;
	return &h->packets[h->nr_packets++];
}

static int take_block(struct walk *w, uint64_t at, const uint8_t *block, uint32_t len)
{
	struct hyper *h = w->h;
	struct hyper_packet *p = h->nr_packets ? &h->packets[h->nr_packets - 1] : NULL;
	uint32_t seq = hyper_seq(block);
	uint16_t cpu = hyper_cpu(block);

	if (cpu >= TRACE_CPUS_MAX) {
		w->strangers++;
		w->loss.bytes_skipped += len;
		return 0;
	}
	count_dropped(w, block);
	if (p && p->cpu == cpu && p->offset_bytes + p->len_bytes == at &&
	    p->len_bytes + len <= PACKET_BYTES) {
		count_gap(w, p->next_seq, seq);
	} else {
		p = new_packet(h);
		if (!p)
			return -ENOMEM;
		*p = (struct hyper_packet){.offset_bytes = at,
					   .cpu = cpu,
					   .first_seq = seq,
					   .begin = block_begin(block)};
	}
	p->len_bytes += len;
	p->next_seq = seq + 1;
	return take_tables(w, block, len);
}

static uint32_t length_at(const uint8_t *data, uint64_t left)
{
	uint32_t room = left > HT_BLOCK_BYTES_MAX ? HT_BLOCK_BYTES_MAX : (uint32_t)left;
	uint32_t len = ht_block_length(data, room);

	return len <= room ? len : 0;
}

/* Where the next block begins that leads to another one, or to the end. */
static uint64_t find_block(const uint8_t *data, uint64_t at, uint64_t end)
{
	for (; at + HT_HEADER_BYTES <= end; at++) {
		const uint8_t *s = memchr(data + at, HT_MAGIC & 0xff, end - at);
		uint32_t len;

		if (!s)
			return end;
		at = (uint64_t)(s - data);
		len = length_at(s, end - at);
		if (len && (at + len == end || length_at(s + len, end - at - len)))
			return at;
	}
	return end;
}

static int walk_extent(struct walk *w, const struct hyper_extent *e)
{
	const uint8_t *data = w->h->file.data;
	uint64_t at = e->offset_bytes, end;
	int ret = 0;

	if (at > w->h->file.len_bytes)
		return 0;
	end = e->len_bytes > w->h->file.len_bytes - at ? w->h->file.len_bytes : at + e->len_bytes;
	while (at < end && !ret) {
		uint32_t len = length_at(data + at, end - at);

		if (!len) {
			uint64_t next = find_block(data, at + 1, end);

			w->loss.bytes_skipped += next - at;
			w->loss.unknown++;
			w->cut = next == end;
			at = next;
			continue;
		}
		w->cut = false;
		ret = take_block(w, at, data + at, len);
		at += len;
	}
	return ret;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct hyper_packet *p = a, *q = b;

	if (p->cpu != q->cpu)
		return p->cpu < q->cpu ? -1 : 1;
	if (p->begin != q->begin)
		return p->begin < q->begin ? -1 : 1;
	return (p->offset_bytes > q->offset_bytes) - (p->offset_bytes < q->offset_bytes);
}

static void find_gaps(struct walk *w)
{
	struct hyper *h = w->h;

	for (size_t i = 1; i < h->nr_packets; i++) {
		struct hyper_packet *p = &h->packets[i], *before = p - 1;

		if (p->cpu != before->cpu || p->first_seq == before->next_seq)
			continue;
		p->gap = true;
		count_gap(w, before->next_seq, p->first_seq);
	}
}

static int make_stream(struct hyper *h, size_t first, size_t nr, bool cut)
{
	struct trace *t = h->trace;
	struct stream *s = &t->streams[t->nr_streams++];

	*s = (struct stream){.trace = t,
			     .path = t->path,
			     .buffer = "",
			     .cpu = h->packets[first].cpu,
			     .cut = cut,
			     .nr_packets = (uint32_t)nr,
			     .reader = &h->packets[first]};
	s->packets = arena_alloc(&h->arena, nr * sizeof(*s->packets));
	if (!s->packets)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct hyper_packet *p = &h->packets[first + i];

		s->packets[i] = (struct packet){.begin = p->begin,
						.offset_bytes = p->offset_bytes,
						.len_bytes = p->len_bytes,
						.lost = p->gap ? UINT64_MAX : 0};
		t->len_bytes += p->len_bytes;
	}
	if (h->packets[first].cpu >= t->nr_cpus)
		t->nr_cpus = h->packets[first].cpu + 1u;
	return 0;
}

static int make_streams(struct hyper *h, bool cut)
{
	size_t nr = 0, first = 0;
	int ret = 0;

	for (size_t i = 0; i < h->nr_packets; i++)
		nr += !i || h->packets[i].cpu != h->packets[i - 1].cpu;
	h->trace->streams = arena_alloc(&h->arena, (nr + 1) * sizeof(*h->trace->streams));
	if (!h->trace->streams)
		return -ENOMEM;
	for (size_t i = 1; i <= h->nr_packets && !ret; i++) {
		if (i < h->nr_packets && h->packets[i].cpu == h->packets[first].cpu)
			continue;
		ret = make_stream(h, first, i - first, cut);
		first = i;
	}
	return ret;
}

static void tell(const struct walk *w)
{
	struct trace *t = w->h->trace;

	t->loss = w->loss;
	if (w->loss.bytes_skipped)
		trace_problem(t, "%s: %llu bytes are no blocks of a guest; they are skipped",
			      t->path, (unsigned long long)w->loss.bytes_skipped);
	if (w->strangers)
		trace_problem(t, "%s: %llu blocks of CPUs that cannot be", t->path,
			      (unsigned long long)w->strangers);
	if (w->restarts)
		trace_problem(t,
			      "%s: the guest's tracer began anew %llu times, or blocks came twice",
			      t->path, (unsigned long long)w->restarts);
	if (w->symbols_dropped)
		trace_problem(t, "%s: more symbols than can be kept; the rest go by number",
			      t->path);
}

int hyper_index(struct hyper *h, const struct hyper_extent *list, size_t nr, struct error *err)
{
	struct walk w = {.h = h};
	const struct hyper_extent all = {0, h->file.len_bytes};
	int ret = 0;

	ht_reader_init(&w.reader);
	if (!nr) {
		list = &all;
		nr = 1;
	}
	for (size_t i = 0; i < nr && !ret; i++) {
		ret = walk_extent(&w, &list[i]);
		mapfile_forget(&h->file, list[i].offset_bytes, list[i].len_bytes);
	}
	if (!ret && !h->nr_packets)
		return fail(err, -ENODATA, "%s holds no block of the hypertrace format",
			    h->trace->path);
	if (h->nr_packets)
		qsort(h->packets, h->nr_packets, sizeof(*h->packets), by_cpu_and_time);
	if (!ret) {
		find_gaps(&w);
		ret = make_streams(h, w.cut);
	}
	if (ret)
		return fail(err, ret, "out of memory opening %s", h->trace->path);
	memcpy(h->template.letters, w.reader.letters, sizeof(h->template.letters));
	tell(&w);
	return 0;
}
