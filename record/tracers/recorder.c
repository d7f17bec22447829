/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "record/host/boot_trace.h"
#include "record/tracers/module.h"
#include "record/tracers/tracer.h"

#define WATCH_PERIOD_S 1
#define CLOCK_PERIODS 10 /* and once after the first, for what is killed early */

struct recorder {
	struct record_options options;
	struct tracer *tracer;
	struct vm_source vms;
	pthread_mutex_t state_lock; /* one state block at a time; the VMs */
	uint64_t state_ns;
	uint64_t cpu_ns;

	/* The watcher notices VMs that come and go, and notes the clocks. */
	pthread_t watcher;
	bool watching;
	bool stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

void tracer_notice(const struct record_options *options, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	if (!options->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	options->notice(text, options->notice_data);
}

/* With state_lock held. */
static int write_state(struct recorder *r, const char *cause, struct error *err)
{
	struct state_block block = {
		.fd = r->tracer->marker,
		.cause = cause,
		.tsc_khz = r->tracer->tsc_khz,
		.comms = &r->tracer->comms,
	};
	uint64_t begin = (uint64_t)now_ns(CLOCK_MONOTONIC);
	struct error why = {0};
	struct vms vms;
	int ret;

	if (block.fd < 0) /* it takes no lines */
		return 0;
	ret = vms_find(&r->vms, &vms);
	if (ret)
		return fail(err, ret, "out of memory for the VMs of this machine");
	block.vms = &vms;
	ret = state_write(&block, &why);
	vms_release(&vms);
	r->state_ns += (uint64_t)now_ns(CLOCK_MONOTONIC) - begin;
	if (ret == -ENOTSUP) {
		if (!strcmp(cause, "start"))
			tracer_notice(&r->options, "%s", why.text);
		return 0;
	}
	if (ret && err)
		*err = why;
	return ret;
}

int recorder_note_state(struct recorder *r, const char *cause, struct error *err)
{
	int ret;

	pthread_mutex_lock(&r->state_lock);
	ret = write_state(r, cause, err);
	pthread_mutex_unlock(&r->state_lock);
	return ret;
}

static void look_at_vms(struct recorder *r)
{
	pthread_mutex_lock(&r->state_lock);
	if (vm_source_changed(&r->vms))
		write_state(r, "vm", NULL); /* a trace that just ended says so by itself */
	pthread_mutex_unlock(&r->state_lock);
}

/* How the clocks stand: they drift, and a machine may be suspended. */
static void note_clocks(struct recorder *r)
{
	struct state_block block = {
		.fd = r->tracer->marker,
		.cause = "clock",
		.tsc_khz = r->tracer->tsc_khz,
	};

	pthread_mutex_lock(&r->state_lock);
	state_write(&block, NULL);
	pthread_mutex_unlock(&r->state_lock);
}

/* What this kernel recorded of its own boot, for who asks about boots. */
static void note_boot(struct recorder *r)
{
	struct state_block block = {
		.fd = r->tracer->marker,
		.cause = "boot",
		.tsc_khz = r->tracer->tsc_khz,
	};
	struct error err = {0};
	int ret;

	if (!(r->options.purpose & RECORD_BOOT) || r->tracer->marker < 0 || !booted_was_told_to())
		return;
	if (strcmp(r->tracer->clock, "x86-tsc")) {
		tracer_notice(&r->options,
			      "what this kernel recorded of its boot is left out: that has the "
			      "clock x86-tsc, this recording %s",
			      r->tracer->clock);
		return;
	}
	pthread_mutex_lock(&r->state_lock);
	ret = state_write(&block, &err);
	pthread_mutex_unlock(&r->state_lock);
	if (ret)
		tracer_notice(&r->options, "%s", err.text);
}

/* False when the watcher is to end. */
static bool wait_a_period(struct recorder *r)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WATCH_PERIOD_S;
	pthread_mutex_lock(&r->lock);
	while (!r->stop && !pthread_cond_timedwait(&r->wake, &r->lock, &until))
		;
	go_on = !r->stop;
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void *watcher_main(void *data)
{
	struct recorder *r = data;

	for (unsigned n = 1; wait_a_period(r); n++) {
		/* Without debugfs a look is too expensive for every second: VMs that come later are
		 * then known by their events only. */
		if (r->vms.kvm_dir >= 0)
			look_at_vms(r);
		if (n == 1 || n % CLOCK_PERIODS == 0)
			note_clocks(r);
	}
	r->cpu_ns += (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID); /* read after the join */
	return NULL;
}

static void watcher_start(struct recorder *r)
{
	r->watching = r->tracer->marker >= 0 && !pthread_create(&r->watcher, NULL, watcher_main, r);
}

static void watcher_stop(struct recorder *r)
{
	if (!r->watching)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->watcher, NULL);
	r->watching = false;
}

static void release(struct recorder *r)
{
	vm_source_close(&r->vms);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->state_lock);
	free(r);
}

static struct recorder *new_recorder(const struct record_options *options)
{
	struct recorder *r = calloc(1, sizeof(*r));
	pthread_condattr_t attr;

	if (!r)
		return NULL;
	r->options = *options;
	pthread_mutex_init(&r->state_lock, NULL);
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &attr);
	pthread_condattr_destroy(&attr);
	vm_source_open(&r->vms);
	return r;
}

static int open_tracer(struct recorder *r, struct sink *sink, struct error *err)
{
	switch (r->options.tracer) {
	case RECORD_LTTNG:
		return lttng_open(&r->tracer, &r->options, sink, err);
	case RECORD_HYPERTRACE:
		return module_open(&r->tracer, MODULE_DEVICE, sink, err);
	default:
		return ftrace_open(&r->tracer, &r->options, sink, err);
	}
}

static int start(struct recorder *r, struct sink *sink, struct error *err)
{
	int ret = open_tracer(r, sink, err);

	if (ret)
		return ret;
	ret = r->tracer->ops->on(r->tracer, err);
	if (!ret)
		ret = recorder_note_state(r, "start", err);
	if (!ret)
		ret = r->tracer->ops->named(r->tracer, err);
	if (ret)
		r->tracer->ops->close(r->tracer, NULL);
	else
		note_boot(r);
	return ret;
}

int recorder_start(struct recorder **out, const struct record_options *options, struct sink *sink,
		   struct error *err)
{
	uint64_t begin = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct recorder *r = new_recorder(options);
	int ret;

	*out = NULL;
	if (!r)
		return fail(err, -ENOMEM, "out of memory");
	ret = start(r, sink, err);
	if (ret) {
		release(r);
		return ret;
	}
	r->cpu_ns = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	watcher_start(r);
	*out = r;
	return 0;
}

uint64_t recorder_bytes(struct recorder *r)
{
	return r->tracer->ops->bytes(r->tracer);
}

uint64_t recorder_events_lost(struct recorder *r)
{
	return r->tracer->ops->lost(r->tracer);
}

int recorder_check(struct recorder *r, struct error *err)
{
	return r->tracer->ops->check(r->tracer, err);
}

int recorder_stop(struct recorder *r, struct record_cost *cost, struct error *err)
{
	uint64_t begin = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct tracer *t = r->tracer;
	struct error close_err = {0};
	int ret, closed;

	watcher_stop(r);
	/* When the sink has failed, tracing is off already and takes no lines. */
	if (!t->ops->check(t, NULL))
		recorder_note_state(r, "end", NULL);
	ret = t->ops->off(t, err);
	if (t->calls_over)
		tracer_notice(&r->options,
			      "%llu hypercalls of guests are lost: a VM made more than %u a second",
			      (unsigned long long)t->calls_over, r->options.calls_per_s);
	memset(cost, 0, sizeof(*cost));
	cost->bytes = t->ops->bytes(t);
	cost->events_lost = t->ops->lost(t);
	cost->state_ns = r->state_ns;
	snprintf(cost->clock, sizeof(cost->clock), "%s", t->clock);
	snprintf(cost->clock_reason, sizeof(cost->clock_reason), "%s", t->clock_reason);
	snprintf(cost->missing, sizeof(cost->missing), "%s", t->missing);
	cost->cpu_ns = r->cpu_ns + t->cpu_ns;
	closed = t->ops->close(t, &close_err);
	if (!ret && closed && err)
		*err = close_err;
	cost->cpu_ns += (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	release(r);
	return ret ? ret : closed;
}
