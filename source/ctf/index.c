/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a stream's packets, and what it shows was lost.
 *
 * LTTng counts the events it had no room for, and writes the count when it closes a packet; while
 * the ring is full the open packet stays open.  So what packet i's counter has more than packet
 * i - 1's was lost during packet i, after most of its events.
 */
#define _GNU_SOURCE
#include "source/ctf/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/ctf/bits.h"

/* One packet as found, before the list is looked at as a whole. */
struct found {
	uint64_t offset_bytes, len_bytes, content_bits;
	uint64_t begin, end, seq_num, discarded;
	uint32_t file;
	uint8_t begin_bits, end_bits, discarded_bits; /* 0 = not recorded */
	bool gap;	 /* of its file something is missing in front of it, */
	bool cut;	 /* ... or behind it; of the file's last one */
	bool torn;	 /* the next one begins within it */
	bool misplaced;	 /* it is earlier than one in front of it, or that one again */
	bool open_ended; /* its length is not recorded */
	bool has_seq_num, truncated, indexed;
};

struct builder {
	struct trace *t;
	struct stream *s;
	struct ctf_stream *cs;
	struct found *list;
	uint32_t nr, room;
	int64_t cpu;
	bool woven;	     /* packets of one file are among those of another */
	bool gap;	     /* of the file something is missing behind the last one listed */
	uint32_t late_ends;  /* packets whose end is after the next one's begin */
	uint32_t steps_back; /* packets that begin before the last event in front of them */
	uint32_t first_step_back;
	uint64_t largest_step;
	uint64_t regs[CTF_REGS];
	struct error *err;
};

static int add(struct builder *b, const struct found *f)
{
	if (b->nr == b->room) {
		uint32_t room = b->room ? b->room * 2 : 64;
		struct found *list = room > b->room ? realloc(b->list, room * sizeof(*list)) : NULL;

		if (!list)
			return fail(b->err, -ENOMEM, "out of memory listing the packets of %s",
				    b->s->path);
		b->list = list;
		b->room = room;
	}
	b->list[b->nr] = *f;
	b->list[b->nr++].gap = b->gap;
	b->gap = false;
	return 0;
}

/* Walking the packets */

/* The time of the first event, for packets whose context has none. */
static bool first_event_time(struct builder *b, const uint8_t *data,
			     const struct ctf_packet_info *info, uint64_t *time, uint8_t *bits)
{
	struct ctf_roles roles = {.seen = 0};
	struct ctf_walk w = {.data = data,
			     .pos = info->body_bits,
			     .end = info->content_bits,
			     .regs = b->regs,
			     .roles = &roles,
			     .fuel = 4096};

	if (ctf_walk_record(&w, info->plan->cls->event_header, NULL) ||
	    !ctf_has_role(&roles, CTF_ROLE_TIME))
		return false;
	*time = roles.value[CTF_ROLE_TIME];
	*bits = roles.bits[CTF_ROLE_TIME];
	return true;
}

static void describe(struct builder *b, const uint8_t *data, const struct ctf_packet_info *info,
		     struct found *f)
{
	const struct ctf_roles *r = &info->roles;

	f->content_bits = info->content_bits;
	f->truncated = info->truncated;
	f->open_ended =
		!ctf_has_role(r, CTF_ROLE_CONTENT_BITS) && !ctf_has_role(r, CTF_ROLE_PACKET_BITS);
	f->begin = r->value[CTF_ROLE_BEGIN];
	f->begin_bits = r->bits[CTF_ROLE_BEGIN];
	f->end = r->value[CTF_ROLE_END];
	f->end_bits = r->bits[CTF_ROLE_END];
	f->seq_num = r->value[CTF_ROLE_SEQ_NUM];
	f->has_seq_num = ctf_has_role(r, CTF_ROLE_SEQ_NUM);
	f->discarded = r->value[CTF_ROLE_DISCARDED];
	f->discarded_bits = r->bits[CTF_ROLE_DISCARDED];
	if (!f->begin_bits)
		first_event_time(b, data, info, &f->begin, &f->begin_bits);
	if (b->cpu < 0 && ctf_has_role(r, CTF_ROLE_CPU))
		b->cpu = (int64_t)r->value[CTF_ROLE_CPU];
}

unsigned ctf_packet_key(const struct ctf_trace *t, const struct ctf_file *cf,
			uint8_t key[static CTF_KEY_BYTES])
{
	const struct ctf_fc *header = t->meta.packet_header;
	bool big = header && header->nr_members && header->members[0].fc->order == CTF_ORDER_BE;
	uint32_t magic = big ? __builtin_bswap32(CTF_PACKET_MAGIC) : CTF_PACKET_MAGIC;

	if (!header || !header->nr_members || header->members[0].fc->role != CTF_ROLE_MAGIC)
		return 0;
	memcpy(key, &magic, 4);
	if (header->nr_members < 2 || header->members[1].fc->role != CTF_ROLE_UUID || !cf->has_uuid)
		return 4;
	memcpy(key + 4, cf->uuid, 16);
	return CTF_KEY_BYTES;
}

/* Where the file next has data from @from on, and until where: a hole has as many zeros as it likes,
 * which nobody wrote.  False when there is none before @to. */
static bool next_data(int fd, uint64_t from, uint64_t to, uint64_t *begin, uint64_t *end)
{
	off_t data = lseek(fd, (off_t)from, SEEK_DATA), hole;

	*begin = from;
	*end = to;
	if (data < 0) /* a file system that does not know has data everywhere */
		return errno != ENXIO;
	hole = lseek(fd, data, SEEK_HOLE);
	*begin = (uint64_t)data;
	if (hole > data && (uint64_t)hole < to)
		*end = (uint64_t)hole;
	return *begin < to;
}

/* The next place in [from, to) where a packet of this trace begins; @to when there is none. */
static uint64_t resync(const struct builder *b, const struct ctf_file *cf, uint64_t from,
		       uint64_t to)
{
	uint8_t key[CTF_KEY_BYTES];
	const uint8_t *hit = NULL;
	uint64_t begin, end;
	int fd;

	if (ctf_packet_key(b->cs->trace, cf, key) < CTF_KEY_BYTES)
		return to;
	fd = open(cf->path, O_RDONLY | O_CLOEXEC);
	for (; !hit && from < to && next_data(fd, from, to, &begin, &end); from = end)
		hit = memmem(cf->map.data + begin, end - begin, key, sizeof(key));
	if (fd >= 0)
		close(fd);
	return hit ? (uint64_t)(hit - cf->map.data) : to;
}

/* Where the next packet begins is no packet: if one begins within this, bytes of it are missing. */
static void find_tear(const struct builder *b, const struct ctf_file *cf, struct found *f)
{
	uint64_t end = f->offset_bytes + f->len_bytes;
	uint8_t key[CTF_KEY_BYTES];

	if (ctf_packet_key(b->cs->trace, cf, key) < CTF_KEY_BYTES ||
	    (!f->truncated && (cf->map.len_bytes - end < CTF_KEY_BYTES ||
			       !memcmp(cf->map.data + end, key, CTF_KEY_BYTES))))
		return;
	f->len_bytes = resync(b, cf, f->offset_bytes + 1, end) - f->offset_bytes;
	f->torn = f->offset_bytes + f->len_bytes < end;
	if (!f->torn)
		return;
	f->truncated = false;
	if (f->content_bits > f->len_bytes * 8)
		f->content_bits = f->len_bytes * 8;
}

static bool is_of_file(const struct ctf_packet_info *info, const struct ctf_file *cf)
{
	return !info->roles.uuid || !cf->has_uuid || !memcmp(info->roles.uuid, cf->uuid, 16);
}

static bool ends_before_begin(const struct ctf_roles *r)
{
	return r->bits[CTF_ROLE_BEGIN] == 64 && r->bits[CTF_ROLE_END] == 64 &&
	       r->value[CTF_ROLE_END] < r->value[CTF_ROLE_BEGIN];
}

/* A packet says whose it is; one of another CPU's stream holds together, but not here. */
static int check_owner(const struct builder *b, const struct ctf_file *cf,
		       const struct ctf_packet_info *info, struct error *why)
{
	if (!is_of_file(info, cf))
		return fail(why, -EINVAL, "the packet belongs to another trace (its uuid differs)");
	if (info->plan != b->cs->plan)
		return fail(why, -EINVAL, "the packet is of another stream class");
	if (!ctf_is_of_stream(b->cs, b->cpu, &info->roles))
		return fail(why, -EINVAL, "the packet is of another stream");
	if (ends_before_begin(&info->roles))
		return fail(why, -EINVAL, "the packet ends before it begins");
	return 0;
}

/* The same packet, by all but its times. */
static bool is_same_but_times(const struct ctf_lttng_index *lt, const struct ctf_lttng_entry *e,
			      const struct ctf_packet_info *info)
{
	const struct ctf_roles *r = &info->roles;

	return e->packet_bits == info->packet_bits && e->content_bits == info->content_bits &&
	       (!lt->minor || !ctf_has_role(r, CTF_ROLE_SEQ_NUM) ||
		r->value[CTF_ROLE_SEQ_NUM] == e->seq_num) &&
	       r->bits[CTF_ROLE_BEGIN] == 64 && r->bits[CTF_ROLE_END] == 64;
}

static bool has_times_of(const struct ctf_packet_info *info, const struct ctf_lttng_entry *e)
{
	return info->roles.value[CTF_ROLE_BEGIN] == e->begin &&
	       info->roles.value[CTF_ROLE_END] == e->end;
}

/* An index that is not used, of a file that is its own: no more packets have other times than those
 * it says. */
static bool is_own_index(struct builder *b, const struct ctf_file *cf,
			 const struct ctf_lttng_index *lt)
{
	uint32_t same = 0, other = 0;

	for (uint32_t i = 0; i < lt->nr; i++) {
		const struct ctf_lttng_entry *e = &lt->entries[i];
		struct ctf_packet_info info;

		if (e->offset_bytes >= cf->map.len_bytes ||
		    ctf_packet_read(b->cs->trace, cf->map.data + e->offset_bytes,
				    cf->map.len_bytes - e->offset_bytes, b->regs, &info, NULL) ||
		    !is_same_but_times(lt, e, &info))
			continue;
		if (has_times_of(&info, e))
			same++;
		else
			other++;
	}
	return same && same >= other;
}

/*
 * Its times are one thing here and another in the index: which is damaged nobody knows.  Of packets
 * that have others on both sides these tell, so only a file's first and last are looked up.  One
 * that the index has elsewhere is not the one it has here.
 */
static bool is_disputed(const struct ctf_lttng_index *lt, const struct ctf_packet_info *info,
			uint64_t at)
{
	bool listed = false;

	for (uint32_t i = 0; i < lt->nr; i++) {
		if (has_times_of(info, &lt->entries[i]))
			return false;
		listed |= lt->entries[i].offset_bytes == at &&
			  is_same_but_times(lt, &lt->entries[i], info);
	}
	return listed;
}

/* What begins at @f->offset_bytes.  @lt: what an index that is not used says of it. */
static int look_at(struct builder *b, const struct ctf_file *cf, const struct ctf_lttng_index *lt,
		   struct found *f, struct error *why)
{
	const struct mapfile *map = &cf->map;
	uint64_t at = f->offset_bytes, left = map->len_bytes - at;
	int64_t cpu = b->cpu;
	struct ctf_packet_info info;
	int ret = ctf_packet_read(b->cs->trace, map->data + at, left, b->regs, &info, why);

	if (!ret)
		ret = check_owner(b, cf, &info, why);
	if (ret)
		return ret;
	describe(b, map->data + at, &info, f);
	f->len_bytes = info.truncated ? left : info.packet_bits / 8;
	find_tear(b, cf, f);
	if ((at && f->len_bytes < left) || !is_disputed(lt, &info, at))
		return 0;
	b->cpu = cpu; /* what it says of it is not believed, either */
	return fail(why, -EINVAL, "the packet's times are not those that the index has");
}

/* Where packets go on behind what is none. */
static uint64_t skip_to_next(struct builder *b, const struct ctf_file *cf, uint64_t at,
			     const struct error *why)
{
	uint64_t next = resync(b, cf, at + 1, cf->map.len_bytes);

	trace_problem(b->t, "%s at offset %llu: %s; %llu bytes are not used", cf->path,
		      (unsigned long long)at, why->text, (unsigned long long)(next - at));
	b->t->loss.bytes_skipped += next - at;
	b->t->loss.unknown++;
	b->gap = true;
	return next;
}

static int walk_packets(struct builder *b, uint32_t file, uint64_t at,
			const struct ctf_lttng_index *lt)
{
	const struct ctf_file *cf = &b->cs->files[file];
	int ret = 0;

	while (at < cf->map.len_bytes && !ret) {
		struct found f = {.offset_bytes = at, .file = file};
		struct error why = {0};

		if (look_at(b, cf, lt, &f, &why)) {
			at = skip_to_next(b, cf, at, &why);
			continue;
		}
		ret = add(b, &f);
		at += f.len_bytes;
	}
	return ret;
}

/* Using LTTng's index */

/* An index is used when it gives what the packets would, names them one behind the other, and
 * agrees with the first and the last of them, and with those that are not one after the other in
 * time.  The others are compared when they are decoded. */
static bool agrees(struct builder *b, const struct ctf_file *cf, const struct ctf_lttng_entry *e)
{
	struct ctf_packet_info info;
	const struct ctf_roles *r = &info.roles;

	if (ctf_packet_read(b->cs->trace, cf->map.data + e->offset_bytes,
			    cf->map.len_bytes - e->offset_bytes, b->regs, &info, NULL))
		return false;
	if (b->cpu < 0 && ctf_has_role(r, CTF_ROLE_CPU))
		b->cpu = (int64_t)r->value[CTF_ROLE_CPU];
	return info.plan == b->cs->plan && is_of_file(&info, cf) &&
	       ctf_is_of_stream(b->cs, b->cpu, r) && info.packet_bits == e->packet_bits &&
	       info.content_bits == e->content_bits && r->bits[CTF_ROLE_BEGIN] == 64 &&
	       r->bits[CTF_ROLE_END] == 64 && r->value[CTF_ROLE_BEGIN] == e->begin &&
	       r->value[CTF_ROLE_END] == e->end &&
	       (!ctf_has_role(r, CTF_ROLE_DISCARDED) ||
		r->value[CTF_ROLE_DISCARDED] == e->discarded);
}

static bool has_role_field(const struct ctf_fc *fc, enum ctf_role role)
{
	for (unsigned i = 0; fc && i < fc->nr_members; i++) {
		if (fc->members[i].fc->role == role)
			return true;
	}
	return false;
}

/* LTTng writes -1 for what it could not find out: then the packets are asked. */
static bool tells_all(const struct ctf_lttng_index *lt, const struct ctf_fc *context)
{
	bool has_count = has_role_field(context, CTF_ROLE_DISCARDED);
	bool has_seq_num = has_role_field(context, CTF_ROLE_SEQ_NUM);

	/* Version 1.0 has no sequence numbers. */
	if (!lt->nr || (!lt->minor && has_seq_num))
		return false;
	for (uint32_t i = 0; i < lt->nr; i++) {
		const struct ctf_lttng_entry *e = &lt->entries[i];

		if ((has_count && e->discarded == UINT64_MAX) ||
		    (has_seq_num && e->seq_num == UINT64_MAX))
			return false;
	}
	return true;
}

static bool index_fits(struct builder *b, const struct ctf_file *cf,
		       const struct ctf_lttng_index *lt)
{
	const struct ctf_stream_class *cls = b->cs->plan->cls;
	uint64_t at = 0;

	for (uint32_t i = 0; i < lt->nr; i++) {
		const struct ctf_lttng_entry *e = &lt->entries[i];

		if (e->offset_bytes != at || e->packet_bits % 8 || !e->packet_bits ||
		    e->content_bits > e->packet_bits || e->stream_id != cls->id ||
		    e->packet_bits / 8 > cf->map.len_bytes - at)
			return false;
		if (e->end < e->begin || (i && e->begin < e[-1].end)) {
			if (!agrees(b, cf, e) || (i && !agrees(b, cf, e - 1)))
				return false;
		}
		at += e->packet_bits / 8;
	}
	return agrees(b, cf, &lt->entries[0]) && agrees(b, cf, &lt->entries[lt->nr - 1]);
}

static int use_index(struct builder *b, uint32_t file, const struct ctf_lttng_index *lt,
		     uint64_t *end_bytes)
{
	const struct ctf_fc *context = b->cs->plan->cls->packet_context;
	bool has_seq_num = has_role_field(context, CTF_ROLE_SEQ_NUM);
	bool has_count = has_role_field(context, CTF_ROLE_DISCARDED);

	for (uint32_t i = 0; i < lt->nr; i++) {
		const struct ctf_lttng_entry *e = &lt->entries[i];
		struct found f = {.offset_bytes = e->offset_bytes,
				  .len_bytes = e->packet_bits / 8,
				  .content_bits = e->content_bits,
				  .begin = e->begin,
				  .end = e->end,
				  .begin_bits = 64,
				  .end_bits = 64,
				  .seq_num = e->seq_num,
				  .has_seq_num = has_seq_num,
				  .discarded = e->discarded,
				  .discarded_bits = has_count ? 64 : 0,
				  .file = file,
				  .indexed = true};
		int ret = add(b, &f);

		if (ret)
			return ret;
		*end_bytes = f.offset_bytes + f.len_bytes;
	}
	return 0;
}

/* Marks packets in front of which the index has others.  Returns how many it has up to the last one
 * that is there. */
static uint32_t note_missing_between(struct builder *b, uint32_t from,
				     const struct ctf_lttng_index *lt)
{
	uint32_t k = 0, next = 0;

	for (uint32_t i = from; i < b->nr; i++) {
		while (k < lt->nr && lt->entries[k].begin < b->list[i].begin)
			k++;
		if (k == lt->nr || lt->entries[k].begin != b->list[i].begin)
			continue;
		b->list[i].gap |= k > next;
		next = ++k;
	}
	return next;
}

/*
 * The index is written after the packets: what it has more than the file was there.  Where packets
 * are numbered, these numbers count what is missing between them, and only the index what is
 * missing behind the last one.
 */
static void note_missing(struct builder *b, uint32_t from, const struct ctf_lttng_index *lt)
{
	bool numbered = has_role_field(b->cs->plan->cls->packet_context, CTF_ROLE_SEQ_NUM);
	uint32_t nr = b->nr - from, behind, missing;

	if (nr >= lt->nr)
		return;
	behind = lt->nr - note_missing_between(b, from, lt);
	missing = numbered && behind < lt->nr - nr ? behind : lt->nr - nr;
	b->t->loss.packets += missing;
	b->t->loss.unknown += missing > 0;
	b->gap |= behind > 0;
}

static int list_file(struct builder *b, uint32_t file)
{
	struct ctf_file *cf = &b->cs->files[file];
	const struct ctf_fc *context = b->cs->plan->cls->packet_context;
	struct ctf_lttng_index lt;
	struct error why = {0};
	struct ctf_lttng_index beside = {0};
	uint32_t from = b->nr;
	uint64_t at = 0;
	int ret;

	ret = ctf_lttng_index_read(&lt, cf->path, &why);
	if (ret == -ENOMEM)
		return fail(b->err, ret, "%s", why.text);
	if (ret && ret != -ENOENT)
		trace_problem(b->t, "%s; the packets are read instead", why.text);
	if (!ret && tells_all(&lt, context)) {
		if (index_fits(b, cf, &lt))
			ret = use_index(b, file, &lt, &at);
		else
			trace_problem(b->t,
				      "the index of %s does not fit it; the packets are read "
				      "instead",
				      cf->path);
		if (!at && is_own_index(b, cf, &lt))
			beside = lt;
	}
	if (ret != -ENOMEM) {
		ret = walk_packets(b, file, at, &beside);
		note_missing(b, from, &lt);
	}
	free(lt.entries);
	return ret;
}

/*
 * Several files.  Mostly one begins where another ended.  Snapshots of a ring that goes on have
 * packets in common, and a directory may have been copied while it was written: then a packet
 * counts once, and what is more of it is used.
 */
static bool is_same_packet(const struct found *a, const struct found *b)
{
	if (a->begin != b->begin || a->has_seq_num != b->has_seq_num)
		return false;
	if (a->has_seq_num)
		return a->seq_num == b->seq_num;
	return a->truncated || b->truncated ||
	       (a->end == b->end && a->content_bits == b->content_bits);
}

static bool is_better(const struct found *a, const struct found *b)
{
	if (a->truncated != b->truncated)
		return b->truncated;
	if (a->gap != b->gap)
		return b->gap;
	return a->content_bits > b->content_bits;
}

/* Two runs of packets, each in its file's order, become one in @out; returns its length. */
static uint32_t merge_runs(struct found *out, const struct found *a, uint32_t nr_a,
			   const struct found *b, uint32_t nr_b)
{
	uint32_t nr = 0;

	while (nr_a && nr_b) {
		bool same = is_same_packet(a, b);

		if (same ? is_better(b, a) : b->begin < a->begin) {
			out[nr++] = *b;
			a += same;
			nr_a -= same;
			b++;
			nr_b--;
		} else {
			out[nr++] = *a++;
			nr_a--;
			b += same;
			nr_b -= same;
		}
	}
	memcpy(out + nr, nr_a ? a : b, (nr_a + nr_b) * sizeof(*out));
	return nr + nr_a + nr_b;
}

/* The list from @from on is of a file that is not all later than what is in front. */
static int weave(struct builder *b, uint32_t from)
{
	struct found *woven = calloc(b->nr, sizeof(*woven));

	if (!woven)
		return fail(b->err, -ENOMEM, "out of memory listing the packets of %s", b->s->path);
	b->nr = merge_runs(woven, b->list, from, b->list + from, b->nr - from);
	b->room = b->nr;
	b->woven = true;
	free(b->list);
	b->list = woven;
	return 0;
}

static int list_next_file(struct builder *b, uint32_t file)
{
	uint32_t from = b->nr;
	int ret = list_file(b, file);
	const struct found *f = &b->list[from];

	if (b->nr > from)
		b->list[b->nr - 1].cut = b->gap || b->list[b->nr - 1].truncated;
	b->gap = false;
	if (ret || !from || b->nr == from || f->begin_bits < 64 || f[-1].begin_bits < 64 ||
	    f->begin > f[-1].begin)
		return ret;
	return weave(b, from);
}

/* Where each file's packets are in a list in which they do not follow each other. */
static int note_places(struct builder *b)
{
	struct ctf_stream *cs = b->cs;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < b->nr; i++)
		cs->files[b->list[i].file].nr_packets++;
	for (unsigned k = 0; k < cs->nr_files; k++) {
		cs->files[k].first_packet = nr;
		nr += cs->files[k].nr_packets;
		cs->files[k].nr_packets = 0;
	}
	if (b->woven) {
		cs->by_place = arena_alloc(&cs->trace->arena, b->nr * sizeof(*cs->by_place));
		if (!cs->by_place)
			return fail(b->err, -ENOMEM, "out of memory listing the packets of %s",
				    b->s->path);
	}
	for (uint32_t i = 0; i < b->nr; i++) {
		struct ctf_file *cf = &cs->files[b->list[i].file];

		if (b->woven)
			cs->by_place[cf->first_packet + cf->nr_packets] = i;
		cf->nr_packets++;
	}
	return 0;
}

/* The list as a whole */

/* The file of the packet before ends too early, and this one is not what comes next. */
static bool is_cut_off(const struct found *before, const struct found *f)
{
	return before && before->cut &&
	       (before->truncated || !f->has_seq_num || f->seq_num != before->seq_num + 1);
}

static void note_gap(struct builder *b, uint32_t i, struct ctf_packet *p)
{
	const struct found *f = &b->list[i], *before = i ? f - 1 : NULL;

	p->gap = f->gap || is_cut_off(before, f);
	b->t->loss.headless += !before && f->has_seq_num && f->seq_num;
	if (before && f->has_seq_num && f->seq_num > before->seq_num + 1) {
		b->t->loss.packets += f->seq_num - before->seq_num - 1;
		b->t->loss.unknown++;
		p->gap = true;
	} else if (before && f->has_seq_num && f->seq_num <= before->seq_num) {
		p->gap = true;
		trace_problem(b->t, "%s at offset %llu: packet number %llu follows %llu",
			      b->cs->files[f->file].path, (unsigned long long)f->offset_bytes,
			      (unsigned long long)f->seq_num, (unsigned long long)before->seq_num);
	}
}

/* More than a CPU can have had in the time that a trace may take: no count, but something else. */
#define LOST_MAX (UINT64_C(1) << 48)

static void note_discarded(struct builder *b, uint32_t i, struct ctf_packet *p)
{
	const struct found *f = &b->list[i];
	uint64_t before = i ? f[-1].discarded : 0;
	uint64_t mask =
		f->discarded_bits < 64 ? (UINT64_C(1) << f->discarded_bits) - 1 : UINT64_MAX;

	if (!f->discarded_bits)
		return;
	if (f->discarded < before && f->discarded_bits > 32) {
		trace_problem(b->t, "%s at offset %llu: the count of lost events steps back",
			      b->cs->files[f->file].path, (unsigned long long)f->offset_bytes);
		return;
	}
	/* When the first packet is not the first that there was, nobody knows how many of those
	 * that are missing by now had been lost before it. */
	if (!i && f->discarded && f->has_seq_num && f->seq_num) {
		p->lost_unknown = true;
		b->t->loss.unknown++;
		return;
	}
	p->discarded = (f->discarded - before) & mask;
	if (p->discarded > LOST_MAX) {
		trace_problem(b->t, "%s at offset %llu: the count of lost events is none",
			      b->cs->files[f->file].path, (unsigned long long)f->offset_bytes);
		p->discarded = 0;
		p->lost_unknown = true;
		b->t->loss.unknown++;
		return;
	}
	b->t->loss.events += p->discarded;
}

/*
 * The packet at @begin begins before the one in front of it ends.  Old LTTng wrote the end a little
 * late: then the events in front are all earlier, and the end was wrong.  Otherwise the clock
 * stepped back.  Returns the earliest time for this packet.
 */
static uint64_t settle_overlap(struct builder *b, uint32_t i, uint64_t begin)
{
	uint64_t last;

	b->s->nr_packets = i; /* what is listed so far */
	last = ctf_last_event_time(b->s, i - 1);
	if (last <= begin) {
		b->s->packets[i - 1].end = begin;
		b->late_ends++;
		return begin;
	}
	b->s->packets[i - 1].end = last;
	if (ctf_is_far_back(b->cs->plan, begin, last)) {
		b->cs->packets[i].misplaced = true;
		return last;
	}
	if (!b->steps_back++)
		b->first_step_back = i;
	if (last - begin > b->largest_step)
		b->largest_step = last - begin;
	return last;
}

static void note_truncated(struct builder *b, const struct found *f)
{
	const struct ctf_file *cf = &b->cs->files[f->file];
	struct ctf_cut *cut = &b->cs->trace->cut;

	if (!f->truncated)
		return;
	b->t->loss.unknown++;
	if (!cut->nr++)
		*cut = (struct ctf_cut){cf->path, cf->map.len_bytes, f->offset_bytes, 1};
}

/* When all that is known of before packet @i has happened. */
static uint64_t known_until(struct builder *b, uint32_t i)
{
	if (b->s->packets[i - 1].end)
		return b->s->packets[i - 1].end;
	b->s->nr_packets = i;
	return ctf_last_event_time(b->s, i - 1);
}

/* Full times, never decreasing; returns the packet's end for the next one. */
static uint64_t note_times(struct builder *b, uint32_t i, uint64_t last, struct ctf_packet *p,
			   struct packet *out)
{
	const struct found *f = &b->list[i];

	if (p->misplaced) {
		out->begin = out->end = p->begin_raw = last;
		return last;
	}
	p->begin_raw = f->begin_bits ? ctf_extend_time(last, f->begin, f->begin_bits) : last;
	out->begin = p->begin_raw < last ? settle_overlap(b, i, p->begin_raw) : p->begin_raw;
	if (f->end_bits)
		out->end = ctf_extend_time(p->begin_raw, f->end, f->end_bits);
	if (f->end_bits && out->end < out->begin)
		out->end = out->begin;
	return out->end > out->begin ? out->end : out->begin;
}

/* Where packets do not say when they end, one may begin before the last event in front of a gap. */
static uint64_t begin_behind(struct packet *p, uint64_t before, uint64_t last)
{
	if (p->begin < before)
		p->begin = before;
	if (p->end && p->end < before)
		p->end = before;
	return last > before ? last : before;
}

static void tell_about_times(struct builder *b)
{
	const struct found *f = &b->list[b->first_step_back];

	if (b->late_ends)
		trace_note(b->t,
			   "%s: %u packets say that they end after the next one begins, as old "
			   "LTTng wrote it; their events do not, so nothing is wrong with them",
			   b->s->path, b->late_ends);
	if (b->steps_back)
		trace_problem(b->t,
			      "%s: %u packets begin before the last event of the one in front, by "
			      "up to %llu ticks, first at offset %llu; their events count as later",
			      b->cs->files[f->file].path, b->steps_back,
			      (unsigned long long)b->largest_step,
			      (unsigned long long)f->offset_bytes);
}

/*
 * A CPU's packets are written one after the other: one that is earlier than another in front of it,
 * by time and by number, was put there by something else, and its events would count as later than
 * they were.  Two of one number and time are the same one.  Numbers that ascend while the time
 * steps back are a clock's doing.
 */
static bool is_earlier(const struct found *f, const struct found *latest)
{
	if (!f->has_seq_num)
		return f->begin < latest->begin;
	return f->begin <= latest->begin && f->seq_num <= latest->seq_num;
}

/* Of such a packet, one time is not what was written. */
static bool ends_first(const struct found *f)
{
	return f->end_bits == 64 && f->end && f->end < f->begin;
}

static void note_order(struct builder *b)
{
	const struct found *latest = NULL;

	for (uint32_t i = 0; i < b->nr; i++) {
		struct found *f = &b->list[i];

		if (f->begin_bits < 64)
			return;
		f->misplaced = (latest && is_earlier(f, latest)) || ends_first(f);
		if (!f->misplaced)
			latest = f;
	}
}

static enum stream_start start_of(const struct builder *b)
{
	if (!b->nr || (!b->list[0].has_seq_num && !b->list[0].gap))
		return START_NOT_TOLD;
	return b->list[0].seq_num || b->list[0].gap ? START_MISSING : START_WHOLE;
}

static int fill_stream(struct builder *b)
{
	uint64_t last = 0;

	note_order(b);
	b->s->packets = calloc(b->nr + 1, sizeof(*b->s->packets));
	b->cs->packets = calloc(b->nr + 1, sizeof(*b->cs->packets));
	if (!b->s->packets || !b->cs->packets)
		return fail(b->err, -ENOMEM, "out of memory listing the packets of %s", b->s->path);
	for (uint32_t i = 0; i < b->nr; i++) {
		const struct found *f = &b->list[i];
		struct ctf_packet *p = &b->cs->packets[i];
		struct packet *out = &b->s->packets[i];

		p->content_bits = f->content_bits;
		p->file = f->file;
		p->truncated = f->truncated;
		p->open_ended = f->open_ended;
		p->torn = f->torn;
		p->misplaced = f->misplaced;
		p->indexed = f->indexed;
		p->end_raw = f->end;
		out->offset_bytes = f->offset_bytes;
		out->len_bytes = f->len_bytes;
		last = note_times(b, i, last, p, out);
		note_gap(b, i, p);
		p->gap_from = p->gap && i ? known_until(b, i) : out->begin;
		last = begin_behind(out, p->gap_from, last);
		note_discarded(b, i, p);
		note_truncated(b, f);
		out->lost = p->gap || p->lost_unknown ? UINT64_MAX : p->discarded;
	}
	b->s->nr_packets = b->nr;
	b->s->cut = b->nr && b->list[b->nr - 1].cut;
	b->s->start = start_of(b);
	tell_about_times(b);
	return 0;
}

int ctf_index_stream(struct trace *t, struct stream *s, struct error *err)
{
	struct builder b = {
		.t = t, .s = s, .cs = (struct ctf_stream *)s->reader, .cpu = -1, .err = err};
	int ret = 0;

	for (uint32_t i = 0; !ret && i < b.cs->nr_files; i++)
		ret = list_next_file(&b, i);
	if (!ret)
		ret = note_places(&b);
	if (!ret)
		ret = fill_stream(&b);
	s->cpu = b.cpu >= 0 && b.cpu < INT32_MAX ? (int)b.cpu : -1;
	free(b.list);
	return ret;
}
