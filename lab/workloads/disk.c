/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk: reads and writes blocks of --device past the page cache, one at a time, with --busy-us of
 * work and --gap-us of sleep (0: none) between them.  It overwrites what is on the device.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ALIGNMENT 4096

struct disk {
	int fd;
	uint64_t block, blocks; /* size of a block; how many fit on the device */
	char *buffer;
};

static void disk_open(struct disk *d, const char *device, uint64_t block)
{
	off_t size;

	if (!device || !block || block % ALIGNMENT) {
		errno = EINVAL;
		die(device ? "--block" : "--device");
	}
	d->fd = open(device, O_RDWR | O_DIRECT);
	if (d->fd < 0)
		die(device);
	size = lseek(d->fd, 0, SEEK_END);
	d->block = block;
	d->blocks = (uint64_t)size / block;
	if (size < 0 || !d->blocks)
		die(device);
	if (posix_memalign((void **)&d->buffer, ALIGNMENT, block))
		die("posix_memalign");
	memset(d->buffer, 0x5a, block);
}

/* One block, at a place that @number determines; blocks far apart, so that none are merged. */
static void disk_step(const struct disk *d, uint64_t number, bool write)
{
	off_t at = (off_t)(number * 7919 % d->blocks * d->block);
	ssize_t done = write ? pwrite(d->fd, d->buffer, d->block, at)
			     : pread(d->fd, d->buffer, d->block, at);

	if (done != (ssize_t)d->block)
		die(write ? "pwrite" : "pread");
}

int main(int argc, char **argv)
{
	const char *device = NULL;
	uint64_t block = 65536, writes = 25, busy = 100, gap = 3000, steps = 0, sum = 0, max = 0;
	struct workload w = {.kind = "disk", .waits = "disk"};
	const struct option_spec specs[] = {
		{"device", "a block device or file it may overwrite", NULL, &device},
		{"block", "bytes of each access, a multiple of 4096 (65536)", &block, NULL},
		{"write-percent", "share of writes (25)", &writes, NULL},
		{"busy-us", "time of computing between two accesses (100)", &busy, NULL},
		{"gap-us", "time of sleeping between two accesses (3000)", &gap, NULL},
		{NULL, NULL, NULL, NULL},
	};
	struct disk d;

	workload_options(&w, argc, argv, specs);
	w.sleeps = gap != 0;
	disk_open(&d, device, block);
	workload_begin(&w, specs);
	for (; !workload_over(&w); steps++) {
		uint64_t begin = tsc_now(), took;

		disk_step(&d, steps, steps * writes / 100 != (steps + 1) * writes / 100);
		took = us_of_tsc(&w, tsc_now() - begin);
		sum += took;
		max = took > max ? took : max;
		busy_us(&w, w.id, busy);
		if (gap)
			sleep_us(gap);
	}
	workload_end(&w, "periods", steps, "access_sum_us", sum, "access_max_us", max, NULL);
	return 0;
}
