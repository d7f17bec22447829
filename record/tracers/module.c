/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/module.h"
#include "base/now.h"
#include "channel/reader.h"
#include "record/base/buffer.h"
#include "record/base/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)
/* Nobody wakes us: the module does not look whether it is read.  Its rings hold more. */
#define LOOK_AGAIN_MS 50
#define AGE_PATH "/sys/module/sonde_guest/parameters/age_ms"
#define AGE_MS_DEFAULT 100
#define AGE_MS_MAX 2000
/* What is left at the end is a ring's worth; a guest that writes as fast as we read has no end. */
#define LEFT_MS_MAX 5000

struct module {
	struct tracer tracer;
	int device, stop_fd;
	pthread_t thread;
	bool has_thread;
	uint64_t *next; /* owned: by CPU, the block after the last one + 1; 0: none yet */
	uint8_t *buf;	/* owned */
	struct module_losses losses;
	atomic_uint_fast64_t bytes, lost;
	atomic_int failed; /* -errno */
	struct error why;  /* to be read when failed is set */
};

static struct module *module_of(struct tracer *t)
{
	return (struct module *)t;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static uint32_t get_u32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool module_count(struct module_losses *losses, uint64_t *next, const void *data, size_t len_bytes)
{
	const uint8_t *at = data, *end = at + len_bytes;

	while (at < end) {
		uint32_t left =
			end - at < HT_BLOCK_BYTES_MAX ? (uint32_t)(end - at) : HT_BLOCK_BYTES_MAX;
		uint32_t len = ht_block_length(at, left), seq, dropped, missing;
		unsigned cpu;

		if (!len || len > left)
			return false;
		cpu = at[6] | (unsigned)at[7] << 8;
		seq = get_u32(at + 8);
		dropped = get_u32(at + 12);
		if (cpu >= CPUS_MAX)
			return false;
		losses->events += dropped;
		missing = next[cpu] ? seq - (uint32_t)(next[cpu] - 1) : 0;
		losses->blocks += (int32_t)missing > 0 ? missing : 0;
		next[cpu] = (uint64_t)(uint32_t)(seq + 1) + 1;
		at += len;
	}
	return true;
}

/* ---- the thread --------------------------------------------------------------------------------
 */

static void give_up(struct module *m, int code)
{
	atomic_store(&m->failed, code);
}

/* One read: how many bytes, 0 when there is nothing (now), -1 when it is over. */
static ssize_t move_some(struct module *m)
{
	struct sink *sink = m->tracer.sink;
	ssize_t n = read(m->device, m->buf, READ_BYTES);
	int ret;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0) {
		give_up(m, fail(&m->why, -errno, "cannot read " MODULE_DEVICE ": %s",
				strerror(errno)));
		return -1;
	}
	if (!module_count(&m->losses, m->next, m->buf, (size_t)n)) {
		give_up(m, fail(&m->why, -EPROTO, "what " MODULE_DEVICE " gives are no blocks"));
		return -1;
	}
	ret = n ? sink->ops->write(sink, SINK_BLOCKS, 0, m->buf, (size_t)n, &m->why) : 0;
	if (ret) {
		give_up(m, ret);
		return -1;
	}
	atomic_fetch_add(&m->bytes, (uint64_t)n);
	atomic_store(&m->lost, m->losses.events);
	return n;
}

/* True: it is time to end. */
static bool wait_ms(const struct module *m, int ms)
{
	struct pollfd p = {m->stop_fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

static unsigned age_ms(void)
{
	char text[16];
	unsigned ms;

	if (read_small(AT_FDCWD, AGE_PATH, text, sizeof(text)) <= 0 || sscanf(text, "%u", &ms) != 1)
		return AGE_MS_DEFAULT;
	return ms < AGE_MS_MAX ? ms : AGE_MS_MAX;
}

/* What happened until now is in blocks that end when they are age_ms old: a timer's tick later. */
static void move_rest(struct module *m)
{
	const struct timespec tick = {.tv_nsec = 20 * 1000000};
	int64_t aged = now_ms() + 2 * (int64_t)age_ms(), end = aged + LEFT_MS_MAX;
	ssize_t n = 0;

	while (n >= 0 && now_ms() < end && (n || now_ms() < aged)) {
		n = move_some(m);
		if (!n)
			nanosleep(&tick, NULL);
	}
}

static void *thread_main(void *data)
{
	struct module *m = data;
	ssize_t n = 0;

	while (n >= 0 && !wait_ms(m, n ? 0 : LOOK_AGAIN_MS))
		n = move_some(m);
	if (n >= 0)
		move_rest(m);
	m->tracer.cpu_ns += (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID); /* read after the join */
	return NULL;
}

/* ---- the tracer --------------------------------------------------------------------------------
 */

static int module_on(struct tracer *t, struct error *err)
{
	struct module *m = module_of(t);
	int ret = pthread_create(&m->thread, NULL, thread_main, m);

	if (ret)
		return fail(err, -ret, "cannot make a thread: %s", strerror(ret));
	m->has_thread = true;
	return 0;
}

static int module_named(struct tracer *t, struct error *err)
{
	(void)t;
	(void)err;
	return 0;
}

static void end_thread(struct module *m)
{
	uint64_t one = 1;

	if (!m->has_thread)
		return;
	/* Cannot fail: it is written once. */
	if (write(m->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(m->thread, NULL);
	m->has_thread = false;
}

static int module_check(struct tracer *t, struct error *err)
{
	struct module *m = module_of(t);
	int failed = atomic_load(&m->failed);

	if (failed && err)
		*err = m->why;
	return failed;
}

static int module_off(struct tracer *t, struct error *err)
{
	struct module *m = module_of(t);

	end_thread(m);
	/* How many events were in them their headers do not say. */
	if (m->losses.blocks)
		snprintf(t->missing, sizeof(t->missing),
			 "%" PRIu64 " blocks were overwritten before they were read: a larger "
			 "ring_kib of the module loses fewer",
			 m->losses.blocks);
	return module_check(t, err);
}

static uint64_t module_bytes(struct tracer *t)
{
	return atomic_load(&module_of(t)->bytes);
}

static uint64_t module_lost(struct tracer *t)
{
	return atomic_load(&module_of(t)->lost);
}

static int module_close(struct tracer *t, struct error *err)
{
	struct module *m = module_of(t);

	(void)err;
	end_thread(m);
	if (m->device >= 0)
		close(m->device);
	if (m->stop_fd >= 0)
		close(m->stop_fd);
	free(m->next);
	free(m->buf);
	free(m);
	return 0;
}

static int open_device(struct module *m, const char *device, struct error *err)
{
	m->device = open(device, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (m->device < 0)
		return fail(err, -errno, "cannot open %s: %s%s", device, strerror(errno),
			    errno == ENOENT ? "; " MODULE_DEVICE_HINT : "");
	m->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->stop_fd < 0)
		return fail(err, -errno, "cannot make an eventfd: %s", strerror(errno));
	return 0;
}

int module_open(struct tracer **out, const char *device, struct sink *sink, struct error *err)
{
	static const struct tracer_ops ops = {
		.on = module_on,
		.named = module_named,
		.off = module_off,
		.check = module_check,
		.bytes = module_bytes,
		.lost = module_lost,
		.close = module_close,
	};
	struct module *m = calloc(1, sizeof(*m));
	int ret;

	*out = NULL;
	if (!m)
		return fail(err, -ENOMEM, "out of memory");
	m->tracer = (struct tracer){.ops = &ops, .sink = sink, .marker = -1};
	snprintf(m->tracer.clock, sizeof(m->tracer.clock), "x86-tsc");
	m->device = m->stop_fd = -1;
	m->next = calloc(CPUS_MAX, sizeof(*m->next));
	m->buf = malloc(READ_BYTES);
	ret = m->next && m->buf ? open_device(m, device, err) : fail(err, -ENOMEM, "out of memory");
	if (ret) {
		module_close(&m->tracer, NULL);
		return ret;
	}
	*out = &m->tracer;
	return 0;
}
