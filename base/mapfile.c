/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

int mapfile_take_fd(struct mapfile *m, int fd, const char *path, struct error *err)
{
	struct stat st;

	memset(m, 0, sizeof(*m));
	if (fstat(fd, &st))
		return fail(err, -errno, "cannot stat %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(err, -EINVAL, "%s is not a regular file", path);
	m->device = st.st_dev;
	m->inode = st.st_ino;
	m->modified_ns = ns_of(&st.st_mtim);
	m->changed_ns = ns_of(&st.st_ctim);
	if (!st.st_size)
		return 0;
	m->data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->data == MAP_FAILED) {
		m->data = NULL;
		return fail(err, -errno, "cannot map %s: %s", path, strerror(errno));
	}
	m->len_bytes = (size_t)st.st_size;
	madvise((void *)m->data, m->len_bytes, MADV_SEQUENTIAL);
	return 0;
}

int mapfile_open(struct mapfile *m, const char *path, struct error *err)
{
	int fd, ret;

	memset(m, 0, sizeof(*m));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe: nobody is waited for */
	if (fd < 0)
		return fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	ret = mapfile_take_fd(m, fd, path, err);
	close(fd);
	return ret;
}

void mapfile_forget(const struct mapfile *m, size_t from_bytes, size_t len_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t begin = (from_bytes + page - 1) & ~(page - 1);
	size_t end = (from_bytes + len_bytes) & ~(page - 1);

	if (m->data && end > begin && end <= m->len_bytes)
		madvise((void *)(m->data + begin), end - begin, MADV_DONTNEED);
}

void mapfile_release(struct mapfile *m)
{
	if (m->data)
		munmap((void *)m->data, m->len_bytes);
	memset(m, 0, sizeof(*m));
}
