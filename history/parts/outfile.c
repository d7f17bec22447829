/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/grow.h"

static void put(struct outfile *f, const void *data, size_t len_bytes)
{
	const uint8_t *p = data;

	f->len_bytes += len_bytes;
	while (len_bytes && !f->error.code) {
		ssize_t n = write(f->fd, p, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fail(&f->error, n ? -errno : -EIO, "cannot write %s at offset %llu: %s",
			     f->path, (unsigned long long)(f->len_bytes - len_bytes),
			     strerror(n ? errno : EIO));
			return;
		}
		p += n;
		len_bytes -= (size_t)n;
	}
}

/* Somebody may still read the file that stood there: give ours a new inode. */
static void drop_old(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
}

int outfile_open(struct outfile *f, const char *path, uint32_t flags, int64_t wall_offset_ns,
		 struct error *err)
{
	uint8_t header[FILE_HEADER_BYTES] = FILE_MAGIC;

	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->wait = 1;
	f->path = strdup(path);
	if (!f->path)
		return fail(err, -ENOMEM, "no memory to write %s", path);
	drop_old(path);
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (f->fd < 0) {
		free(f->path);
		return fail(err, -errno, "cannot create %s: %s", path, strerror(errno));
	}
	set_u32(header + 8, FORMAT_VERSION);
	set_u32(header + 12, flags);
	set_u64(header + 16, (uint64_t)wall_offset_ns);
	set_u64(header + 56, XXH3_64bits(header, 56));
	put(f, header, sizeof(header));
	return 0;
}

static void remember(struct outfile *f, enum part_kind kind, unsigned level, ns_t begin)
{
	if (!room_for_one(&f->parts, f->nr_parts, &f->room)) {
		fail(&f->error, -ENOMEM, "no memory for the index of %s", f->path);
		return;
	}
	f->parts[f->nr_parts++] = (struct outfile_part){.kind = (uint16_t)kind,
							.level = (uint16_t)level,
							.begin = begin,
							.at = f->len_bytes};
}

/* How much longer slices stay plain before the next try, when one has failed. */
#define WAIT_FACTOR 2
#define WAIT_FACTOR_COSTLY 8
#define WAIT_MAX 64 /* slices */

/* Whether the packed form of a part, which is then in f->packed, is small enough. */
static bool pack(struct outfile *f, enum part_kind kind, const struct bytes *payload)
{
	if (!pack_part(f->pack, kind, payload, &f->packed))
		return false;
	if (kind == PART_SLICE)
		return f->packed.len_bytes <= payload->len_bytes / 3 * 2;
	return f->packed.len_bytes < payload->len_bytes;
}

static bool pack_slice(struct outfile *f, const struct bytes *payload)
{
	unsigned factor = WAIT_FACTOR;

	if (f->left) {
		f->left--;
		return false;
	}
	if (!f->pack)
		f->pack = pack_new();
	if (f->packs || (f->pack && pack_promises(f->pack, payload))) {
		f->packs = pack(f, PART_SLICE, payload);
		factor = WAIT_FACTOR_COSTLY;
	}
	if (f->packs) {
		f->wait = 1;
		return true;
	}
	f->wait = f->wait * factor < WAIT_MAX ? f->wait * factor : WAIT_MAX;
	f->left = f->wait - 1;
	return false;
}

static bool is_packed(struct outfile *f, enum part_kind kind, const struct bytes *payload)
{
	if (kind == PART_SLICE)
		return pack_slice(f, payload);
	if (kind == PART_NAMES || kind == PART_INDEX)
		return false;
	return f->packs && pack(f, kind, payload);
}

void outfile_part(struct outfile *f, enum part_kind kind, unsigned level, ns_t begin, ns_t end,
		  const struct bytes *payload)
{
	uint32_t form = 0;
	static const uint8_t zeros[8];
	uint8_t h[PART_HEADER_BYTES];

	if (payload->failed && !f->error.code)
		fail(&f->error, -ENOMEM, "no memory to encode a part of %s", f->path);
	if (f->error.code)
		return;
	if (is_packed(f, kind, payload)) {
		payload = &f->packed;
		form = PART_PACKED;
	}
	remember(f, kind, level, begin);
	set_u32(h, PART_MAGIC);
	set_u32(h + 4, (uint32_t)kind | form | level << 16);
	set_u64(h + 8, payload->len_bytes);
	set_u64(h + 16, (uint64_t)begin);
	set_u64(h + 24, (uint64_t)end);
	set_u64(h + 32, XXH3_64bits(payload->data, payload->len_bytes));
	set_u64(h + 40, XXH3_64bits(h, 40));
	put(f, h, sizeof(h));
	put(f, payload->data, payload->len_bytes);
	put(f, zeros, -payload->len_bytes & 7);
}

static bool same_stream(const struct outfile_part *a, const struct outfile_part *b)
{
	return a->kind == b->kind && a->level == b->level;
}

/* Streams in order, parts of a stream in the order they were written, which is that of time. */
static int compare_parts(const void *pa, const void *pb)
{
	const struct outfile_part *a = pa, *b = pb;

	if (!same_stream(a, b))
		return a->kind != b->kind ? a->kind - b->kind : a->level - b->level;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void put_index(struct outfile *f, struct bytes *out)
{
	uint32_t nr_streams = 0;
	size_t next;

	if (f->nr_parts)
		qsort(f->parts, f->nr_parts, sizeof(*f->parts), compare_parts);
	for (size_t i = 0; i < f->nr_parts; i++)
		nr_streams += !i || !same_stream(&f->parts[i - 1], &f->parts[i]);
	bytes_put_u32(out, nr_streams);
	for (size_t i = 0; i < f->nr_parts; i = next) {
		for (next = i; next < f->nr_parts; next++) {
			if (!same_stream(&f->parts[i], &f->parts[next]))
				break;
		}
		bytes_put_u32(out, f->parts[i].kind | (uint32_t)f->parts[i].level << 16);
		bytes_put_u32(out, (uint32_t)(next - i));
	}
	for (size_t i = 0; i < f->nr_parts; i++) {
		bytes_put_u64(out, (uint64_t)f->parts[i].begin);
		bytes_put_u64(out, f->parts[i].at);
	}
}

void outfile_finish(struct outfile *f, ns_t begin, ns_t end)
{
	uint8_t t[TRAILER_BYTES] = TRAILER_MAGIC;
	uint64_t index_at = f->len_bytes;
	struct bytes index = {0};

	put_index(f, &index);
	outfile_part(f, PART_INDEX, 0, begin, end, &index);
	bytes_release(&index);
	set_u64(t + 8, (uint64_t)begin);
	set_u64(t + 16, (uint64_t)end);
	set_u64(t + 24, index_at);
	set_u64(t + 32, f->len_bytes + TRAILER_BYTES);
	set_u64(t + 56, XXH3_64bits(t, 56));
	put(f, t, sizeof(t));
}

int outfile_close(struct outfile *f, struct error *err)
{
	int ret;

	if (close(f->fd) && !f->error.code)
		fail(&f->error, -errno, "cannot write %s: %s", f->path, strerror(errno));
	ret = f->error.code;
	if (ret && err)
		*err = f->error;
	pack_free(f->pack);
	bytes_release(&f->packed);
	free(f->parts);
	free(f->path);
	return ret;
}
