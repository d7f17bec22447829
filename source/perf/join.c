/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that do not stand in one file as they are: compressed ones (perf record -z), and those of
 * several files in one directory (perf record --threads).  All go into a file without a name, which
 * is mapped in place of the trace's own.
 *
 * What was compressed is one stream from the first such record to the last, for each file.  A
 * record may begin in one of them and end in the next.  perf's stream has no checksum, and each of
 * its parts repeats earlier ones: behind one that is missing or damaged, most of what comes out
 * looks like records.  Where it is no chain of them, or has samples of no event, or the part stands
 * elsewhere than when it was made (parts.h), nothing of it is believed, nor of some before it, nor
 * of what follows.
 *
 * In a directory "data" has the header, and "data.0", "data.1" ... have the records of so many of
 * perf's threads, each those of its own CPUs. Each must be a file of its own: what is written is
 * bounded by what they hold together, and by what is free there.
 */
#include "source/perf/parts.h"
#include "source/perf/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/map.h"
#include "base/unnamed.h"

#define CHUNK_BYTES (1u << 20)
#define RECORD_BYTES_MAX (1u << 16)
#define STEP_BYTES 1024
/* Recorded events become 14 to 21 times as long: a time and some numbers of each are its own. */
#define RATIO_MAX 100
#define ROOM_SHARE 2 /* of what is free where the file is: others need some */
#define FILES_MAX 65536u

struct join {
	struct perf *p;
	int fd;
	ZSTD_DCtx *zstd;
	uint8_t *chunk; /* CHUNK_BYTES, and behind them the record */
	size_t used;
	uint64_t written, most;
	uint64_t room;	  /* no more than that either */
	bool too_long;	  /* what is compressed would become longer than both allow */
	struct map files; /* owned: those joined so far, by file_key() */
	int failed;	  /* what writing failed with, or -ENOMEM */
	bool described;	  /* all events are, so that each sample is of one of them */

	/* of the record that is being unpacked */
	uint8_t *record;
	size_t nr, size; /* its bytes so far, and those that it has */
	uint64_t record_at;

	struct perf_parts parts;
	bool in_order; /* their samples are */
};

static uint64_t written_to(const struct join *j)
{
	return j->written + j->used;
}

static void flush(struct join *j)
{
	for (size_t done = 0; done < j->used && !j->failed;) {
		ssize_t n = write(j->fd, j->chunk + done, j->used - done);

		if (n < 0 && errno != EINTR)
			j->failed = -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	j->written += j->used;
	j->used = 0;
}

static void put(struct join *j, const uint8_t *data, uint64_t len)
{
	while (len && !j->failed) {
		uint64_t room = CHUNK_BYTES - j->used, n = len < room ? len : room;

		memcpy(j->chunk + j->used, data, n);
		j->used += n;
		data += n;
		len -= n;
		if (j->used == CHUNK_BYTES)
			flush(j);
	}
}

/* Back to @to: what was put since is not to be believed. */
static void take_back(struct join *j, uint64_t to)
{
	flush(j);
	if (!j->failed && (ftruncate(j->fd, (off_t)to) || lseek(j->fd, (off_t)to, SEEK_SET) < 0))
		j->failed = -errno;
	j->written = to;
}

/* Takes in the head of the next record; false: it is none.  What the kernel writes is aligned. */
static bool next_record(struct join *j)
{
	uint32_t type = load_u32(j->record);

	j->size = load_u16(j->record + 6);
	return type && type <= RECORD_TYPES_MAX && j->size >= RECORD_HEAD_BYTES && j->size % 8 == 0;
}

static bool stands_here(struct join *j, const struct perf_record *r, const struct perf_place *place)
{
	struct perf_part_sample s = {j->record, j->size, place, NULL};
	enum perf_level level;
	int ret;

	if (place && perf_level_find(&j->p->attrs, &j->p->events.form, r, &level))
		s.level = &level;
	ret = perf_parts_sample(&j->parts, &s);
	if (ret < 0)
		j->failed = ret;
	return ret > 0;
}

static bool is_sound(struct join *j)
{
	const struct perf_attrs *attrs = &j->p->attrs;
	enum perf_sample_state state;
	struct perf_place place;
	struct perf_record r;

	if (!perf_record_read(j->record, 0, j->size, &r))
		return false;
	if (r.type != RECORD_SAMPLE)
		return !j->described || !perf_record_was_sample(attrs, &r);
	if (!j->described)
		return stands_here(j, &r, NULL);
	state = perf_sample_place(attrs, &r, &place);
	return state != PERF_SAMPLE_DAMAGED &&
	       stands_here(j, &r, state == PERF_SAMPLE_SOUND && j->in_order ? &place : NULL);
}

/* Whether @len bytes that were unpacked, and end at @end, go on as records do. */
static bool are_records(struct join *j, const uint8_t *data, size_t len, uint64_t end)
{
	while (len) {
		size_t most = (j->nr < RECORD_HEAD_BYTES ? RECORD_HEAD_BYTES : j->size) - j->nr;
		size_t n = len < most ? len : most;

		if (!j->nr)
			j->record_at = end - len;
		memcpy(j->record + j->nr, data, n);
		j->nr += n;
		if (j->nr == RECORD_HEAD_BYTES && !next_record(j))
			return false;
		if (j->nr >= RECORD_HEAD_BYTES && j->nr == j->size) {
			if (!is_sound(j))
				return false;
			j->nr = 0;
		}
		data += n;
		len -= n;
	}
	return true;
}

/* False: damaged. */
static bool unpack(struct join *j, const uint8_t *data, uint64_t len)
{
	ZSTD_inBuffer in = {data, 0, 0};
	bool full;

	do {
		ZSTD_outBuffer out = {j->chunk, CHUNK_BYTES, j->used};

		if (in.pos == in.size)
			in.size = len - in.size < STEP_BYTES ? len : in.size + STEP_BYTES;
		if (ZSTD_isError(ZSTD_decompressStream(j->zstd, &out, &in)) ||
		    !are_records(j, j->chunk + j->used, out.pos - j->used, j->written + out.pos))
			return false;
		j->used = out.pos;
		full = out.pos == out.size;
		if (full)
			flush(j);
		j->too_long = j->written > j->most || j->written > j->room;
		if (j->too_long)
			return false;
	} while ((full || in.pos < len) && !j->failed);
	return true;
}

static bool put_unpacked(struct join *j, const uint8_t *data, uint64_t len, uint64_t at)
{
	uint64_t begin = j->nr ? j->record_at : written_to(j);
	struct perf_part_place where = {.at = at, .written = begin};

	if (!perf_parts_enter(&j->parts, data, len) || !unpack(j, data, len)) {
		take_back(j, begin);
		return false;
	}
	if (perf_parts_add(&j->parts, where))
		j->failed = -ENOMEM;
	return true;
}

/* Damage shows late: parts before the one in which it does may be made of it, too.  From where on
 * nothing is believed, if not from @at. */
static uint64_t take_back_last(struct join *j, uint64_t at)
{
	const struct perf_part_place *back = perf_parts_back(&j->parts);

	if (!back || j->too_long || j->failed)
		return at;
	take_back(j, back->written);
	return back->at;
}

/* What is compressed in a record; false: it is not, or is damaged. */
static bool packed_part(const struct perf_record *r, const uint8_t **data, uint64_t *len)
{
	*data = r->data;
	*len = r->len_bytes;
	if (r->type != RECORD_COMPRESSED2)
		return r->type == RECORD_COMPRESSED;
	if (r->len_bytes < 8 || load_u64(r->data) > r->len_bytes - 8)
		return false;
	*data += 8;
	*len = load_u64(r->data);
	return true;
}

/* A record that is not compressed comes after all that was before it, whole. */
static bool put_record(struct join *j, const struct mapfile *map, uint64_t at,
		       const struct perf_record *r)
{
	const uint8_t *data;
	uint64_t len;

	if (packed_part(r, &data, &len))
		return put_unpacked(j, data, len, at);
	if (r->type == RECORD_COMPRESSED2 || j->nr)
		return false;
	put(j, map->data + at, r->next - at);
	return true;
}

/* Up to where. */
static uint64_t put_records(struct join *j, const struct mapfile *map, uint64_t begin, uint64_t end)
{
	uint64_t at = begin;

	if (!j->p->compressed) {
		put(j, map->data + begin, end - begin);
		return end;
	}
	ZSTD_DCtx_reset(j->zstd, ZSTD_reset_session_only);
	perf_parts_begin(&j->parts);
	j->nr = 0;
	j->too_long = false;
	for (struct perf_record r; at < end && !j->failed; at = r.next) {
		if (!perf_record_read(map->data, at, end, &r))
			return at;
		if (!put_record(j, map, at, &r))
			return take_back_last(j, at);
	}
	return j->nr ? take_back_last(j, at) : at;
}

static const char *what_is_wrong(const struct join *j)
{
	if (!j->too_long)
		return "damaged";
	return j->written > j->most
		       ? "far longer when decompressed than recorded events are"
		       : "longer when decompressed than half of what is free in TMPDIR";
}

/* Half of what is free in the file's place; where nobody says, what can be written. */
static uint64_t room_for(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) ? UINT64_MAX : (uint64_t)st.f_bavail * st.f_frsize / ROOM_SHARE;
}

static void put_file(struct join *j, const struct mapfile *map, const char *path, uint64_t begin,
		     uint64_t end)
{
	uint64_t at = put_records(j, map, begin, end);

	struct perf_part part = {.end = written_to(j), .at = begin, .cut = at < end};

	if (!j->failed)
		j->failed = perf_part_add(j->p, &part);
	if (at == end || j->failed)
		return;
	trace_problem(j->p->trace,
		      "%s, offset %llu: compressed records are %s; %llu bytes are skipped", path,
		      (unsigned long long)at, what_is_wrong(j), (unsigned long long)(end - at));
	j->p->trace->loss.bytes_skipped += end - at;
	j->p->trace->loss.unknown++;
}

/* Two files of one key are refused, which costs an answer and no more. */
static uint64_t file_key(const struct mapfile *m)
{
	return m->inode ^ m->device * UINT64_C(0x9e3779b97f4a7c15);
}

/* A file has one place: a directory of links to it would be written out as often as it has them.
 * The header's file may be on another file system: behind a link, or by a mount. */
static int open_other(struct join *j, struct mapfile *map, const char *path, struct error *err)
{
	struct stat st;
	int ret;

	if (!lstat(path, &st) && S_ISLNK(st.st_mode))
		return fail(err, -EINVAL, "%s is a link; perf record writes files there", path);
	ret = mapfile_open(map, path, err);
	if (ret)
		return ret;
	if (map_get(&j->files, file_key(map)))
		ret = fail(err, -EINVAL, "%s is the same file as another one beside it", path);
	else if (map_put(&j->files, file_key(map), 1))
		ret = fail(err, -ENOMEM, "out of memory opening %s", path);
	if (ret)
		mapfile_release(map);
	return ret;
}

/* Which of them a name is; FILES_MAX: none. */
static unsigned number_of(const char *name)
{
	char again[32];
	unsigned nr;

	if (sscanf(name, "data.%u", &nr) != 1 || nr >= FILES_MAX)
		return FILES_MAX;
	snprintf(again, sizeof(again), "data.%u", nr);
	return strcmp(name, again) ? FILES_MAX : nr;
}

/* One more than the last of them; 0: there is none, or nobody may list them. */
static unsigned count_others(const char *path, int dir_len)
{
	char *dir = dir_len ? strndup(path, (size_t)dir_len) : strdup(".");
	DIR *list = dir ? opendir(dir) : NULL;
	unsigned nr = 0;

	for (struct dirent *e; list && (e = readdir(list));) {
		unsigned n = number_of(e->d_name);

		if (n < FILES_MAX && n >= nr)
			nr = n + 1;
	}
	if (list)
		closedir(list);
	free(dir);
	return nr;
}

/* The first that is not there, and how many; their CPUs have no stream, which tells of the time. */
struct absent {
	char first[4096];
	unsigned nr;
};

static void tell_absent(struct join *j, const struct absent *a)
{
	char more[40] = "";

	if (!a->nr)
		return;
	if (a->nr > 1)
		snprintf(more, sizeof(more), " (and %u more)", a->nr - 1);
	trace_problem(j->p->trace,
		      "%s is missing%s: nothing is known of its CPUs; copy the whole "
		      "directory",
		      a->first, more);
	j->p->trace->loss.unknown++;
}

static int put_other(struct join *j, const char *path, struct absent *absent, struct error *err)
{
	struct perf_part none = {.end = written_to(j)};
	struct mapfile map;
	int ret;

	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW)) {
		if (!absent->nr++)
			strcpy(absent->first, path);
		j->failed = perf_part_add(j->p, &none); /* parts are named by their number */
		return 0;
	}
	ret = open_other(j, &map, path, err);
	if (ret)
		return ret;
	j->most += RATIO_MAX * (uint64_t)map.len_bytes;
	put_file(j, &map, path, 0, map.len_bytes);
	mapfile_release(&map);
	return 0;
}

/* Those beside the header's file.  0; -ENOENT: there is none. */
static int put_others(struct join *j, struct error *err)
{
	const char *slash = strrchr(j->p->trace->path, '/');
	int dir_len = slash ? (int)(slash + 1 - j->p->trace->path) : 0;
	unsigned nr = count_others(j->p->trace->path, dir_len);
	struct absent absent = {.nr = 0};
	int ret = 0;

	for (unsigned i = 0; i < nr && !ret && !j->failed; i++) {
		char path[sizeof(absent.first)];

		if (snprintf(path, sizeof(path), "%.*sdata.%u", dir_len, j->p->trace->path, i) >=
		    (int)sizeof(path))
			break;
		ret = put_other(j, path, &absent, err);
	}
	tell_absent(j, &absent);
	return ret || nr || j->failed
		       ? ret
		       : fail(err, -ENOENT,
			      "%s is one of several files of one recording (perf record "
			      "--threads), "
			      "and the others (data.0 ...) are not beside it",
			      j->p->trace->path);
}

/* The trace's own map keeps what its header says. */
static int use(struct join *j, struct error *err)
{
	struct perf *p = j->p;
	struct mapfile map;
	int ret;

	flush(j);
	if (j->failed)
		return fail(err, j->failed, "cannot keep the records of %s: %s", p->trace->path,
			    strerror(-j->failed));
	ret = mapfile_take_fd(&map, j->fd, p->trace->path, err);
	if (ret)
		return ret;
	p->header = p->map;
	p->map = map;
	p->begin = 0;
	p->end = map.len_bytes;
	return 0;
}

/* Buffers that are written from their ends on are read so. */
static bool is_in_order(const struct perf_attrs *a)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		if (a->list[i].backward)
			return false;
	}
	return true;
}

int perf_join(struct perf *p, struct error *err)
{
	struct join j = {.p = p, .fd = unnamed_file("perf's records", err)};
	int ret;

	if (j.fd < 0)
		return j.fd;
	j.most = CHUNK_BYTES + RATIO_MAX * (p->end - p->begin);
	j.room = room_for(j.fd);
	j.chunk = malloc(CHUNK_BYTES + RECORD_BYTES_MAX);
	j.record = j.chunk ? j.chunk + CHUNK_BYTES : NULL;
	j.described = !p->attrs.incomplete && perf_attrs_sound(&p->attrs);
	j.zstd = ZSTD_createDCtx();
	j.in_order = is_in_order(&p->attrs);
	ret = j.chunk && j.zstd && !perf_parts_init(&j.parts) &&
			      !map_put(&j.files, file_key(&p->map), 1)
		      ? 0
		      : fail(err, -ENOMEM, "out of memory opening %s", p->trace->path);
	if (!ret) {
		put_file(&j, &p->map, p->trace->path, p->begin, p->end);
		if (p->directory)
			ret = put_others(&j, err);
	}
	if (!ret)
		ret = use(&j, err);
	map_release(&j.files);
	perf_parts_release(&j.parts);
	ZSTD_freeDCtx(j.zstd);
	free(j.chunk);
	close(j.fd);
	return ret;
}
