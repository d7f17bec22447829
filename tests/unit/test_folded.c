/* SPDX-License-Identifier: Apache-2.0 */
/* The file of folded hypertrace calls, beside a host's trace: which events it becomes, and when. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/hypercalls.h"
#include "source/folded/folded.h"

#define TSC_0 5000000u /* at mono 1000000; three cycles are a ns */
#define MONO_0 1000000u
#define RECORDS_MAX 32

struct world {
	char dir[64], path[96], file[96];
	struct event_type types[4];
	struct packet packet;
	struct stream stream;
	struct trace *host; /* owned */
	struct hc_record records[RECORDS_MAX];
	unsigned nr;
};

static void keep(struct trace *t)
{
	(void)t; /* what it is made of is the world's */
}

static const struct trace_ops host_ops = {.release = keep};

static void setup(struct world *w)
{
	memset(w, 0, sizeof(*w));
	strcpy(w->dir, "/tmp/sonde-calls-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/trace.dat", w->dir);
	snprintf(w->file, sizeof(w->file), "%s/hypercalls", w->dir);
	w->types[0] = (struct event_type){.name = "sched_switch", .kind = EV_SCHED_SWITCH};
	w->types[1] = (struct event_type){.name = "kvm_entry", .kind = EV_KVM_ENTRY};
	w->types[2] = (struct event_type){.name = "kvm_exit", .kind = EV_KVM_EXIT};
	w->types[3] = (struct event_type){.name = "kvm_hypercall", .kind = EV_KVM_HYPERCALL};
	w->packet = (struct packet){.begin = TSC_0, .len_bytes = 4096};
	w->stream = (struct stream){.packets = &w->packet, .nr_packets = 1};
	w->host = malloc(sizeof(*w->host));
	assert_non_null(w->host);
	*w->host = (struct trace){
		.ops = &host_ops,
		.format = TRACE_DAT,
		.trace_id = 7,
		.clock = {.kind = CLOCK_TSC},
		.streams = &w->stream,
		.nr_streams = 1,
		.nr_cpus = 2,
		.types = w->types,
		.nr_types = 4,
	};
	assert_int_equal(trace_set_paths(w->host, (const char *[]){w->path}, 1), 0);
	/* Two clocks, a second apart. */
	w->records[w->nr++] = (struct hc_record){.kind = HC_CLOCK, .time_ns = MONO_0, .tsc = TSC_0};
	w->records[w->nr++] = (struct hc_record){
		.kind = HC_CLOCK, .time_ns = MONO_0 + 1000000000, .tsc = TSC_0 + 3000000000};
}

/* The guest's TSC is the host's and 100. */
static struct hc_record *add_call(struct world *w, unsigned after_ns, unsigned flags)
{
	struct hc_record *r = &w->records[w->nr++];

	*r = (struct hc_record){
		.kind = HC_CALL,
		.flags = (uint16_t)flags,
		.time_ns = MONO_0 + after_ns,
		.tsc = TSC_0 + 3ull * after_ns + 100,
		.tsc_offset = 100,
		.tid = 42,
		.vcpu_id = 1,
		.overhead_ns = 50,
		.rip = 0x401000,
		.nr = 0x534d000000000000ull + w->nr,
		.args = {1, 2, 3, 4},
	};
	return r;
}

static void write_file(struct world *w, size_t cut_bytes)
{
	struct hc_header header = {
		.magic = HC_MAGIC, .version = HC_VERSION, .record_bytes = HC_RECORD_BYTES};
	size_t len = w->nr * sizeof(*w->records) - cut_bytes;
	FILE *f = fopen(w->file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(&header, sizeof(header), 1, f), 1);
	assert_int_equal(fwrite(w->records, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* The part, which is the host's now; NULL: refused. */
static struct trace *attach(struct world *w, struct error *err)
{
	struct trace *t;

	assert_int_equal(trace_open(&t, w->file, err), 0);
	assert_int_equal(t->format, TRACE_FOLDED);
	if (!folded_attach(w->host, t, err))
		return t;
	trace_release(t);
	return NULL;
}

static unsigned read_cpu(const struct trace *t, int cpu, kinds_t want, struct event *out,
			 unsigned room)
{
	struct cursor c;
	unsigned n = 0, got;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		if (t->streams[i].cpu != cpu)
			continue;
		assert_int_equal(
			cursor_init(&c, &t->streams[i], 0, t->streams[i].nr_packets, want, NULL),
			0);
		while (n < room && (got = cursor_next(&c, out + n, room - n)))
			n += got;
		cursor_release(&c);
	}
	return n;
}

static void teardown(struct world *w)
{
	trace_release(w->host);
	unlink(w->file);
	rmdir(w->dir);
}

static void a_call_becomes_what_the_trace_leaves_out(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct trace *t;
	char text[128];

	(void)state;
	setup(&w);
	add_call(&w, 1000, 0)->tsc_offset = 100;
	add_call(&w, 2000, HC_NO_EXIT | HC_NO_ENTRY);
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(t->problems.nr, 0);
	assert_int_equal(read_cpu(t, 0, 0, e, 16), 4);
	assert_int_equal(e[0].kind, EV_KVM_HYPERCALL);
	assert_int_equal(e[0].time.v, TSC_0 + 3000);
	assert_int_equal(e[0].tid, 42);
	assert_int_equal(e[0].arg[4], 4);
	assert_int_equal(e[1].kind, EV_KVM_EXIT);
	assert_int_equal(e[1].type, 2);
	assert_int_equal(e[1].time.v, TSC_0 + 6000);
	assert_int_equal(e[1].arg[0], 0x81);
	assert_int_equal(e[1].arg[2], 0x401000);
	assert_int_equal(e[2].kind, EV_KVM_HYPERCALL);
	assert_int_equal(e[3].kind, EV_KVM_ENTRY);
	assert_int_equal(e[3].time.v, TSC_0 + 6150);
	assert_int_equal(e[3].arg[1], 0x401003);
	trace_event_print(&t->streams[0], &e[1], text, sizeof(text));
	assert_string_equal(text, "exit_reason=129 vcpu_id=1 guest_rip=4198400 isa=2");
	assert_int_equal(read_cpu(t, 0, WANT(KVM_ENTRY), e, 16), 1);
	teardown(&w);
}

/* Interrupted after the exit, and gone on on another CPU: not before it was there. */
static void events_are_where_kvm_came_to_them(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct hc_record *r;
	struct trace *t;

	(void)state;
	setup(&w);
	r = add_call(&w, 9000, HC_NO_EXIT | HC_NO_ENTRY);
	r->tsc -= 3000; /* left the guest 1 us before */
	r->entry_cpu = 1;
	r = add_call(&w, 8000, HC_NO_EXIT | HC_NO_ENTRY); /* later in the file, but earlier */
	r->tsc += 30; /* the clocks cannot be right: it had not left yet */
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(read_cpu(t, 0, 0, e, 16), 5);
	assert_int_equal(e[0].time.v, TSC_0 + 24030);
	assert_int_equal(e[2].time.v, TSC_0 + 24150);
	assert_int_equal(e[3].time.v, TSC_0 + 27000);
	assert_int_equal(read_cpu(t, 1, 0, e, 16), 1);
	assert_int_equal(e[0].kind, EV_KVM_ENTRY);
	assert_int_equal(e[0].time.v, TSC_0 + 27150);
	teardown(&w);
}

/* Nothing is known of them since the call before. */
static void lost_calls_are_an_interval(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct trace *t;

	(void)state;
	setup(&w);
	add_call(&w, 1000, 0);
	add_call(&w, 3000, 0)->tid = 43; /* another thread's */
	add_call(&w, 9000, 0)->lost = 3;
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(read_cpu(t, 0, 0, e, 16), 4);
	assert_int_equal(e[1].kind, EV_LOST);
	assert_int_equal(e[1].time.v, TSC_0 + 3150); /* the call's end */
	assert_int_equal(e[1].arg[0], 3);
	assert_int_equal(e[1].arg[1], TSC_0 + 3150);
	assert_int_equal(e[1].arg[2], TSC_0 + 27000);
	assert_int_equal(e[3].time.v, TSC_0 + 27000);
	teardown(&w);
}

static void exits_and_entries_of_others(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct hc_record *r;
	struct trace *t;

	(void)state;
	setup(&w);
	r = add_call(&w, 1000, 0);
	r->kind = HC_EXIT;
	r = add_call(&w, 2000, 0);
	r->kind = HC_ENTRY;
	r->tsc = 0;
	r->rip = 0x401003;
	r = add_call(&w, 3000, HC_NO_EXIT | HC_NO_ENTRY);
	r->overhead_ns = HC_UNKNOWN;	   /* no entry: no exit either */
	add_call(&w, 100, 0)->time_ns = 5; /* before the trace began */
	w.records[w.nr - 1].tsc = 300;
	w.records[w.nr++] = (struct hc_record){.kind = HC_LOST, .tsc = 9};
	w.records[w.nr++] = (struct hc_record){.kind = 77};
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(read_cpu(t, 0, 0, e, 16), 3);
	assert_int_equal(e[0].kind, EV_KVM_EXIT);
	assert_int_equal(e[1].kind, EV_KVM_ENTRY);
	assert_int_equal(e[1].time.v, TSC_0 + 6000);
	assert_int_equal(e[1].arg[1], 0x401003);
	assert_int_equal(e[2].kind, EV_KVM_HYPERCALL);
	assert_int_equal(t->loss.events, 9);
	assert_int_equal(t->problems.nr, 1);
	teardown(&w);
}

static void a_broken_file_costs_only_itself(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct trace *t;

	(void)state;
	setup(&w);
	add_call(&w, 1000, 0);
	add_call(&w, 2000, 0);
	write_file(&w, 0);
	w.host->clock.kind = CLOCK_COUNTER;
	assert_null(attach(&w, &err));
	w.host->clock.kind = CLOCK_TSC;
	w.host->nr_types = 3;
	assert_null(attach(&w, &err));
	assert_non_null(strstr(err.text, "does not know kvm_hypercall"));
	w.host->nr_types = 4;
	assert_int_equal(w.host->nr_streams, 1);
	write_file(&w, 1); /* the recorder was killed */
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(read_cpu(t, 0, 0, e, 16), 1);
	assert_int_equal(w.host->nr_streams, 2);
	teardown(&w);

	/* A CPU that no machine has, at the exit or at the entry. */
	setup(&w);
	add_call(&w, 1000, 0)->cpu = TRACE_CPUS_MAX;
	add_call(&w, 2000, 0)->entry_cpu = UINT32_MAX;
	add_call(&w, 3000, 0)->cpu = TRACE_CPUS_MAX - 1;
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	for (unsigned i = 0; i < w.host->nr_streams; i++)
		assert_true(w.host->streams[i].cpu < TRACE_CPUS_MAX);
	assert_true(read_cpu(t, TRACE_CPUS_MAX - 1, 0, e, 16) > 0);
	assert_int_equal(truncate(w.file, 63), 0);
	assert_int_not_equal(trace_open(&t, w.file, &err), 0);
	teardown(&w);
}

/* @after_ns: of the exit that shows it; @before_ns: of the exit before, 0 not known. */
static struct hc_record *add_space(struct world *w, unsigned after_ns, unsigned before_ns)
{
	struct hc_record *r = &w->records[w->nr++];

	*r = (struct hc_record){
		.kind = HC_SPACE,
		.time_ns = MONO_0 + after_ns,
		.tid = 42,
		.tgid = 40,
		.cpu = 1,
		.rip = 0x401000,
		.nr = 0x5000 + w->nr,
		.args = {7, before_ns ? MONO_0 + before_ns : 0},
	};
	return r;
}

static void an_address_space_counts_from_the_exit_before(void **state)
{
	struct world w;
	struct event e[16];
	struct error err = {0};
	struct trace *t;
	char text[160];

	(void)state;
	setup(&w);
	add_space(&w, 0, 0)->time_ns = 5; /* before the trace began, and it stays */
	add_space(&w, 3000, 2000);
	add_space(&w, 5000, 0)->flags = HC_LATE;
	add_space(&w, 6000, 7000); /* before it was after it */
	add_space(&w, 6500, 0)->cpu = 100000;
	add_space(&w, 9000, 0)->args[1] = UINT64_MAX;
	write_file(&w, 0);
	t = attach(&w, &err);
	assert_non_null(t);
	assert_int_equal(w.host->nr_types, 5);
	assert_int_equal(t->nr_types, 5);
	assert_int_equal(read_cpu(t, 1, 0, e, 16), 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(e[i].kind, EV_GUEST_CR3);
		assert_int_equal(t->types[e[i].type].kind, EV_GUEST_CR3);
		assert_int_equal(e[i].tid, -1);
		assert_int_equal(e[i].arg[1], 42);
		assert_int_equal(e[i].arg[2], 40);
		assert_int_equal(e[i].arg[3], 7);
		assert_int_equal(e[i].arg[4], 0x401000);
	}
	assert_int_equal(e[0].time.v, TSC_0);
	assert_int_equal(e[1].time.v, TSC_0 + 3 * 2000);
	assert_int_equal(e[1].arg[0], 0x5004);
	assert_int_equal(e[2].time.v, TSC_0 + 3 * 5000);
	assert_int_equal(e[3].time.v, TSC_0 + 3 * 6000);
	assert_int_equal(e[4].time.v, TSC_0 + 3 * 9000);
	assert_int_equal(read_cpu(t, 1, WANT(KVM_EXIT), e, 16), 0);
	assert_int_equal(read_cpu(t, 1, WANT(GUEST_CR3), e, 16), 5);
	trace_event_print(&t->streams[0], &e[1], text, sizeof(text));
	assert_string_equal(text, "cr3=20484 tid=42 tgid=40 vmcb12=7 rip=4198400");
	assert_int_equal(t->problems.nr, 1); /* the late one */
	assert_non_null(strstr(t->problems.list[0].text, "1 times"));
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_becomes_what_the_trace_leaves_out),
		cmocka_unit_test(events_are_where_kvm_came_to_them),
		cmocka_unit_test(exits_and_entries_of_others),
		cmocka_unit_test(lost_calls_are_an_interval),
		cmocka_unit_test(a_broken_file_costs_only_itself),
		cmocka_unit_test(an_address_space_counts_from_the_exit_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
