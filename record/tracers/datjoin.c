/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* copy_file_range(), SEEK_DATA, fallocate() */
#include "base/mapfile.h"
#include "record/base/cpus.h"
#include "record/tracers/datfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART "trace.dat.part"
#define WHOLE "trace.dat"
#define BLOCK 4096u /* data begins on such a boundary, and is freed in such */
#define COPY_BYTES (1u << 20)

/* One CPU's pages: where they are and where they go. */
struct piece {
	int fd; /* -1: this CPU wrote nothing */
	uint64_t len_bytes;
	uint64_t to_bytes;
	uint64_t copied_bytes; /* of the source, from its begin */
	uint64_t freed_bytes;
};

struct join {
	const char *folder;
	int dir;
	int out;
	struct mapfile head, tail;
	size_t head_bytes, tail_bytes; /* of those, what is whole */
	size_t cpus_at;		       /* in the tail: the number of CPUs */
	uint32_t page_bytes;
	struct piece *pieces; /* by CPU */
	unsigned nr_pieces;
	struct error *err;
};

/* ---- the parts are whole? ---- */

/* Walks over bytes that may be anything. */
struct walk {
	const uint8_t *data;
	size_t len_bytes, pos;
	bool bad;
};

static uint64_t walk_number(struct walk *w, unsigned size_bytes)
{
	uint32_t v32;
	uint16_t v16;
	uint64_t v = 0;

	if (w->bad || w->len_bytes - w->pos < size_bytes) {
		w->bad = true;
		return 0;
	}
	if (size_bytes == 2) {
		memcpy(&v16, w->data + w->pos, 2);
		v = v16;
	} else if (size_bytes == 4) {
		memcpy(&v32, w->data + w->pos, 4);
		v = v32;
	} else {
		memcpy(&v, w->data + w->pos, 8);
	}
	w->pos += size_bytes;
	return v;
}

static void walk_skip(struct walk *w, uint64_t len_bytes)
{
	if (w->bad || len_bytes > w->len_bytes - w->pos)
		w->bad = true;
	else
		w->pos += len_bytes;
}

static void walk_text(struct walk *w)
{
	const uint8_t *end = w->bad ? NULL : memchr(w->data + w->pos, 0, w->len_bytes - w->pos);

	if (!end)
		w->bad = true;
	else
		w->pos = (size_t)(end - w->data) + 1;
}

static void walk_formats(struct walk *w)
{
	uint64_t nr = walk_number(w, 4);

	for (uint64_t i = 0; i < nr && !w->bad; i++)
		walk_skip(w, walk_number(w, 8));
}

/* True when @j->head holds a whole head; how long it is. */
static bool head_is_whole(struct join *j)
{
	static const char magic[] = "\x17\x08\x44tracing"
				    "6";
	struct walk w = {.data = j->head.data, .len_bytes = j->head.len_bytes};
	uint64_t systems;

	if (w.len_bytes < sizeof(magic) || memcmp(w.data, magic, sizeof(magic)))
		return false;
	walk_skip(&w, sizeof(magic) + 2);
	j->page_bytes = (uint32_t)walk_number(&w, 4);
	for (unsigned i = 0; i < 2; i++) { /* header_page, header_event */
		walk_text(&w);
		walk_skip(&w, walk_number(&w, 8));
	}
	walk_formats(&w);
	systems = walk_number(&w, 4);
	for (uint64_t i = 0; i < systems && !w.bad; i++) {
		walk_text(&w);
		walk_formats(&w);
	}
	walk_skip(&w, walk_number(&w, 4)); /* symbols */
	walk_skip(&w, walk_number(&w, 4)); /* printk formats */
	j->head_bytes = w.pos;
	return !w.bad && j->page_bytes >= 256 && j->page_bytes <= (4u << 20) &&
	       !(j->page_bytes & (j->page_bytes - 1));
}

static bool tail_is_whole(struct join *j)
{
	struct walk w = {.data = j->tail.data, .len_bytes = j->tail.len_bytes};
	uint64_t nr_cpus;

	walk_skip(&w, walk_number(&w, 8)); /* command names */
	j->cpus_at = w.pos;
	nr_cpus = walk_number(&w, 4);
	walk_skip(&w, sizeof("options  "));
	while (!w.bad && walk_number(&w, 2))
		walk_skip(&w, walk_number(&w, 4));
	j->tail_bytes = w.pos;
	if (w.bad || nr_cpus > CPUS_MAX)
		return false;
	j->nr_pieces = (unsigned)nr_cpus;
	return true;
}

static int map_part(struct join *j, struct mapfile *map, const char *name)
{
	char path[4200];

	mapfile_release(map);
	snprintf(path, sizeof(path), "%s/%s", j->folder, name);
	return mapfile_open(map, path, NULL);
}

static int open_tables(struct join *j)
{
	static const char *const tails[] = {"tail1", "tail0"};

	if (map_part(j, &j->head, "head") || !head_is_whole(j))
		return fail(j->err, -ENOENT,
			    "%s holds no whole \"head\": the recorder ended before it had begun",
			    j->folder);
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		if (!map_part(j, &j->tail, tails[i]) && tail_is_whole(j))
			return 0;
	}
	return fail(j->err, -ENOENT,
		    "%s holds no whole \"tail\": the recorder ended before it "
		    "had begun",
		    j->folder);
}

/* ---- where everything goes ---- */

/* Of "cpuN.raw" and no other: what is nearly called so is a copy that somebody made, and stays. */
static int cpu_of(const char *name)
{
	char own[sizeof("cpu4294967295.raw")];
	unsigned cpu;

	if (sscanf(name, "cpu%u", &cpu) != 1 || cpu >= CPUS_MAX)
		return -1;
	snprintf(own, sizeof(own), "cpu%u.raw", cpu);
	return strcmp(name, own) ? -1 : (int)cpu;
}

static int open_piece(struct join *j, unsigned cpu, const char *name)
{
	struct piece *p;
	struct stat st;

	if (cpu >= j->nr_pieces)
		return fail(j->err, -EINVAL, "%s/%s: there is no such CPU", j->folder, name);
	p = &j->pieces[cpu];
	p->fd = openat(j->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (p->fd < 0 || fstat(p->fd, &st))
		return fail(j->err, -errno, "cannot open %s/%s: %s", j->folder, name,
			    strerror(errno));
	p->len_bytes = (uint64_t)st.st_size / j->page_bytes * j->page_bytes;
	return 0;
}

/* Calls @visit for each cpuN.raw. */
static int each_cpu_file(struct join *j,
			 int (*visit)(struct join *j, unsigned cpu, const char *name))
{
	int fd = openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return fail(j->err, ret, "cannot read %s: %s", j->folder, strerror(-ret));
	}
	while (!ret && (entry = readdir(dir))) {
		int cpu = cpu_of(entry->d_name);

		if (cpu >= 0)
			ret = visit(j, (unsigned)cpu, entry->d_name);
	}
	closedir(dir);
	return ret;
}

/* A CPU that was added after the tail was written. */
static int count_cpu(struct join *j, unsigned cpu, const char *name)
{
	(void)name;
	if (cpu >= j->nr_pieces)
		j->nr_pieces = cpu + 1;
	return 0;
}

static uint64_t align(uint64_t at, uint64_t to)
{
	return (at + to - 1) / to * to;
}

static int lay_out(struct join *j)
{
	uint64_t to_bytes;
	int ret;

	ret = each_cpu_file(j, count_cpu);
	if (ret)
		return ret;
	j->pieces = calloc(j->nr_pieces + 1, sizeof(*j->pieces));
	if (!j->pieces)
		return fail(j->err, -ENOMEM, "out of memory joining %s", j->folder);
	for (unsigned i = 0; i < j->nr_pieces; i++)
		j->pieces[i].fd = -1;
	ret = each_cpu_file(j, open_piece);
	to_bytes = j->head_bytes + j->tail_bytes + sizeof("flyrecord") + 16ull * j->nr_pieces;
	for (unsigned i = 0; i < j->nr_pieces; i++) {
		to_bytes = align(to_bytes, j->page_bytes > BLOCK ? j->page_bytes : BLOCK);
		j->pieces[i].to_bytes = to_bytes;
		to_bytes += j->pieces[i].len_bytes;
	}
	return ret;
}

/* ---- writing ---- */

static int write_at(int fd, const void *data, size_t len_bytes, uint64_t *at)
{
	const char *from = data;

	while (len_bytes) {
		ssize_t n = pwrite(fd, from, len_bytes, (off_t)*at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		len_bytes -= (size_t)n;
		*at += (uint64_t)n;
	}
	return 0;
}

/* Everything in front of the pages. */
static int write_front(struct join *j)
{
	struct buffer b = {0};
	uint64_t at = 0;
	int ret;

	buffer_bytes(&b, j->head.data, j->head_bytes);
	buffer_bytes(&b, j->tail.data, j->cpus_at);
	buffer_u32(&b, j->nr_pieces);
	buffer_bytes(&b, j->tail.data + j->cpus_at + 4, j->tail_bytes - j->cpus_at - 4);
	buffer_text(&b, "flyrecord");
	for (unsigned i = 0; i < j->nr_pieces; i++) {
		buffer_u64(&b, j->pieces[i].to_bytes);
		buffer_u64(&b, j->pieces[i].len_bytes);
	}
	ret = b.error ? b.error : write_at(j->out, b.data, b.len_bytes, &at);
	buffer_release(&b);
	return ret;
}

static int copy_by_hand(int from, uint64_t from_bytes, int to, uint64_t to_bytes, size_t len_bytes)
{
	char *data = malloc(COPY_BYTES);
	ssize_t n = data ? pread(from, data, len_bytes < COPY_BYTES ? len_bytes : COPY_BYTES,
				 (off_t)from_bytes)
			 : -1;
	int ret = n < 0 ? -errno : n ? write_at(to, data, (size_t)n, &to_bytes) : -EIO;

	free(data);
	return ret ? ret : (int)n;
}

/* Copies a stretch of a piece; bytes, or -errno. */
static ssize_t copy_some(struct join *j, struct piece *p, size_t len_bytes)
{
	off_t from = (off_t)p->copied_bytes;
	off_t to = (off_t)(p->to_bytes + p->copied_bytes);
	ssize_t n = copy_file_range(p->fd, &from, j->out, &to, len_bytes, 0);

	if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
		return copy_by_hand(p->fd, p->copied_bytes, j->out, p->to_bytes + p->copied_bytes,
				    len_bytes);
	return n < 0 ? -errno : n ? n : -EIO;
}

/* The disk is full: what has been copied is no longer needed where it was. */
static int free_copied(struct join *j)
{
	bool freed = !unlinkat(j->dir, "reserve", 0);

	if (fdatasync(j->out))
		return -errno;
	for (unsigned i = 0; i < j->nr_pieces; i++) {
		struct piece *p = &j->pieces[i];
		uint64_t until = p->copied_bytes / BLOCK * BLOCK;

		if (until <= p->freed_bytes)
			continue;
		if (fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)p->freed_bytes, (off_t)(until - p->freed_bytes)))
			return -ENOSPC;
		p->freed_bytes = until;
		freed = true;
	}
	return freed ? 0 : -ENOSPC;
}

/* Copies a piece's data; what an earlier call has moved already is a hole now. */
static int copy_piece(struct join *j, struct piece *p)
{
	while (p->fd >= 0 && p->copied_bytes < p->len_bytes) {
		off_t data = lseek(p->fd, (off_t)p->copied_bytes, SEEK_DATA);
		off_t hole;
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			break; /* only a hole is left */
		if (data > (off_t)p->copied_bytes)
			p->copied_bytes = (uint64_t)data;
		hole = lseek(p->fd, (off_t)p->copied_bytes, SEEK_HOLE);
		if (hole <= (off_t)p->copied_bytes || hole > (off_t)p->len_bytes)
			hole = (off_t)p->len_bytes;
		if (p->copied_bytes >= p->len_bytes)
			break;
		n = copy_some(j, p, (size_t)hole - p->copied_bytes);
		if (n == -ENOSPC)
			n = free_copied(j);
		if (n < 0 && n != -EINTR)
			return (int)n;
		p->copied_bytes += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static int write_whole(struct join *j)
{
	const struct piece *last = j->nr_pieces ? &j->pieces[j->nr_pieces - 1] : NULL;
	const char *slash = strrchr(j->folder, '/'); /* before it: the run directory */
	int ret = write_front(j);

	if (ret == -ENOSPC && !unlinkat(j->dir, "reserve", 0))
		ret = write_front(j);
	for (unsigned i = 0; i < j->nr_pieces && !ret; i++)
		ret = copy_piece(j, &j->pieces[i]);
	if (!ret && last && ftruncate(j->out, (off_t)(last->to_bytes + last->len_bytes)))
		ret = -errno;
	/* The parts are the only copy until this one is on the disk. */
	if (!ret && fdatasync(j->out))
		ret = -errno;
	if (ret == -ENOSPC)
		return fail(j->err, ret,
			    "the disk is full: %s stays in parts; make room, then: sonde record "
			    "--recover %.*s",
			    j->folder, slash ? (int)(slash - j->folder) : 1,
			    slash ? j->folder : ".");
	return ret ? fail(j->err, ret, "cannot write %s/" PART ": %s", j->folder, strerror(-ret))
		   : 0;
}

static int remove_cpu_file(struct join *j, unsigned cpu, const char *name)
{
	(void)cpu;
	unlinkat(j->dir, name, 0);
	return 0;
}

static void remove_parts(struct join *j)
{
	each_cpu_file(j, remove_cpu_file);
	unlinkat(j->dir, "head", 0);
	unlinkat(j->dir, "tail0", 0);
	unlinkat(j->dir, "tail1", 0);
	unlinkat(j->dir, "reserve", 0);
	unlinkat(j->dir, PART, 0);
}

/* The trace is whole, and called so; once that is on the disk its parts are needed no more. */
static int clean_up(struct join *j)
{
	/* EINVAL: a file system that cannot be told to. */
	if (fsync(j->dir) && errno != EINVAL)
		return fail(j->err, -errno, "cannot write the directory %s: %s", j->folder,
			    strerror(errno));
	remove_parts(j);
	return 0;
}

static bool there(const struct join *j, const char *name)
{
	return !faccessat(j->dir, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool is_next(struct walk *w, const void *data, size_t len_bytes)
{
	size_t at = w->pos;

	walk_skip(w, len_bytes);
	return !w->bad && !memcmp(w->data + at, data, len_bytes);
}

/* True when @whole is what these parts make: the same front, and each piece that is still here. */
static bool is_made_of(struct join *j, const struct mapfile *whole)
{
	struct walk w = {.data = whole->data, .len_bytes = whole->len_bytes};
	const uint8_t *tail = j->tail.data;
	uint64_t nr_cpus;

	if (!is_next(&w, j->head.data, j->head_bytes) || !is_next(&w, tail, j->cpus_at))
		return false;
	nr_cpus = walk_number(&w, 4);
	if (nr_cpus < j->nr_pieces ||
	    !is_next(&w, tail + j->cpus_at + 4, j->tail_bytes - j->cpus_at - 4) ||
	    !is_next(&w, "flyrecord", sizeof("flyrecord")))
		return false;
	for (unsigned i = 0; i < j->nr_pieces; i++) {
		uint64_t begin = walk_number(&w, 8), len = walk_number(&w, 8);

		if (w.bad || begin > whole->len_bytes || len > whole->len_bytes - begin ||
		    (j->pieces[i].fd >= 0 && len != j->pieces[i].len_bytes))
			return false;
	}
	return true;
}

/* The parts may be the only copy: a trace.dat that something else made, or that was cut since, is no
 * reason to remove them, and is not written over. */
static int expect_joined(struct join *j)
{
	struct mapfile whole = {0};
	int ret = open_tables(j);

	if (!ret)
		ret = lay_out(j);
	if (!ret && map_part(j, &whole, WHOLE))
		ret = -EEXIST;
	if (!ret && !is_made_of(j, &whole))
		ret = -EEXIST;
	mapfile_release(&whole);
	return ret == -EEXIST ? fail(j->err, ret,
				     "%s/" WHOLE " is not what the parts beside it make: "
				     "move it away, then they can be joined",
				     j->folder)
			      : ret;
}

/* True when something is there that an earlier join may have made; nothing is lost with an empty file. */
static bool has_whole(const struct join *j)
{
	struct stat st;

	return !fstatat(j->dir, WHOLE, &st, AT_SYMLINK_NOFOLLOW) &&
	       (!S_ISREG(st.st_mode) || st.st_size);
}

static int join(struct join *j)
{
	int ret;

	if (has_whole(j)) {
		ret = expect_joined(j);
		return ret ? ret : clean_up(j);
	}
	ret = open_tables(j);
	if (!ret)
		ret = lay_out(j);
	if (ret)
		return ret;
	j->out = openat(j->dir, PART, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (j->out < 0)
		return fail(j->err, -errno, "cannot make %s/" PART ": %s", j->folder,
			    strerror(errno));
	ret = write_whole(j);
	if (!ret && renameat(j->dir, PART, j->dir, WHOLE))
		ret = fail(j->err, -errno, "cannot rename %s/" PART ": %s", j->folder,
			   strerror(errno));
	return ret ? ret : clean_up(j);
}

int datfile_join(const char *folder, struct error *err)
{
	struct join j = {.folder = folder, .out = -1, .err = err};
	int ret;

	j.dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j.dir < 0)
		return fail(err, -errno, "cannot open %s: %s", folder, strerror(errno));
	ret = join(&j);
	for (unsigned i = 0; j.pieces && i < j.nr_pieces; i++) {
		if (j.pieces[i].fd >= 0)
			close(j.pieces[i].fd);
	}
	free(j.pieces);
	mapfile_release(&j.head);
	mapfile_release(&j.tail);
	if (j.out >= 0)
		close(j.out);
	close(j.dir);
	return ret;
}

bool datfile_has_parts(const char *folder)
{
	struct join j = {.folder = folder, .out = -1};
	bool parts;

	j.dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j.dir < 0)
		return false;
	parts = there(&j, "head") || there(&j, PART);
	close(j.dir);
	return parts;
}
