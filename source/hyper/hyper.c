/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of the hypertrace format: opening and releasing.  See hyper.h and reader.h. */
#define _GNU_SOURCE /* memfd_create() */
#include "source/hyper/hyper.h"
#include "source/hyper/reader.h"
#include "source/hyper/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names of symbols, opcodes, packets: what a guest can make us keep. */
#define ARENA_BYTES ((size_t)512 << 20)

static bool hyper_probe(const char *path)
{
	uint8_t header[HT_HEADER_BYTES];
	struct stat st;
	bool is_it;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	is_it = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		((read(fd, header, sizeof(header)) == sizeof(header) &&
		  ht_block_length(header, sizeof(header))) ||
		 ring_file_is(fd));
	close(fd);
	return is_it;
}

static void hyper_release(struct trace *t)
{
	struct hyper *h = t->reader;

	if (!h)
		return;
	mapfile_release(&h->file);
	map_release(&h->symbols);
	free(h->symbol_names);
	free(h->packets);
	arena_release(&h->arena);
	free(h);
}

static int open_file(struct trace *t, const char *path, const struct hyper_extent *list, size_t nr,
		     struct error *err)
{
	struct hyper *h = calloc(1, sizeof(*h));
	int ret;

	if (!h)
		return fail(err, -ENOMEM, "out of memory opening %s", t->path);
	t->format = TRACE_HYPER;
	t->reader = h;
	h->trace = t;
	h->arena.limit_bytes = ARENA_BYTES;
	ht_reader_init(&h->template);
	snprintf(t->tracer, sizeof(t->tracer), "hypertrace %d", HT_VERSION);
	snprintf(t->clock.name, sizeof(t->clock.name), "x86-tsc");
	t->clock.kind = CLOCK_TSC;
	ret = mapfile_open(&h->file, path, err);
	if (!ret && hyper_types_init(h))
		ret = fail(err, -ENOMEM, "out of memory opening %s", t->path);
	if (!ret)
		ret = hyper_index(h, list, nr, err);
	return arena_blame(&h->arena, ret, t->path, err);
}

/* Its guest may still write: what is read is a copy, which nobody changes. */
static int open_ring_file(struct trace *t, int fd, struct error *err)
{
	int copy = memfd_create("sonde-rings", MFD_CLOEXEC);
	char path[32];
	int ret = copy < 0 ? -errno : ring_file_copy(fd, copy);

	if (ret) {
		fail(err, ret, "cannot copy the rings in %s: %s", t->path, strerror(-ret));
	} else if (!lseek(copy, 0, SEEK_CUR)) {
		ret = fail(err, -ENODATA, "%s has rings of a guest, and nothing in them", t->path);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
		ret = open_file(t, path, NULL, 0, err);
	}
	if (copy >= 0)
		close(copy);
	return ret;
}

static int hyper_open_all(struct trace *t, struct error *err)
{
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_ring_file = fd >= 0 && ring_file_is(fd);
	int ret = is_ring_file ? open_ring_file(t, fd, err) : open_file(t, t->path, NULL, 0, err);

	if (fd >= 0)
		close(fd);
	return ret;
}

const struct trace_ops hyper_trace_ops = {
	.probe = hyper_probe,
	.open = hyper_open_all,
	.release = hyper_release,
	.cursor_init = hyper_cursor_init,
	.cursor_next = hyper_cursor_next,
	.cursor_release = hyper_cursor_release,
	.event_field = hyper_event_field,
	.event_print = hyper_event_print,
};

int hyper_open(struct trace **out, const char *path, const struct hyper_extent *list, size_t nr,
	       const char *label, struct error *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	int ret;

	*out = NULL;
	if (!t)
		return fail(err, -ENOMEM, "out of memory opening %s", label);
	t->ops = &hyper_trace_ops;
	ret = trace_set_paths(t, &label, 1);
	ret = ret ? fail(err, ret, "out of memory opening %s", label)
		  : open_file(t, path, list, nr, err);
	if (ret) {
		trace_release(t);
		return ret;
	}
	*out = t;
	return 0;
}
