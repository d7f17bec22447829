/* SPDX-License-Identifier: Apache-2.0 */
/* Guests whose events are in their host's trace: every event that was sent comes out, as it was. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "libsonde/inputs/within.h"
#include "source/folded/folded.h"
#include "source/seam.h"
#include "sonde/analyze.h"
#include "sonde/check.h"
#include "sonde/events.h"
#include "sonde/tables.h"
#include "tests/unit/hyper_world.h"

#define ROUNDS 300

static char path[] = "/tmp/test-within-XXXXXX.dat";

static const struct within_options options;

static struct stream *stream_of(struct trace *t, int cpu)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		if (t->streams[i].cpu == cpu)
			return &t->streams[i];
	}
	return NULL;
}

/* Compares what was sent, but for blocks that the host does not have; returns how many events. */
static unsigned compare(struct trace *t, const struct world_vcpu *v, int cpu, unsigned *lost)
{
	struct stream *s = stream_of(t, cpu);
	struct event events[100];
	unsigned at = 0, found = 0, nr;
	struct seam seam = SEAM_INIT;
	struct cursor c;
	ticks_t from;

	*lost = 0;
	assert_non_null(s);
	assert_int_equal(cursor_init(&c, s, 0, s->nr_packets, 0, NULL), 0);
	while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < nr; i++) {
			const struct event *e = &events[i];

			*lost += e->kind == EV_LOST;
			/* Each event is of the thread that runs. */
			assert_false(seam_breaks(&seam, e, &from));
			if (e->kind != EV_SCHED_SWITCH)
				continue;
			while (at < v->nr_sent && v->recorded[at].tsc < e->time.v)
				at++;
			assert_true(at < v->nr_sent);
			assert_int_equal(e->time.v, v->recorded[at].tsc);
			assert_int_equal(e->arg[0], v->recorded[at].prev);
			assert_int_equal(e->tid, v->recorded[at].prev);
			assert_int_equal(e->arg[1], v->recorded[at].next);
			assert_int_equal(e->arg[2], 1);
			found++;
			at++;
		}
	}
	cursor_release(&c);
	return found;
}

static void open_world(struct world *w, struct trace **host, struct within *found)
{
	struct error err = {0};

	world_run(w, w->lose_blocks ? 6 * ROUNDS : ROUNDS);
	world_write(w, path);
	assert_int_equal(trace_open(host, path, &err), 0);
	assert_int_equal(within_find(found, *host, &options, &err), 0);
}

static void close_world(struct world *w, struct trace *host, struct within *found)
{
	within_release(found);
	trace_release(host);
	world_release(w);
}

static void test_all_events(void **state)
{
	struct world w = {0};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	assert_string_equal(found.list[0].name, "vm-a");
	assert_string_equal(found.list[0].trace->hostname, "vm-a");
	assert_string_equal(found.list[0].trace->release, "6.1.0-test");
	assert_int_equal(found.list[0].trace->clock.freq_hz, 3000000000);
	assert_int_equal(found.list[0].trace->problems.nr, 0);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found.list[0].trace, &w.vcpus[i], i, &lost);

		assert_int_equal(nr, w.vcpus[i].nr_sent);
		assert_true(nr > ROUNDS * 15);
		assert_int_equal(lost, 0);
	}
	close_world(&w, host, &found);
}

/* Blocks that leave as they fill: the last of them never end, and what is there of them counts. */
static void test_open_blocks(void **state)
{
	struct world w = {.open = true};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	assert_int_equal(found.list[0].trace->problems.nr, 0);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned ended = w.vcpus[i].nr_sent, lost, nr;

		w.vcpus[i].nr_sent = w.vcpus[i].nr;
		nr = compare(found.list[0].trace, &w.vcpus[i], i, &lost);
		assert_int_equal(lost, 0);
		assert_true(nr >= ended);
		/* What is missing is less than a fragment. */
		assert_true(w.vcpus[i].nr - nr < HT_CALL_BYTES / 2);
	}
	close_world(&w, host, &found);
}

/* Hypercalls of a guest's guest that the host took: they name the nested vCPU, and it is known in
 * which VM it runs. */
static void test_nested(void **state)
{
	struct world w = {.nested = true};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	assert_true(found.list[0].nested);
	assert_string_equal(found.list[0].name, "vm-a");
	assert_non_null(strstr(found.list[0].because, "VMCB 0x4e5a000"));
	assert_int_equal(found.list[0].tid, WORLD_TID(0));
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found.list[0].trace, &w.vcpus[i], i, &lost);

		assert_int_equal(nr, w.vcpus[i].nr_sent);
		assert_int_equal(lost, 0);
	}
	close_world(&w, host, &found);
}

/* Of the VM between there is no trace: its guest's events have no place, and that is said. */
static void test_nested_alone(void **state)
{
	const char *paths[] = {path};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1, .threads = 2};
	struct sonde_events *events;
	struct sonde_error err = {0};
	struct world w = {.nested = true};

	(void)state;
	world_run(&w, ROUNDS);
	world_write(&w, path);
	assert_int_equal(sonde_events_open(&events, &in, NULL, &err), 0);
	assert_int_equal(sonde_events_nr_machines(events), 1);
	sonde_events_close(events);
	world_release(&w);
}

/* One call that the host's tracer lost costs its block, and shows. */
static void test_lost_call(void **state)
{
	struct world w = {.lose_call = 40};
	unsigned lost[2], nr[2];
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	for (int i = 0; i < WORLD_CPUS; i++)
		nr[i] = compare(found.list[0].trace, &w.vcpus[i], i, &lost[i]);
	assert_int_equal(lost[0] + lost[1], 1);
	assert_true(nr[0] + nr[1] < w.vcpus[0].nr_sent + w.vcpus[1].nr_sent);
	assert_true(nr[0] + nr[1] + 400 > w.vcpus[0].nr_sent + w.vcpus[1].nr_sent);
	assert_int_equal(found.list[0].trace->loss.packets, 1);
	assert_int_equal(found.list[0].trace->problems.nr, 1);
	close_world(&w, host, &found);
}

/* So many blocks are lost that the next has the number of the one that was cut: they are two. */
static void test_lost_numbers(void **state)
{
	struct world w = {.lose_blocks = 5};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found.list[0].trace, &w.vcpus[i], i, &lost);

		assert_true(lost && nr > ROUNDS * 15 && nr < w.vcpus[i].nr_sent);
	}
	close_world(&w, host, &found);
}

/* ---- forgers ---- */

/* What a process makes of what its kernel is about to send: the same fragment with other bytes, so
 * that whoever takes it has the kernel's block broken, or poisoned. */
static struct ht_call poisoned(struct world *w, unsigned vcpu, const struct ht_call *call)
{
	struct ht_call forged = *call;

	(void)w;
	(void)vcpu;
	forged.a0 = ~call->a0;
	forged.a3 ^= 0x5a5a5a5a;
	return forged;
}

/* A block of its own: a panic, in one call. */
static struct ht_call panic(struct world *w, unsigned vcpu, const struct ht_call *call)
{
	static uint8_t block[HT_CALL_BLOCK_MAX];
	struct ht_call forged;
	struct ht_writer writer;
	uint32_t len;

	(void)call;
	ht_writer_init(&writer, (uint16_t)vcpu, 0);
	ht_begin(&writer, block, sizeof(block), WORLD_BEGIN + (uint64_t)WORLD_OFFSET);
	ht_record(&writer, WORLD_BEGIN + (uint64_t)WORLD_OFFSET + w->nr_forged, HT_PANIC, NULL, 0,
		  "forged", 6);
	len = ht_end(&writer);
	ht_call_fragment(&forged, block, len, writer.seq, 0, true);
	return forged;
}

/* Of open blocks the last never end, and what is there of them counts. */
static void check_whole(struct world *w, const struct within *found)
{
	unsigned sent[WORLD_CPUS];

	for (unsigned i = 0; i < WORLD_CPUS; i++) {
		sent[i] = w->vcpus[i].nr_sent;
		if (w->open)
			w->vcpus[i].nr_sent = w->vcpus[i].nr;
	}
	assert_int_equal(found->nr, 1);
	assert_string_equal(found->list[0].name, "vm-a");
	assert_int_equal(found->list[0].trace->problems.nr, 0);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found->list[0].trace, &w->vcpus[i], i, &lost);

		assert_true(w->open ? nr >= sent[i] : nr == sent[i]);
		assert_true(nr > ROUNDS * 15);
		assert_int_equal(lost, 0);
	}
	assert_true(w->nr_forged > 1000);
}

/* A process on the same vCPU puts its own call before each of the kernel's: what the kernel sent is
 * whole, and nothing else is there. */
static void test_forged(void **state)
{
	struct world worlds[] = {{.forge = poisoned},
				 {.forge = panic},
				 {.forge = poisoned, .open = true},
				 {.forge = poisoned, .nested = true}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(worlds); i++) {
		struct within found;
		struct trace *host;

		open_world(&worlds[i], &host, &found);
		check_whole(&worlds[i], &found);
		close_world(&worlds[i], host, &found);
	}
}

/* The same at more than 100,000 calls a second. */
static void test_flood(void **state)
{
	struct world worlds[] = {{.forge = poisoned, .floods = 30}, {.forge = panic, .floods = 30}};
	const double seconds = (double)WORLD_ROUND * ROUNDS / (1e9 * WORLD_TICKS_PER_NS);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(worlds); i++) {
		struct within found;
		struct trace *host;

		open_world(&worlds[i], &host, &found);
		print_message("%u calls of a process in %.2f s\n", worlds[i].nr_forged, seconds);
		assert_true(worlds[i].nr_forged > 100000 * seconds);
		check_whole(&worlds[i], &found);
		close_world(&worlds[i], host, &found);
	}
}

/* A neighbour whose kernel names ever new nested vCPUs takes nobody's place, and that is said. */
static void test_crowd(void **state)
{
	struct world worlds[] = {{.crowd = 10000, .nested = true}, {.crowd = 10000}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(worlds); i++) {
		const struct within_guest *own = NULL;
		struct within found;
		struct trace *host;

		open_world(&worlds[i], &host, &found);
		assert_int_equal(found.nr, 1 + 512);
		for (unsigned k = 0; k < found.nr; k++)
			own = strcmp(found.list[k].name, "vm-a") ? own : &found.list[k];
		assert_non_null(own);
		for (int cpu = 0; cpu < WORLD_CPUS; cpu++) {
			unsigned lost, nr = compare(own->trace, &worlds[i].vcpus[cpu], cpu, &lost);

			assert_true(nr == worlds[i].vcpus[cpu].nr_sent && nr > ROUNDS * 15 &&
				    !lost);
		}
		assert_int_equal(host->problems.nr, 1);
		assert_non_null(strstr(host->problems.list[0].text,
				       "9488 hypercalls with events of guests are left out"));
		close_world(&worlds[i], host, &found);
	}
}

/* Eight neighbours and more that do so use up what there is for nested vCPUs, and nothing else. */
static void test_crowds(void **state)
{
	struct world w = {.crowd = 10 * 512, .crowds = 10};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1 + 4096);
	assert_int_equal(host->problems.nr, 1);
	assert_non_null(strstr(host->problems.list[0].text,
			       "1024 hypercalls with events of guests are left out"));
	close_world(&w, host, &found);
}

/* A rate that no counter has is none. */
static void test_rate_of_no_counter(void **state)
{
	static const uint64_t khz[] = {100000000, 100000001, INT64_MAX};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(khz); i++) {
		struct world w = {.khz = khz[i]};
		struct within found;
		struct trace *host;

		open_world(&w, &host, &found);
		assert_int_equal(found.list[0].trace->clock.freq_hz,
				 i ? 0 : UINT64_C(100000000000));
		close_world(&w, host, &found);
	}
}

/* One vCPU sends blocks of them all in a panic, and is of the same VM as they are. */
static void test_panic(void **state)
{
	struct world w = {.panic = true};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 1);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found.list[0].trace, &w.vcpus[i], i, &lost);

		assert_int_equal(nr, w.vcpus[i].nr_sent);
		assert_int_equal(lost, 0);
	}
	close_world(&w, host, &found);
}

/* Where no exit tells who calls, nobody is believed, and that is said. */
static void test_no_rip(void **state)
{
	struct world w = {.no_rip = true};
	struct within found;
	struct trace *host;
	bool told = false;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 0);
	for (unsigned i = 0; i < host->problems.nr; i++)
		told |= strstr(host->problems.list[i].text, "no kvm_exit with guest_rip") != NULL;
	assert_true(told);
	close_world(&w, host, &found);
}

/* Both are machines of their own, and of each all that it sent is there. */
static void check_two(struct world *w, const char *file, const char *calls)
{
	struct within found;
	struct trace *host, *part;
	struct error err = {0};

	assert_int_equal(trace_open(&host, file, &err), 0);
	if (calls) {
		assert_int_equal(trace_open(&part, calls, &err), 0);
		assert_int_equal(folded_attach(host, part, &err), 0);
	}
	assert_int_equal(within_find(&found, host, &options, &err), 0);
	assert_int_equal(found.nr, 2);
	for (int i = 0; i < WORLD_CPUS; i++) {
		unsigned lost, nr = compare(found.list[i].trace, &w->vcpus[i], i, &lost);

		assert_int_equal(found.list[i].tid, WORLD_TID(i));
		assert_string_equal(found.list[i].name, "vm-a");
		assert_true(nr == w->vcpus[i].nr_sent && nr > ROUNDS * 15);
	}
	close_world(w, host, &found);
}

/* A neighbour's kernel that calls itself by the guest's name, and its CPU by a number that the
 * guest does not have, is not one more CPU of the guest: the host says whose vCPU 0 that is, or in
 * a file of folded calls whose process. */
static void test_namesake(void **state)
{
	struct world plain = {.namesake = true, .namesakes_vcpu = 0};
	struct world folded = {.namesake = true, .namesakes_vcpu = 1, .fold = true};
	char calls[] = "/tmp/test-within-XXXXXX.calls";

	(void)state;
	world_run(&plain, ROUNDS);
	world_write(&plain, path);
	check_two(&plain, path, NULL);
	close(mkstemps(calls, 6));
	world_run(&folded, ROUNDS);
	world_write(&folded, path);
	world_write_folded(&folded, calls);
	check_two(&folded, path, calls);
	unlink(calls);
}

/* Two VMs of one name and several vCPUs each, of whom the host tells no more than vCPUs' numbers:
 * no machine is made of threads of both. */
static void test_twins(void **state)
{
	struct world w = {.twin = true};
	struct within found;
	struct trace *host;

	(void)state;
	open_world(&w, &host, &found);
	assert_int_equal(found.nr, 3);
	assert_int_equal(found.list[0].tid, WORLD_TID(WORLD_TWIN));
	for (int i = 0; i < WORLD_CPUS; i++) {
		const struct within_guest *g = &found.list[1 + i];
		unsigned lost, nr = compare(g->trace, &w.vcpus[i], i, &lost);

		assert_int_equal(g->tid, WORLD_TID(i));
		assert_non_null(strstr(g->because, "two VMs or more call themselves so"));
		assert_true(nr == w.vcpus[i].nr_sent && nr > ROUNDS * 15 && !lost);
		assert_null(stream_of(g->trace, 1 - i));
	}
	close_world(&w, host, &found);
}

/* The guest is a machine, and its events and marks are where they belong. */
static void check_events(const char *host, const struct world *w)
{
	const char *paths[] = {host};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1, .threads = 2};
	struct sonde_events *events;
	struct sonde_error err = {0};
	struct sonde_event e;
	unsigned nr = 0, marks = 0;
	int64_t worst = 0;

	assert_int_equal(sonde_events_open(&events, &in, NULL, &err), 0);
	assert_int_equal(sonde_events_nr_machines(events), 2);
	assert_string_equal(sonde_events_machine_name(events, 1), "vm-a");
	while (sonde_events_next(events, &e) > 0) {
		int64_t off = e.t_ns - ((int64_t)e.ticks - WORLD_OFFSET);

		if (!strcmp(e.name, "mark")) {
			const struct world_mark *m = &w->marks[marks++];

			assert_true(marks <= w->nr_marks);
			assert_int_equal(e.machine, 1);
			assert_int_equal(e.ticks, m->t);
			assert_int_equal(e.cpu, m->vcpu);
			assert_int_equal(e.tid, m->tid);
		}
		if (e.machine != 1 || strcmp(e.name, "sched_switch"))
			continue;
		off = off < 0 ? -off : off;
		worst = off > worst ? off : worst;
		nr++;
	}
	assert_int_equal(nr, w->vcpus[0].nr_sent + w->vcpus[1].nr_sent);
	assert_int_equal(marks, w->nr_marks);
	assert_true(marks > 20);
	/* No offset is told: from calls and stays in the guest alone. */
	assert_true(worst < 10 * WORLD_US);
	sonde_events_close(events);
}

/* From the host's file alone. */
static void test_events_of_host(void **state)
{
	struct world w = {0};

	(void)state;
	world_run(&w, ROUNDS);
	world_write(&w, path);
	check_events(path, &w);
	world_release(&w);
}

/* From the host's file and that of the calls which are not in it. */
static void test_folded_calls(void **state)
{
	struct world w = {.fold = true};
	char dir[] = "/tmp/test-within-XXXXXX";
	char trace[64], calls[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(trace, sizeof(trace), "%s/trace.dat", dir);
	snprintf(calls, sizeof(calls), "%s/hypercalls", dir);
	world_run(&w, ROUNDS);
	world_write(&w, trace);
	world_write_folded(&w, calls);
	check_events(dir, &w);
	unlink(trace);
	unlink(calls);
	rmdir(dir);
	world_release(&w);
}

/* Each mark is of the thread that made it, and spans are as long as they were. */
static void check_marks(const char *file, const struct world *w)
{
	struct sonde_error err = {0};
	struct sonde_rows *rows;
	struct sonde_history *history;
	unsigned spans = 0;

	assert_int_equal(sonde_history_open(&history, file, &err), 0);
	assert_int_equal(sonde_nr_marks(history), w->nr_marks);
	for (unsigned i = 0; i < w->nr_marks; i++) {
		struct sonde_thread thread;
		struct sonde_mark mark;

		assert_int_equal(sonde_mark_get(history, i, &mark), 0);
		assert_int_equal(mark.t, w->marks[i].t);
		assert_int_equal(mark.machine, 1);
		assert_int_equal(mark.cpu, w->marks[i].vcpu);
		assert_int_equal(mark.kind, w->marks[i].kind);
		assert_true(mark.by_host);
		assert_string_equal(mark.text, mark.kind ? "span" : "point");
		assert_int_equal(sonde_thread_get(history, mark.thread, &thread), 0);
		assert_int_equal(thread.tid, w->marks[i].tid);
	}
	assert_int_equal(sonde_rows_get(&rows, history, "mark", 0, INT64_MAX, &err), 0);
	for (size_t i = 0; i < sonde_rows_nr(rows); i++)
		spans += !strcmp(sonde_rows_cell(rows, i, 4).s, "span");
	assert_int_equal(spans, w->nr_marks / 3);
	sonde_rows_free(rows);
	sonde_history_close(history);
}

static void test_history_of_host(void **state)
{
	const char *paths[] = {path};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1};
	struct sonde_analyze_result result;
	struct sonde_error err = {0};
	char out[] = "/tmp/test-within-XXXXXX";
	struct world w = {0};
	int fd = mkstemp(out);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	world_run(&w, ROUNDS);
	world_write(&w, path);
	assert_int_equal(sonde_analyze(&in, out, NULL, &result, &err), 0);
	assert_int_equal(result.machines, 2);
	assert_int_equal(result.problems, 1); /* the rate of the counter is told by nobody */
	check_marks(out, &w);
	unlink(out);
	world_release(&w);
}

static void count_notes(enum sonde_finding kind, const char *text, void *data)
{
	*(unsigned *)data += kind == SONDE_NOTE && (strstr(text, "that no kernel made") ||
						    strstr(text, "made by user code in guests"));
}

/* sonde check says so, too. */
static void check_checked(const char *file)
{
	struct sonde_check_result result;
	struct sonde_error err = {0};
	unsigned notes = 0;

	assert_int_equal(sonde_check(file, count_notes, &notes, NULL, &result, &err), 0);
	assert_int_equal(notes, 1);
}

/* The history's table of what was refused, and the verdict. */
static void check_refused(const char *file, const struct world *w)
{
	struct sonde_error err = {0};
	struct sonde_rows *rows;
	struct sonde_history *history;
	bool told = false;

	assert_int_equal(sonde_history_open(&history, file, &err), 0);
	assert_int_equal(sonde_rows_get(&rows, history, "refused", 0, INT64_MAX, &err), 0);
	assert_int_equal(sonde_rows_nr(rows), 1);
	assert_int_equal(sonde_rows_cell(rows, 0, 0).i, w->nr_forged * (1 + w->skips));
	assert_int_equal(sonde_rows_cell(rows, 0, 1).i, 1);
	assert_string_equal(sonde_rows_cell(rows, 0, 2).s, "events");
	assert_string_equal(sonde_rows_cell(rows, 0, 3).s, "user");
	sonde_rows_free(rows);
	assert_int_equal(sonde_rows_get(&rows, history, "why", sonde_history_begin(history),
					sonde_history_end(history), &err),
			 0);
	for (size_t i = 0; i < sonde_rows_nr(rows); i++) {
		const char *text = sonde_rows_cell(rows, i, 0).s;

		assert_null(strstr(text, "panic"));
		told |= strstr(text, "User code in vm-a made ") &&
			strstr(text, " hypercalls in the kernel's format for events: refused ");
	}
	assert_true(told);
	sonde_rows_free(rows);
	sonde_history_close(history);
}

/* As above, through clocks and model, with calls in the trace, and folded in a file beside it,
 * where the recorder counted most and wrote few. */
static void test_forged_history(void **state)
{
	char dir[] = "/tmp/test-within-XXXXXX", out[] = "/tmp/test-within-XXXXXX";
	char trace[64], calls[64];
	int fd = mkstemp(out);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_non_null(mkdtemp(dir));
	snprintf(trace, sizeof(trace), "%s/trace.dat", dir);
	snprintf(calls, sizeof(calls), "%s/hypercalls", dir);
	for (unsigned fold = 0; fold < 2; fold++) {
		const char *paths[] = {dir};
		struct sonde_inputs in = {.paths = paths, .nr_paths = 1};
		struct world w = {.forge = panic, .fold = fold, .skips = fold ? 33 : 0};
		struct sonde_analyze_result result;
		struct sonde_error err = {0};

		world_run(&w, ROUNDS);
		world_write(&w, trace);
		if (fold)
			world_write_folded(&w, calls);
		assert_int_equal(sonde_analyze(&in, out, NULL, &result, &err), 0);
		assert_int_equal(result.machines, 2);
		check_marks(out, &w);
		check_refused(out, &w);
		check_checked(out);
		if (!fold)
			check_checked(trace);
		check_events(dir, &w);
		world_release(&w);
	}
	unlink(trace);
	unlink(calls);
	rmdir(dir);
	unlink(out);
}

static int make_file(void **state)
{
	int fd = mkstemps(path, 4);

	(void)state;
	return fd < 0 || close(fd);
}

static int drop_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_events),
		cmocka_unit_test(test_open_blocks),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_nested_alone),
		cmocka_unit_test(test_lost_call),
		cmocka_unit_test(test_lost_numbers),
		cmocka_unit_test(test_events_of_host),
		cmocka_unit_test(test_folded_calls),
		cmocka_unit_test(test_history_of_host),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_no_rip),
		cmocka_unit_test(test_forged_history),
		cmocka_unit_test(test_namesake),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_crowds),
		cmocka_unit_test(test_panic),
		cmocka_unit_test(test_rate_of_no_counter),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
