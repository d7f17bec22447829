/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/hypercalls.h"
#include "base/now.h"
#include "channel/hypercalls.h"
#include "channel/origin.h"
#include "record/host/clocks.h"
#include "record/tracers/hypercalls_bpf.h"
#include "record/tracers/hypercalls_sites.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCK_PERIOD_NS 1000000000ll
#define OUT_RECORDS 512

/* Hypertrace calls and marks, by their numbers (channel/hypertrace.h): always in the records. */
#define NO_CALLS                                                                                   \
	"(nr < 0x5348000000000000 || nr > 0x5348ffffffffffff) && "                                 \
	"(nr < 0x534d000000000000 || nr > 0x534dffffffffffff)"

struct hypercalls {
	struct hypercalls_bpf *bpf;
	struct instance *in;
	struct sink *sink;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint_fast64_t bytes;
	uint64_t cpu_ns;
	int failed; /* -errno of the sink */
	struct error why;

	struct call_sites sites;
	bool is_vmx, filters_old;
	uint64_t left[CALL_SITES_MAX]; /* addresses that are no longer listed */
	unsigned nr_left;

	bool begun; /* there was a call: the file is there */
	int64_t clock_ns;
	uint64_t lost_told;
	struct hc_record first_clock;
	struct hc_record out[OUT_RECORDS];
	unsigned nr_out;
};

/* ---- the file ---- */

static void write_part(struct hypercalls *h, const void *data, size_t len_bytes)
{
	if (h->failed)
		return;
	h->failed = h->sink->ops->write(h->sink, SINK_CALLS, 0, data, len_bytes, &h->why);
	if (!h->failed)
		atomic_fetch_add(&h->bytes, len_bytes);
}

static void flush(struct hypercalls *h)
{
	if (h->nr_out)
		write_part(h, h->out, h->nr_out * sizeof(*h->out));
	h->nr_out = 0;
}

static void put(struct hypercalls *h, const struct hc_record *r)
{
	h->out[h->nr_out++] = *r;
	if (h->nr_out == OUT_RECORDS)
		flush(h);
}

static void read_clock(struct hc_record *r)
{
	struct clock_reading c;

	clock_read(&c);
	*r = (struct hc_record){
		.kind = HC_CLOCK,
		.time_ns = (uint64_t)c.mono,
		.tsc = c.tsc,
		.tsc_offset = (int64_t)c.width,
	};
}

/* The clock as it was when recording began is the first record of the file. */
static void begin_file(struct hypercalls *h)
{
	struct hc_header header = {
		.magic = HC_MAGIC,
		.version = HC_VERSION,
		.record_bytes = sizeof(struct hc_record),
	};

	write_part(h, &header, sizeof(header));
	put(h, &h->first_clock);
	h->begun = true;
}

/* Each second, and at the end: clocks, and what was lost. */
static void put_marks(struct hypercalls *h, bool is_end)
{
	uint64_t lost = hypercalls_bpf_lost(h->bpf);
	int64_t now = (int64_t)now_ns(CLOCK_MONOTONIC);
	struct hc_record r;

	if (!h->begun || (!is_end && now - h->clock_ns < CLOCK_PERIOD_NS))
		return;
	read_clock(&r);
	put(h, &r);
	if (is_end || lost != h->lost_told) {
		r = (struct hc_record){.kind = HC_LOST, .time_ns = r.time_ns, .tsc = lost};
		put(h, &r);
	}
	h->lost_told = lost;
	h->clock_ns = now;
}

/* ---- places ---- */

static void take(void *data, const struct hc_record *r)
{
	struct hypercalls *h = data;
	uint64_t left;

	if (!h->begun)
		begin_file(h);
	put(h, r);
	/* Places of processes stay in the trace, whatever is not written of their calls. */
	if (r->kind != HC_CALL || ht_origin_of_rip(r->rip) != HT_ORIGIN_KERNEL ||
	    h->nr_left == CALL_SITES_MAX || !call_sites_take(&h->sites, r->rip, r->time_ns, &left))
		return;
	h->is_vmx = r->flags & HC_VMX;
	h->filters_old = true;
	if (left)
		h->left[h->nr_left++] = left;
}

/* The places that the program watches: what it does not, a filter must not drop. */
static void watch_places(struct hypercalls *h, struct call_sites *watched)
{
	watched->nr = 0;
	for (unsigned i = 0; i < h->sites.nr; i++) {
		int ret = hypercalls_bpf_watch(h->bpf, h->sites.rips[i]);

		if (!ret || ret == -EEXIST)
			watched->rips[watched->nr++] = h->sites.rips[i];
	}
}

/* The program watches what a filter drops before the filter does so, and until it no longer does.
 */
static void renew_filters(struct hypercalls *h)
{
	char exits[CALL_SITES_FILTER_BYTES], entries[CALL_SITES_FILTER_BYTES];
	struct call_sites watched;

	if (!h->filters_old || !hypercalls_bpf_knows_exits(h->bpf))
		return;
	h->filters_old = false;
	watch_places(h, &watched);
	call_sites_exit_filter(&watched, h->is_vmx, exits);
	call_sites_entry_filter(&watched, entries);
	/* A filter that tracefs does not take leaves the events in the trace: more, not less. */
	instance_set(h->in, "events/kvm/kvm_exit/filter", exits, NULL);
	instance_set(h->in, "events/kvm/kvm_entry/filter", entries, NULL);
	for (unsigned i = 0; i < h->nr_left; i++)
		hypercalls_bpf_forget(h->bpf, h->left[i]);
	h->nr_left = 0;
}

/* ---- the thread ---- */

static void *thread_main(void *data)
{
	struct hypercalls *h = data;
	bool stop;

	do {
		stop = atomic_load(&h->stop); /* before: what came until then is taken */
		hypercalls_bpf_poll(h->bpf, stop ? 0 : CALLS_TICK_MS);
		renew_filters(h);
		hypercalls_bpf_skipped(h->bpf, stop);
		if (stop) /* the records that tell of the others, written since the poll */
			hypercalls_bpf_poll(h->bpf, 0);
		put_marks(h, stop);
		flush(h);
	} while (!stop);
	h->cpu_ns = (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static int start(struct hypercalls *h, unsigned tasks, uint32_t calls_per_s, struct error *err)
{
	bool folds = tasks & HYPERCALLS_FOLD;
	int ret = hypercalls_bpf_open(&h->bpf, tasks, calls_per_s, take, h, err);

	if (ret)
		return ret;
	read_clock(&h->first_clock);
	if (folds)
		ret = instance_set(h->in, "events/kvm/kvm_hypercall/filter", NO_CALLS, err);
	if (ret)
		return ret;
	ret = -pthread_create(&h->thread, NULL, thread_main, h);
	if (!ret)
		return 0;
	if (folds)
		instance_set(h->in, "events/kvm/kvm_hypercall/filter", "0", NULL);
	return fail(err, ret, "cannot make a thread: %s", strerror(-ret));
}

int hypercalls_start(struct hypercalls **out, struct instance *in, struct sink *sink,
		     unsigned tasks, uint32_t calls_per_s, struct error *err)
{
	struct hypercalls *h = calloc(1, sizeof(*h));
	int ret;

	*out = NULL;
	if (!h)
		return fail(err, -ENOMEM, "out of memory");
	h->in = in;
	h->sink = sink;
	ret = start(h, tasks, calls_per_s, err);
	if (ret) {
		hypercalls_bpf_close(h->bpf);
		free(h);
		return ret;
	}
	*out = h;
	return 0;
}

uint64_t hypercalls_bytes(const struct hypercalls *h)
{
	return atomic_load(&h->bytes);
}

uint64_t hypercalls_lost(const struct hypercalls *h)
{
	return hypercalls_bpf_lost(h->bpf);
}

int hypercalls_stop(struct hypercalls *h, struct tracer *t, uint64_t *bytes, uint64_t *lost,
		    struct error *err)
{
	int ret;

	if (!h)
		return 0;
	atomic_store(&h->stop, true);
	pthread_join(h->thread, NULL);
	t->cpu_ns += h->cpu_ns;
	t->calls_over += hypercalls_bpf_over(h->bpf);
	*bytes += h->bytes;
	*lost += hypercalls_bpf_lost(h->bpf);
	ret = h->failed;
	if (ret && err)
		*err = h->why;
	hypercalls_bpf_close(h->bpf);
	free(h);
	return ret;
}
