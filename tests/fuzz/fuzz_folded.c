/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the file of folded hypertrace calls, which may come with a history from elsewhere.
 * The input is the file; the trace that it stands beside is made up here, with the clock that the
 * last byte's parity chooses.
 */
#include "source/folded/folded.h"
#include "tests/fuzz/scratch.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void read_stream(struct stream *s)
{
	struct event events[64];
	struct cursor c;
	uint64_t last = 0;
	char text[256];
	unsigned n;

	if (cursor_init(&c, s, 0, s->nr_packets, 0, NULL))
		return;
	while ((n = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < n; i++) {
			if (events[i].time.v < last || events[i].type >= s->trace->nr_types ||
			    (events[i].kind != EV_LOST &&
			     s->trace->types[events[i].type].kind != events[i].kind))
				abort();
			last = events[i].time.v;
			trace_event_print(s, &events[i], text, sizeof(text));
		}
	}
	cursor_release(&c);
}

static void keep(struct trace *t)
{
	(void)t; /* what it is made of is on the stack */
}

static const struct trace_ops host_ops = {.release = keep};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct event_type types[] = {
		{.name = "kvm_entry", .kind = EV_KVM_ENTRY},
		{.name = "kvm_exit", .kind = EV_KVM_EXIT},
		{.name = "kvm_hypercall", .kind = EV_KVM_HYPERCALL},
	};
	struct packet packet = {.begin = 1000};
	struct stream stream = {.packets = &packet, .nr_packets = 1};
	struct trace *host = malloc(sizeof(*host)), *t;
	struct error err = {0};
	char path[128];

	if (!host)
		return 0;
	*host = (struct trace){
		.ops = &host_ops,
		.format = TRACE_DAT,
		.clock.kind = len_bytes && data[len_bytes - 1] & 1 ? CLOCK_MONO : CLOCK_TSC,
		.streams = &stream,
		.nr_streams = 1,
		.nr_cpus = 8,
		.types = types,
		.nr_types = ARRAY_SIZE(types),
	};
	if (trace_set_paths(host, (const char *[]){"trace.dat"}, 1))
		abort();
	snprintf(path, sizeof(path), "%s/hypercalls", scratch_dir());
	scratch_write("hypercalls", data, len_bytes);
	if (!trace_probe(path) || trace_open(&t, path, &err)) {
		trace_release(host);
		return 0;
	}
	if (t->format != TRACE_FOLDED || folded_attach(host, t, &err))
		trace_release(t);
	else
		for (unsigned i = 0; i < t->nr_streams; i++)
			read_stream(&t->streams[i]);
	trace_release(host);
	return 0;
}
