/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* splice() */
#include "record/directory/folder.h"
#include "base/write_all.h"
#include "record/base/cpus.h"
#include "record/base/file_name.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_NAME "reserve"
#define RESERVE_BYTES (2u << 20)
#define RESERVE_BYTES_MAX (64u << 20)
#define NAME_MAX_BYTES (FILE_NAME_MAX + 8) /* below lttng/ */

/* The files of one kind of part, by number: descriptor + 1, or 0. */
struct shelf {
	int *fds;
	unsigned nr;
};

struct folder {
	struct sink sink;
	int dir;
	char path[4000];
	char place[4096]; /* of files: path/lttng */
	uint64_t limit_bytes;
	size_t page_bytes;
	size_t head_bytes; /* written */
	atomic_uint_fast64_t bytes;
	atomic_int failed;    /* -errno of the first write that failed */
	pthread_mutex_t lock; /* of the shelves */
	struct shelf shelves[SINK_KINDS];
};

static struct folder *folder_of(struct sink *s)
{
	return (struct folder *)s;
}

static int part_name(enum sink_part kind, unsigned number, char *name, size_t room)
{
	if (kind == SINK_HEAD && !number)
		snprintf(name, room, "head");
	else if (kind == SINK_TAIL && number <= 1)
		snprintf(name, room, "tail%u", number);
	else if (kind == SINK_CPU && number < CPUS_MAX)
		snprintf(name, room, "cpu%u.raw", number);
	else if (kind == SINK_BLOCKS && !number)
		snprintf(name, room, "hypertrace");
	else if (kind == SINK_CALLS && !number)
		snprintf(name, room, "hypercalls");
	else
		return -EINVAL;
	return 0;
}

static int shelf_put(struct shelf *shelf, unsigned number, int fd)
{
	if (number >= shelf->nr) {
		unsigned nr = number + 16;
		int *grown = reallocarray(shelf->fds, nr, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + shelf->nr, 0, (nr - shelf->nr) * sizeof(*grown));
		shelf->fds = grown;
		shelf->nr = nr;
	}
	shelf->fds[number] = fd + 1;
	return 0;
}

static int open_new(struct folder *f, struct shelf *shelf, unsigned number, int dir,
		    const char *name, struct error *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return fail(err, -errno, "cannot make %s/%s: %s", f->path, name, strerror(errno));
	if (shelf_put(shelf, number, fd)) {
		close(fd);
		return fail(err, -ENOMEM, "out of memory for %s/%s", f->path, name);
	}
	return fd;
}

/* The descriptor of a part, opened when it is written first. */
static int part_fd(struct folder *f, enum sink_part kind, unsigned number, struct error *err)
{
	struct shelf *shelf;
	char name[NAME_MAX_BYTES];
	int fd;

	if (kind >= SINK_KINDS)
		return fail(err, -EINVAL, "there is no part of kind %d", kind);
	shelf = &f->shelves[kind];
	pthread_mutex_lock(&f->lock);
	if (number < shelf->nr && shelf->fds[number])
		fd = shelf->fds[number] - 1;
	else if (part_name(kind, number, name, sizeof(name)))
		fd = fail(err, -EINVAL, "there is no part %u of kind %d in %s", number, kind,
			  f->path);
	else
		fd = open_new(f, shelf, number, f->dir, name, err);
	pthread_mutex_unlock(&f->lock);
	return fd;
}

/* @len_bytes more: allowed?  A part that ends the recording always is. */
static int admit(struct folder *f, enum sink_part kind, size_t len_bytes, struct error *err)
{
	int failed = atomic_load(&f->failed);

	if (kind == SINK_TAIL)
		return 0;
	if (failed)
		return fail(err, failed, "nothing more is written to %s: %s", f->path,
			    strerror(-failed));
	if (f->limit_bytes && atomic_load(&f->bytes) + len_bytes > f->limit_bytes) {
		atomic_store(&f->failed, -EDQUOT);
		return fail(err, -EDQUOT, "%s has reached its limit of %llu bytes", f->path,
			    (unsigned long long)f->limit_bytes);
	}
	return 0;
}

/* A write failed: nothing more goes in, the file ends with a whole page, the reserve is free. */
static int write_failed(struct folder *f, enum sink_part kind, int fd, int code, struct error *err)
{
	struct stat st;

	atomic_store(&f->failed, code);
	if (kind == SINK_CPU && !fstat(fd, &st) && st.st_size % (off_t)f->page_bytes &&
	    ftruncate(fd, st.st_size - st.st_size % (off_t)f->page_bytes))
		return fail(err, -errno, "cannot cut a file in %s to whole pages: %s", f->path,
			    strerror(errno));
	unlinkat(f->dir, RESERVE_NAME, 0);
	if (code == -ENOSPC)
		return fail(err, code, "the disk is full: %s takes no more", f->path);
	return fail(err, code, "cannot write to %s: %s", f->path, strerror(-code));
}

/* Room held back: for the head once more, when the parts are joined, and some.  No room for that is
 * no error: there is then less to end the recording with. */
static void hold_reserve(struct folder *f, size_t head_bytes)
{
	size_t most = RESERVE_BYTES_MAX - RESERVE_BYTES;
	int fd;

	f->head_bytes += head_bytes;
	fd = openat(f->dir, RESERVE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return;
	if (!posix_fallocate(fd, 0, RESERVE_BYTES))
		posix_fallocate(
			fd, 0,
			(off_t)(RESERVE_BYTES + (f->head_bytes < most ? f->head_bytes : most)));
	close(fd);
}

static int folder_write(struct sink *s, enum sink_part kind, unsigned number, const void *data,
			size_t len_bytes, struct error *err)
{
	struct folder *f = folder_of(s);
	int ret = admit(f, kind, len_bytes, err);
	int fd = ret ? ret : part_fd(f, kind, number, err);
	off_t before;

	if (fd < 0)
		return fd;
	before = lseek(fd, 0, SEEK_CUR);
	ret = write_all(fd, data, len_bytes);
	if (ret == -ENOSPC && kind == SINK_TAIL) {
		/* The reserve is there for this.  What came of the tail earlier stays. */
		unlinkat(f->dir, RESERVE_NAME, 0);
		ret = ftruncate(fd, before) || lseek(fd, before, SEEK_SET) < 0
			      ? -errno
			      : write_all(fd, data, len_bytes);
	}
	if (ret)
		return write_failed(f, kind, fd, ret, err);
	atomic_fetch_add(&f->bytes, len_bytes);
	if (kind == SINK_HEAD)
		hold_reserve(f, len_bytes);
	return 0;
}

static ssize_t folder_splice(struct sink *s, enum sink_part kind, unsigned number, int fd,
			     size_t len_bytes, struct error *err)
{
	struct folder *f = folder_of(s);
	int ret = admit(f, kind, len_bytes, err);
	int out = ret ? ret : part_fd(f, kind, number, err);
	ssize_t n;

	if (out < 0)
		return out;
	do {
		n = splice(fd, NULL, out, NULL, len_bytes, SPLICE_F_MOVE);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return write_failed(f, kind, out, -errno, err);
	atomic_fetch_add(&f->bytes, (uint64_t)n);
	return n;
}

/* Opens the directory that @path leads to, made where it is missing; *last: what remains. */
static int open_parent(struct folder *f, const char *path, const char **last)
{
	int dir = dup(f->dir);

	*last = path;
	for (const char *slash; dir >= 0 && (slash = strchr(*last, '/')); *last = slash + 1) {
		char name[NAME_MAX_BYTES];
		int below;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - *last), *last);
		below = mkdirat(dir, name, 0755) && errno != EEXIST
				? -1
				: openat(dir, name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(dir);
		dir = below;
	}
	return dir < 0 ? -errno : dir;
}

static int make_file(struct folder *f, unsigned number, const char *name, struct error *err)
{
	struct shelf *shelf = &f->shelves[SINK_FILE];
	char path[NAME_MAX_BYTES];
	const char *last;
	int dir, ret;

	if (number < shelf->nr && shelf->fds[number])
		return fail(err, -EEXIST, "file number %u of %s has a name already", number,
			    f->path);
	snprintf(path, sizeof(path), "lttng/%s", name);
	dir = open_parent(f, path, &last);
	if (dir < 0)
		return fail(err, dir, "cannot make %s/%s: %s", f->path, path, strerror(-dir));
	ret = open_new(f, shelf, number, dir, last, err);
	close(dir);
	return ret;
}

static int folder_file(struct sink *s, unsigned number, const char *name, struct error *err)
{
	struct folder *f = folder_of(s);
	int ret;

	if (number >= FOLDER_FILES_MAX || !file_name_is_fit(name))
		return fail(err, -EINVAL, "%s takes no file number %u called \"%.100s\"", f->path,
			    number, name);
	pthread_mutex_lock(&f->lock);
	ret = make_file(f, number, name, err);
	pthread_mutex_unlock(&f->lock);
	return ret < 0 ? ret : 0;
}

static const char *folder_place(struct sink *s)
{
	return folder_of(s)->place;
}

static const struct sink_ops folder_ops = {
	.write = folder_write,
	.splice = folder_splice,
	.file = folder_file,
	.place = folder_place,
};

int folder_open(struct sink **out, const char *path, const struct folder_options *opt,
		struct error *err)
{
	struct folder *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return fail(err, -ENOMEM, "out of memory for %s", path);
	f->sink.ops = &folder_ops;
	f->limit_bytes = opt ? opt->limit_bytes : 0;
	f->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	snprintf(f->path, sizeof(f->path), "%s", path);
	snprintf(f->place, sizeof(f->place), "%s/lttng", f->path);
	pthread_mutex_init(&f->lock, NULL);
	f->dir = -1;
	if (!mkdir(path, 0755) || errno == EEXIST)
		f->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->dir < 0) {
		int code = -errno;

		folder_close(&f->sink);
		return fail(err, code, "cannot make the folder %s: %s", path, strerror(-code));
	}
	hold_reserve(f, 0);
	*out = &f->sink;
	return 0;
}

uint64_t folder_bytes(const struct sink *s)
{
	return atomic_load(&((const struct folder *)s)->bytes);
}

void folder_close(struct sink *s)
{
	struct folder *f = folder_of(s);

	if (!f)
		return;
	for (unsigned k = 0; k < SINK_KINDS; k++) {
		for (unsigned i = 0; i < f->shelves[k].nr; i++) {
			if (f->shelves[k].fds[i])
				close(f->shelves[k].fds[i] - 1);
		}
		free(f->shelves[k].fds);
	}
	if (f->dir >= 0) {
		unlinkat(f->dir, RESERVE_NAME, 0);
		close(f->dir);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}
