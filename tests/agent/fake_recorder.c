/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of record/tracers/recorder.c, for tests of links: every CPU is a thread that writes
 * pages whose bytes follow from CPU and page number, so that a reader sees what is missing or out
 * of place. The environment says the rest:
 *
 *	FAKE_CPUS=2      threads
 *	FAKE_PAGES=0     pages of each; 0: until it is stopped
 *	FAKE_PAUSE_US=0  between pages
 *	FAKE_FAIL=TEXT   recording cannot start
 *	FAKE_MARK=FILE   is there while "tracing" is on
 *	FAKE_BREAK=N     recording ends by itself, with an error, after N pages
 *	FAKE_NOTICE=TEXT good to know
 *	FAKE_FILES=LIST  names of files, with commas, written before the rest
 */
#include "record/tracers/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MAX 64
#define PAGE_BYTES 4096
#define PAGES_AT_ONCE 16

struct recorder {
	struct sink *sink;
	unsigned nr_cpus;
	uint64_t nr_pages;
	unsigned pause_us;
	atomic_bool stop;
	atomic_uint_fast64_t pages;
	atomic_int failed;
	struct fake_cpu {
		struct recorder *r;
		unsigned cpu;
		pthread_t thread;
	} cpus[CPUS_MAX];
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void fill_page(uint64_t *page, unsigned cpu, uint64_t number)
{
	for (unsigned i = 0; i < PAGE_BYTES / sizeof(*page); i++)
		page[i] = ((uint64_t)cpu << 56) + (number << 16) + i;
}

static void *cpu_main(void *data)
{
	struct fake_cpu *c = data;
	struct recorder *r = c->r;
	uint64_t pages[PAGES_AT_ONCE][PAGE_BYTES / sizeof(uint64_t)];
	uint64_t number = 0;
	struct error err = {0};

	while (!atomic_load(&r->stop) && (!r->nr_pages || number < r->nr_pages)) {
		unsigned nr = 0;
		int ret;

		while (nr < PAGES_AT_ONCE && (!r->nr_pages || number < r->nr_pages))
			fill_page(pages[nr++], c->cpu, number++);
		ret = r->sink->ops->write(r->sink, SINK_CPU, c->cpu, pages, nr * PAGE_BYTES, &err);
		if (ret) {
			atomic_store(&r->failed, ret);
			break;
		}
		atomic_fetch_add(&r->pages, nr);
		if (r->pause_us)
			usleep(r->pause_us);
	}
	return NULL;
}

static void mark(bool on)
{
	const char *path = getenv("FAKE_MARK");
	int fd;

	if (!path)
		return;
	if (!on) {
		unlink(path);
		return;
	}
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

static int write_files(struct sink *sink, struct error *err)
{
	const char *list = getenv("FAKE_FILES");
	char names[512], *save, *text = names;
	unsigned number = 0;
	int ret = 0;

	snprintf(names, sizeof(names), "%s", list ? list : "");
	for (char *name = strtok_r(text, ",", &save); name && !ret;
	     name = strtok_r(NULL, ",", &save)) {
		ret = sink->ops->file(sink, number, name, err);
		if (!ret)
			ret = sink->ops->write(sink, SINK_FILE, number++, name, strlen(name), err);
	}
	return ret;
}

int recorder_start(struct recorder **out, const struct record_options *options, struct sink *sink,
		   struct error *err)
{
	struct recorder *r = calloc(1, sizeof(*r));
	char head[400];
	int ret, len;

	if (getenv("FAKE_FAIL")) {
		free(r);
		return fail(err, -ENODEV, "%s", getenv("FAKE_FAIL"));
	}
	r->sink = sink;
	r->nr_cpus = (unsigned)setting("FAKE_CPUS", 2);
	r->nr_pages = setting("FAKE_PAGES", 0);
	r->pause_us = (unsigned)setting("FAKE_PAUSE_US", 0);
	len = snprintf(head, sizeof(head),
		       "head purpose=%u buffer_kb=%u clock=%s events=%u:", options->purpose,
		       options->buffer_kb, options->clock ? options->clock : "",
		       options->nr_events);
	for (unsigned i = 0; i < options->nr_events && i < 4; i++)
		len += snprintf(head + len, sizeof(head) - (size_t)len, "%s ", options->events[i]);
	ret = sink->ops->write(sink, SINK_HEAD, 0, head, (size_t)len, err);
	if (!ret)
		ret = write_files(sink, err);
	if (ret) {
		free(r);
		return ret;
	}
	if (getenv("FAKE_NOTICE") && options->notice)
		options->notice(getenv("FAKE_NOTICE"), options->notice_data);
	mark(true);
	for (unsigned i = 0; i < r->nr_cpus && i < CPUS_MAX; i++) {
		r->cpus[i].r = r;
		r->cpus[i].cpu = i;
		pthread_create(&r->cpus[i].thread, NULL, cpu_main, &r->cpus[i]);
	}
	*out = r;
	return 0;
}

int recorder_note_state(struct recorder *r, const char *cause, struct error *err)
{
	char text[100];
	int len = snprintf(text, sizeof(text), "note %s\n", cause);

	return r->sink->ops->write(r->sink, SINK_TAIL, 1, text, (size_t)len, err);
}

int recorder_check(struct recorder *r, struct error *err)
{
	uint64_t most = setting("FAKE_BREAK", UINT64_MAX);

	if (atomic_load(&r->failed))
		return fail(err, atomic_load(&r->failed), "the sink failed");
	if (atomic_load(&r->pages) <= most)
		return 0;
	atomic_store(&r->stop, true);
	return fail(err, -EIO, "somebody removed its buffer");
}

uint64_t recorder_events_lost(struct recorder *r)
{
	(void)r;
	return 7;
}

int recorder_stop(struct recorder *r, struct record_cost *cost, struct error *err)
{
	char tail[100];
	int ret, len;

	/* With a number of pages it ends when they are written, however soon it is told to. */
	if (!r->nr_pages)
		atomic_store(&r->stop, true);
	for (unsigned i = 0; i < r->nr_cpus; i++)
		pthread_join(r->cpus[i].thread, NULL);
	mark(false);
	memset(cost, 0, sizeof(*cost));
	cost->events_lost = recorder_events_lost(r);
	cost->bytes = atomic_load(&r->pages) * PAGE_BYTES;
	snprintf(cost->clock, sizeof(cost->clock), "x86-tsc");
	len = snprintf(tail, sizeof(tail), "tail pages=%llu\n",
		       (unsigned long long)atomic_load(&r->pages));
	ret = atomic_load(&r->failed);
	if (ret)
		fail(err, ret, "the sink failed");
	else
		ret = r->sink->ops->write(r->sink, SINK_TAIL, 0, tail, (size_t)len, err);
	free(r);
	return ret;
}
