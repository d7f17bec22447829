/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole search on invented worlds: a host with two CPUs, a VM with two vCPUs, clocks that are
 * known here and hidden from the search.
 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "clock/sample/sample.h"
#include "clock/topology.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define CPUS 2
#define HOST 0
#define GUEST 1
#define BEGIN (50 * SECOND) /* true time; the host's clock shows just that */
#define TID(cpu) (100 + (cpu))

/* What the guest's clock does. */
struct world {
	int64_t boot; /* true time at which the guest's clock showed 0 */
	double ppm;
	int64_t pause_at, pause_len; /* guest stopped, and its clock with it */
	int64_t len;
	bool no_calls, lose; /* no hypercalls; the host lost some events */
	bool by_user;	     /* a process of the guest makes the calls */
	unsigned repeats;    /* another kernel repeats so many of 10 of them, when its turn comes */
	bool promptly;	     /* ... and always 2 us after them */
	bool typed;	     /* the traces say what kinds they have: they are sampled */
	bool slow;	     /* 30 us pass at least between an exit or entry and any other event */
	bool timers;	     /* the guest programs TSC deadlines */
	int64_t advance;     /* by how much KVM's timers for them are early */
	int64_t msr;	     /* 0: the deadline's; else it writes that one */
	bool reads, leaves;  /* it reads it only; it enters its guest before the write */
	bool boottime;	     /* both traces' clocks count what was suspended, too */
	uint64_t seed;
};

struct made_stream {
	struct event *list;
	size_t nr, room;
	struct packet *packets; /* of PACKET events each */
	uint32_t nr_packets;
	uint64_t looked_at; /* events, by all cursors */
};

#define PACKET 500u

struct made {
	struct world w;
	struct made_stream streams[2][CPUS];
	struct stream of_trace[2][CPUS];
	struct trace traces[2];
};

static int made_cursor_init(struct cursor *c, struct error *err)
{
	size_t *at = malloc(sizeof(*at));

	c->buffer = at;
	if (!at)
		return fail(err, -ENOMEM, "out of memory");
	*at = (size_t)c->packet * PACKET;
	return 0;
}

static unsigned made_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	struct made_stream *s = (struct made_stream *)c->stream->reader;
	size_t end = (size_t)c->packet_end * PACKET;
	size_t *at = c->buffer;
	unsigned n = 0;

	end = end < s->nr ? end : s->nr;
	while (n < room && *at < end && c->records_left) {
		const struct event *e = &s->list[(*at)++];

		c->records_left--;
		s->looked_at++;
		if (e->kind == EV_LOST || c->wants[e->kind])
			events[n++] = *e;
	}
	return n;
}

static void made_cursor_release(struct cursor *c)
{
	free(c->buffer);
}

static const struct trace_ops made_ops = {
	.cursor_init = made_cursor_init,
	.cursor_next = made_cursor_next,
	.cursor_release = made_cursor_release,
};

static uint64_t dice(struct world *w, uint64_t from, uint64_t to)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return from + w->seed % (to - from);
}

static uint64_t guest_clock(const struct world *w, int64_t t)
{
	int64_t ran = t - w->boot;

	if (w->pause_len && t > w->pause_at)
		ran -= t < w->pause_at + w->pause_len ? t - w->pause_at : w->pause_len;
	return (uint64_t)(ran + (int64_t)((double)ran * w->ppm * 1e-6));
}

static struct event *put(struct made *m, int machine, int cpu, int64_t t, enum event_kind kind,
			 const int64_t *args)
{
	struct made_stream *s = &m->streams[machine][cpu];
	struct event e = {.kind = (uint16_t)kind, .tid = machine == HOST ? TID(cpu) : 1};

	e.time.v = machine == HOST ? (uint64_t)t : guest_clock(&m->w, t);
	if (args)
		memcpy(e.arg, args, sizeof(e.arg));
	if (s->nr == s->room) {
		s->room = s->room ? s->room * 2 : 1024;
		s->list = realloc(s->list, s->room * sizeof(e));
		assert_non_null(s->list);
	}
	s->list[s->nr++] = e;
	return &s->list[s->nr - 1];
}

/* A thread of another VM, on the same CPU, makes the call of this one. */
static void repeat(struct made *m, int cpu, int64_t t, const int64_t *call)
{
	const int64_t code[EVENT_ARGS] = {0x81, 0, (int64_t)0xffffffffc0401000, 2};
	const int64_t to[EVENT_ARGS] = {TID(cpu), 900 + cpu},
		      back[EVENT_ARGS] = {900 + cpu, TID(cpu)};

	if (call[2] % 10 >= m->w.repeats)
		return;
	put(m, HOST, cpu, t, EV_SCHED_SWITCH, to);
	put(m, HOST, cpu, t + 10, EV_KVM_EXIT, code)->tid = 900 + cpu;
	put(m, HOST, cpu, t + 20, EV_KVM_HYPERCALL, call)->tid = 900 + cpu;
	put(m, HOST, cpu, t + 30, EV_SCHED_SWITCH, back)->tid = 900 + cpu;
}

/* The vCPU leaves its guest for another VM's; returns when it is back. */
static int64_t leave(struct made *m, int cpu, int64_t t, const int64_t *call)
{
	const int64_t code[EVENT_ARGS] = {0x60, cpu, (int64_t)0xffffffffc0401000, 2};
	const int64_t vcpu[EVENT_ARGS] = {cpu};

	put(m, HOST, cpu, t, EV_KVM_EXIT, code);
	repeat(m, cpu, t + 10, call);
	put(m, HOST, cpu, t + 90, EV_KVM_ENTRY, vcpu);
	return t + 100;
}

/* The guest runs from an entry at @t on; returns the time of the exit. */
static int64_t stay(struct made *m, int cpu, int64_t t, const int64_t *ack)
{
	int64_t end = t + (int64_t)dice(&m->w, 50000, 3 * MS), slow = m->w.slow ? 30000 : 0;
	int64_t vcpu[EVENT_ARGS] = {cpu};

	put(m, HOST, cpu, t, EV_KVM_ENTRY, vcpu);
	t += slow + (int64_t)dice(&m->w, 2000, 9000);
	if (ack)
		put(m, GUEST, cpu, t, EV_SYNC_ACK, ack);
	for (; t < end - 3000 - slow; t += (int64_t)dice(&m->w, 5000, 300000))
		put(m, GUEST, cpu, t, EV_SOFTIRQ_RAISE, NULL);
	return end > t + slow ? end : t + slow + 3000;
}

/* From a kernel's reading of its clock to that of the TSC: short, as a rule. */
static int64_t gap(struct made *m)
{
	return (int64_t)dice(&m->w, 0, 10) ? (int64_t)dice(&m->w, 20, 300)
					   : (int64_t)dice(&m->w, 300, 30000);
}

/* The guest programs a deadline at @t; returns the time of the exit. */
static int64_t program(struct made *m, int cpu, int64_t t)
{
	int64_t left = (int64_t)dice(&m->w, 500000, 4 * MS), exit[EVENT_ARGS] = {0x7c, cpu};
	int64_t wanted = t + 700,
		deadline = wanted + left + gap(m); /* the clock is read at @wanted */
	int64_t timer[EVENT_ARGS] = {77, (int64_t)guest_clock(&m->w, wanted) + left};
	int64_t vcpu[EVENT_ARGS] = {cpu};
	int64_t kvms[EVENT_ARGS] = {TID(cpu), deadline - gap(m) - m->w.advance};
	int64_t msr[EVENT_ARGS] = {!m->w.reads, m->w.msr ? m->w.msr : 0x6e0, deadline};

	put(m, GUEST, cpu, t, EV_HRTIMER_START, timer);
	t += 40000 + (int64_t)dice(&m->w, 0, 3000);
	put(m, HOST, cpu, t, EV_KVM_EXIT, exit);
	put(m, HOST, cpu, t + 1500, EV_HRTIMER_START, kvms);
	if (m->w.leaves) {
		put(m, HOST, cpu, t + 1700, EV_KVM_ENTRY, vcpu);
		put(m, HOST, cpu, t + 1900, EV_KVM_EXIT, exit);
	}
	put(m, HOST, cpu, t + 2000, EV_KVM_MSR, msr);
	return t;
}

/* One vCPU's life on its host CPU. */
static void live(struct made *m, int cpu)
{
	int64_t t = BEGIN, call[EVENT_ARGS] = {1000, cpu + 1};
	int64_t code[EVENT_ARGS] = {0x7b, cpu,
				    m->w.by_user ? 0x401000 : (int64_t)0xffffffffc0401000, 2};
	bool called = false;

	while (t < BEGIN + m->w.len) {
		t = stay(m, cpu, t, called ? call : NULL);
		if (called && !m->w.promptly)
			t = leave(m, cpu, t, call);
		called = !m->w.no_calls && dice(&m->w, 0, 10) < 3;
		if (called) {
			call[2]++;
			put(m, GUEST, cpu, t, EV_SYNC_REQUEST, call);
			t += (m->w.slow ? 30000 : 0) + (int64_t)dice(&m->w, 2000, 9000);
		}
		code[0] = called ? 0x81 : 0x7b;
		if (m->w.timers && !called && dice(&m->w, 0, 2))
			t = program(m, cpu, t);
		else
			put(m, HOST, cpu, t, EV_KVM_EXIT, code);
		if (called)
			put(m, HOST, cpu, t + 1000, EV_KVM_HYPERCALL, call);
		if (called && m->w.promptly)
			repeat(m, cpu, t + 2000, call);
		t += called || dice(&m->w, 0, 10) < 7 ? (int64_t)dice(&m->w, 8000, 30000)
						      : (int64_t)dice(&m->w, 300000, 5 * MS);
		if (m->w.pause_len && t > m->w.pause_at && t < m->w.pause_at + m->w.pause_len)
			t = m->w.pause_at + m->w.pause_len;
	}
}

/* The host loses 20 ms of every second of CPU 1's events. */
static void lose(struct made_stream *s)
{
	size_t out = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct event e = s->list[i];

		if (e.time.v % SECOND >= 20 * MS || e.time.v / SECOND == BEGIN / SECOND) {
			s->list[out++] = e;
			continue;
		}
		if (!out || s->list[out - 1].kind != EV_LOST) {
			memset(&e, 0, sizeof(e));
			e.kind = EV_LOST;
			e.arg[1] = out ? (int64_t)s->list[out - 1].time.v : 0;
			s->list[out++] = e;
		}
		s->list[out - 1].arg[0]++;
		s->list[out - 1].time.v = s->list[i].time.v;
		s->list[out - 1].arg[2] = (int64_t)(s->list[i].time.v / SECOND * SECOND) + 20 * MS;
	}
	s->nr = out;
}

static struct event_type types[] = {{.kind = EV_KVM_HYPERCALL}, {.kind = EV_SYNC_REQUEST}};

/* Divides a stream into packets. */
static void pack(struct made_stream *s)
{
	free(s->packets);
	s->nr_packets = (uint32_t)((s->nr + PACKET - 1) / PACKET);
	s->packets = calloc(s->nr_packets + 1, sizeof(*s->packets));
	assert_non_null(s->packets);
	for (uint32_t i = 0; i < s->nr_packets; i++) {
		size_t last = (i + 1) * PACKET < s->nr ? (i + 1) * PACKET - 1 : s->nr - 1;

		s->packets[i] = (struct packet){.begin = s->list[i * PACKET].time.v,
						.end = s->list[last].time.v,
						.len_bytes = PACKET * 40};
	}
}

static void make_trace(struct made *m, int machine, enum clock_kind kind, const char *host)
{
	struct trace *t = &m->traces[machine];

	*t = (struct trace){.ops = &made_ops,
			    .path = host,
			    .streams = m->of_trace[machine],
			    .nr_streams = CPUS,
			    .nr_cpus = CPUS,
			    .clock = {.kind = kind}};
	strcpy(t->hostname, host);
	if (m->w.typed) {
		t->types = types;
		t->nr_types = ARRAY_SIZE(types);
	}
	for (int cpu = 0; cpu < CPUS; cpu++) {
		struct made_stream *s = &m->streams[machine][cpu];

		pack(s);
		for (uint32_t i = 0; i < s->nr_packets; i++)
			t->len_bytes += s->packets[i].len_bytes;
		m->of_trace[machine][cpu] = (struct stream){.trace = t,
							    .cpu = cpu,
							    .packets = s->packets,
							    .nr_packets = s->nr_packets,
							    .reader = s};
	}
}

static void make_world(struct made *m, struct world w)
{
	memset(m, 0, sizeof(*m));
	if (!w.len)
		w.len = 20 * SECOND;
	if (!w.boot)
		w.boot = 33 * SECOND + 12345;
	w.seed += 88172645463325252;
	m->w = w;
	for (int cpu = 0; cpu < CPUS; cpu++)
		live(m, cpu);
	if (w.lose)
		lose(&m->streams[HOST][1]);
	make_trace(m, HOST, w.boottime ? CLOCK_BOOT : CLOCK_MONO, "iron");
	make_trace(m, GUEST, w.boottime ? CLOCK_BOOT : CLOCK_MONO, "vm");
}

static void unmake(struct made *m)
{
	for (int i = 0; i < 2 * CPUS; i++) {
		free(m->streams[i / CPUS][i % CPUS].list);
		free(m->streams[i / CPUS][i % CPUS].packets);
	}
}

static int find_given(struct topology *t, struct made *m, const int64_t *offset, struct error *err)
{
	/* The guest is named first: order must not matter. */
	const struct topology_input in[2] = {{.trace = &m->traces[GUEST],
					      .has_tsc_offset = offset,
					      .tsc_offset = offset ? *offset : 0},
					     {.trace = &m->traces[HOST]}};
	const struct topology_options opt = {.threads = 2};

	return topology_find(t, in, 2, &opt, err);
}

static int find(struct topology *t, struct made *m, struct error *err)
{
	return find_given(t, m, NULL, err);
}

/* The truth must lie within the bound at all times; returns the largest bound outside the
 * @skip_ms around @skip. */
static ns_t check_truth(const struct topology *t, const struct made *m, int64_t skip,
			int64_t skip_ms)
{
	const struct clock_model *c = &t->machines[1].clock;
	ns_t worst = 0;

	for (int64_t at = BEGIN + MS; at < BEGIN + m->w.len; at += 1234567) {
		ticks_t g = {guest_clock(&m->w, at)};
		ns_t bound = clock_bound(c, g);

		if (m->w.pause_len && at > m->w.pause_at && at < m->w.pause_at + m->w.pause_len)
			continue; /* the guest shows one time for all of the pause */
		assert_true(llabs(clock_to_l0(c, g) - at) <= bound);
		if (llabs(at - skip) > skip_ms * MS && bound > worst)
			worst = bound;
	}
	return worst;
}

static void check_tree(const struct topology *t)
{
	assert_int_equal(t->nr_machines, 2);
	assert_string_equal(t->machines[0].name, "iron");
	assert_int_equal(t->machines[0].parent, -1);
	assert_int_equal(t->machines[0].clock.method, CLOCK_METHOD_REFERENCE);
	assert_string_equal(t->machines[1].name, "vm");
	assert_int_equal(t->machines[1].parent, 0);
	assert_int_equal(t->machines[1].level, 1);
	assert_int_equal(t->machines[1].nr_vcpus, CPUS);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		assert_int_equal(t->machines[1].vcpus[cpu].vcpu, cpu);
		assert_int_equal(t->machines[1].vcpus[cpu].host_tid, TID(cpu));
	}
}

static ns_t check_world(struct world w, enum clock_method method, ns_t bound)
{
	struct made m;
	struct topology t;
	ns_t worst;

	make_world(&m, w);
	assert_int_equal(find(&t, &m, NULL), 0);
	check_tree(&t);
	assert_int_equal(t.machines[1].clock.method, method);
	worst = check_truth(&t, &m, w.pause_at, w.pause_len ? 3200 : 0);
	assert_in_range(worst, 1000, bound);
	assert_int_equal(t.machines[1].clock.nr_violations, 0);
	assert_int_equal(t.machines[1].clock.nr_timers != 0, w.timers);
	topology_release(&t);
	unmake(&m);
	return worst;
}

static void pairs_and_containment_bound_any_steady_clock(void **state)
{
	static const double drifts[] = {0, 0.1, 120, -120};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(drifts); i++)
		check_world((struct world){.ppm = drifts[i], .seed = i},
			    CLOCK_METHOD_PAIRS_CONTAINMENT, 8000);
}

static void containment_alone_finds_parent_and_clock(void **state)
{
	static const double drifts[] = {0, 120, -120};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(drifts); i++)
		check_world((struct world){.ppm = drifts[i], .no_calls = true, .seed = i},
			    CLOCK_METHOD_CONTAINMENT, 10000);
}

/* The same calls, made by a process, are as if they were not there. */
static void a_process_has_no_say_about_clocks(void **state)
{
	(void)state;
	check_world((struct world){.by_user = true, .seed = 1}, CLOCK_METHOD_CONTAINMENT, 10000);
}

static uint64_t pairs_in(struct world w)
{
	struct made m;
	struct topology t;
	uint64_t nr;

	make_world(&m, w);
	assert_int_equal(find(&t, &m, NULL), 0);
	nr = t.machines[1].clock.nr_pairs;
	topology_release(&t);
	unmake(&m);
	return nr;
}

/* Nor has a neighbour's kernel about its neighbour's, nor can it take evidence away, not even where
 * the host lost what the guest did, but not the copy: copies do not lie where the guest's calls do.
 */
static void a_neighbour_has_no_say_about_clocks(void **state)
{
	(void)state;
	for (unsigned repeats = 9; repeats <= 10; repeats++) {
		for (unsigned lose = 0; lose < 2; lose++) {
			struct world w = {.seed = 1, .lose = lose};
			uint64_t nr = pairs_in(w);

			assert_true(nr > 100);
			w.repeats = repeats;
			assert_int_equal(pairs_in(w), nr);
			check_world(w, CLOCK_METHOD_PAIRS_CONTAINMENT, 8000);
		}
	}
}

/* Copies that fit as well as the guest's own calls, all of them or some: nobody knows whose is
 * whose, and none counts, nor what was not copied. */
static void a_perfect_copy_leaves_less_evidence(void **state)
{
	struct world w = {.seed = 1, .repeats = 10, .promptly = true};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		w.lose = i % 2;
		w.repeats = i / 2 ? 10 : 4;
		assert_int_equal(pairs_in(w), 0);
		check_world(w, CLOCK_METHOD_CONTAINMENT, 10000);
	}
	w.repeats = 1; /* too few to take anything away */
	check_world(w, CLOCK_METHOD_PAIRS_CONTAINMENT, 8000);
}

static void a_guest_paused_for_seconds_is_a_new_piece(void **state)
{
	(void)state;
	check_world((struct world){.pause_at = BEGIN + 9 * SECOND, .pause_len = 3 * SECOND},
		    CLOCK_METHOD_PAIRS_CONTAINMENT, 8000);
}

static void lost_events_loosen_but_do_not_mislead(void **state)
{
	(void)state;
	check_world((struct world){.lose = true}, CLOCK_METHOD_PAIRS_CONTAINMENT, 8000);
}

/* 6 us of the bound are what nobody knows of timers' advance; exits take longer than that here. */
static void timers_bound_what_exits_cannot(void **state)
{
	static const double drifts[] = {0, 120, -120};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(drifts); i++) {
		for (int64_t advance = 0; advance <= 5000; advance += 2500) {
			struct world w = {.ppm = drifts[i], .slow = true, .seed = i};

			assert_true(check_world(w, CLOCK_METHOD_PAIRS_CONTAINMENT, 40000) > 15000);
			w.timers = true;
			w.advance = advance;
			check_world(w, CLOCK_METHOD_PAIRS_CONTAINMENT, 5500);
		}
	}
}

/* A host whose timers are early by more than KVM ever is: they contradict all else, and go.  Those
 * of an APIC that counts down (its initial count is MSR 0x838) say something else, what was not
 * started in the exit of the write is another deadline's, and timers count in CLOCK_MONOTONIC. */
static void timers_that_do_not_fit_do_not_count(void **state)
{
	static const struct world worlds[] = {
		{.timers = true, .advance = 15000}, {.timers = true, .advance = 300000},
		{.timers = true, .msr = 0x838},	    {.timers = true, .reads = true},
		{.timers = true, .leaves = true},   {.timers = true, .boottime = true}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(worlds); i++) {
		struct made m;
		struct topology t;

		make_world(&m, worlds[i]);
		assert_int_equal(find(&t, &m, NULL), 0);
		check_tree(&t);
		assert_int_equal(t.machines[1].clock.nr_timers, 0);
		assert_int_equal(t.machines[1].clock.nr_violations, 0);
		assert_int_equal(t.problems.nr, i == 0);
		check_truth(&t, &m, 0, 0);
		topology_release(&t);
		unmake(&m);
	}
}

static double share_read(const struct made *m)
{
	double all = 0, read = 0;

	for (int i = 0; i < 2 * CPUS; i++) {
		all += (double)m->streams[i / CPUS][i % CPUS].nr;
		read += (double)m->streams[i / CPUS][i % CPUS].looked_at;
	}
	return read / all;
}

/* Long traces are only sampled, and still nothing that the clock does goes unseen. */
static void long_traces_are_sampled(void **state)
{
	static const struct world worlds[] = {
		{.ppm = 0.1},
		{.ppm = -120},
		{.pause_at = BEGIN + 77 * SECOND, .pause_len = 3 * SECOND},
		{.pause_at = BEGIN + 5 * SECOND, .pause_len = 3 * SECOND},
		{.pause_at = BEGIN + 30 * SECOND, .pause_len = 3 * SECOND},
		{.pause_at = BEGIN + 140 * SECOND, .pause_len = 3 * SECOND},
		{.pause_at = BEGIN + 240 * SECOND, .pause_len = 3 * SECOND},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(worlds); i++) {
		struct world w = worlds[i];
		struct made m;
		struct topology t;

		w.len = 250 * SECOND;
		w.typed = true;
		make_world(&m, w);
		assert_int_equal(find(&t, &m, NULL), 0);
		check_tree(&t);
		assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_PAIRS_CONTAINMENT);
		assert_int_equal(t.machines[1].clock.nr_violations, 0);
		assert_in_range(check_truth(&t, &m, w.pause_at, w.pause_len ? 4000 : 0), 1000,
				w.pause_len ? 12000 : 6000);
		assert_true(share_read(&m) < (w.pause_len ? 0.4 : 0.15));
		topology_release(&t);
		unmake(&m);
	}
}

static void make_tsc(struct made *m)
{
	m->traces[HOST].clock.kind = CLOCK_TSC;
	m->traces[GUEST].clock.kind = CLOCK_TSC;
}

/* A write of a TSC offset by a vCPU thread, before all else. */
static void write_offset(struct made *m, int cpu, int64_t previous, int64_t next)
{
	struct made_stream *s = &m->streams[HOST][cpu];
	struct event e = {.kind = EV_KVM_WRITE_TSC_OFFSET, .tid = TID(cpu)};

	e.time.v = s->list[0].time.v;
	e.arg[0] = cpu;
	e.arg[1] = previous;
	e.arg[2] = next;
	s->list = realloc(s->list, (s->nr + 1) * sizeof(e));
	assert_non_null(s->list);
	s->room = ++s->nr;
	memmove(s->list + 1, s->list, (s->nr - 1) * sizeof(e));
	s->list[0] = e;
	pack(s);
	m->of_trace[HOST][cpu].packets = s->packets;
	m->of_trace[HOST][cpu].nr_packets = s->nr_packets;
}

static void a_written_tsc_offset_is_exact(void **state)
{
	(void)state;
	for (int no_calls = 0; no_calls < 2; no_calls++) {
		struct made m;
		struct topology t;

		make_world(&m, (struct world){.no_calls = no_calls});
		make_tsc(&m);
		for (int cpu = 0; cpu < CPUS; cpu++) {
			/* Written in reverse: the first write was a guess, the second counts. */
			write_offset(&m, cpu, -999, -m.w.boot);
			write_offset(&m, cpu, 0, -999);
		}
		assert_int_equal(find(&t, &m, NULL), 0);
		check_tree(&t);
		assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_TSC);
		assert_int_equal(check_truth(&t, &m, 0, 0), 0);
		assert_false(t.ticks_are_ns);
		topology_release(&t);
		unmake(&m);
	}
}

/* Moves events of the guest to 50 us before the next one, where its vCPU was out; how many. */
static unsigned tear(struct made *m, unsigned most)
{
	struct made_stream *s = &m->streams[GUEST][0];
	unsigned nr = 0;

	for (size_t i = 100; i + 1 < s->nr && nr < most; i += 100) {
		while (i + 2 < s->nr && (s->list[i].kind != EV_SOFTIRQ_RAISE ||
					 s->list[i + 1].time.v - s->list[i].time.v < 600000))
			i++;
		s->list[i].time.v = s->list[i + 1].time.v - 50000;
		nr++;
	}
	return nr;
}

/* It is no less exact for that, and says so; a user who gives it is told the same. */
static void what_an_exact_offset_contradicts_is_counted(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		struct made m;
		struct topology t;
		int64_t offset;
		unsigned nr;

		make_world(&m, (struct world){.no_calls = way == 1});
		offset = -m.w.boot;
		make_tsc(&m);
		nr = tear(&m, 8);
		assert_int_equal(nr, 8);
		for (int cpu = 0; cpu < CPUS && way < 2; cpu++)
			write_offset(&m, cpu, 0, offset);
		assert_int_equal(find_given(&t, &m, way < 2 ? NULL : &offset, NULL), 0);
		assert_int_equal(t.machines[1].clock.method,
				 way < 2 ? CLOCK_METHOD_TSC : CLOCK_METHOD_TOLD);
		assert_int_equal(t.machines[1].clock.nr_violations, nr);
		assert_in_range(t.machines[1].clock.worst_violation_ns, 25000, 50000);
		topology_release(&t);
		unmake(&m);
	}
}

/* One that contradicts the hypercalls was not the last, or is scaled. */
static void a_wrong_tsc_offset_is_not_believed(void **state)
{
	struct made m;
	struct topology t;

	(void)state;
	make_world(&m, (struct world){0});
	make_tsc(&m);
	for (int cpu = 0; cpu < CPUS; cpu++)
		write_offset(&m, cpu, 0, -m.w.boot + 20000);
	assert_int_equal(find(&t, &m, NULL), 0);
	assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_PAIRS_CONTAINMENT);
	assert_in_range(check_truth(&t, &m, 0, 0), 1000, 6000);
	topology_release(&t);
	unmake(&m);
}

/* trace-cmd recorded host and guest together, and noted both in each other's file. */
static void what_trace_cmd_noted_is_used(void **state)
{
	static const int32_t tids[CPUS] = {TID(0), TID(1)};
	struct trace_guest guest = {
		.name = "vm", .trace_id = 77, .vcpu_tid = tids, .nr_vcpus = CPUS};

	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		struct made m;
		struct topology t;
		struct trace_shift shifts[2];

		make_world(&m, (struct world){.no_calls = true});
		make_tsc(&m);
		for (int cpu = 0; cpu < CPUS; cpu++)
			shifts[cpu] = (struct trace_shift){
				.cpu = cpu, .offset = m.w.boot + wrong * 20 * MS, .scaling = 1};
		m.traces[HOST].trace_id = 66;
		m.traces[HOST].guests = &guest;
		m.traces[HOST].nr_guests = 1;
		m.traces[GUEST].trace_id = 77;
		m.traces[GUEST].peer_trace_id = 66;
		m.traces[GUEST].shifts = shifts;
		m.traces[GUEST].nr_shifts = 2;
		assert_int_equal(find(&t, &m, NULL), 0);
		check_tree(&t);
		assert_non_null(
			strstr(t.machines[1].evidence, "trace-cmd recorded it as guest vm"));
		if (!wrong)
			assert_non_null(strstr(t.machines[1].evidence, "agrees with"));
		assert_int_equal(t.machines[1].clock.method,
				 wrong ? CLOCK_METHOD_CONTAINMENT : CLOCK_METHOD_TSC);
		check_truth(&t, &m, 0, 0);
		topology_release(&t);
		unmake(&m);
	}
}

/* In every other second the host's threads swap their CPUs; then it has no stream of CPU 1. */
static void unsee_cpu(struct made *m)
{
	struct made_stream *a = &m->streams[HOST][0], *b = &m->streams[HOST][1], seen = {0};

	for (size_t i = 0, k = 0; i < a->nr || k < b->nr;) {
		bool first = k == b->nr || (i < a->nr && a->list[i].time.v <= b->list[k].time.v);
		const struct event *e = first ? &a->list[i++] : &b->list[k++];

		if ((e->time.v / SECOND % 2 == 0) != first)
			continue;
		seen.list = realloc(seen.list, (seen.nr + 1) * sizeof(*e));
		assert_non_null(seen.list);
		seen.list[seen.nr++] = *e;
	}
	free(a->list);
	a->list = seen.list;
	a->nr = a->room = seen.nr;
	make_trace(m, HOST, m->traces[HOST].clock.kind, "iron");
	m->traces[HOST].nr_streams = 1;
}

/* A vCPU may have run there at any time: what its host saw contradicts no offset. */
static void a_cpu_that_is_not_recorded_contradicts_nothing(void **state)
{
	static const int32_t tids[CPUS] = {TID(0), TID(1)};
	struct trace_guest guest = {
		.name = "vm", .trace_id = 77, .vcpu_tid = tids, .nr_vcpus = CPUS};
	struct trace_shift shifts[2];
	struct topology t;
	struct made m;

	(void)state;
	make_world(&m, (struct world){.no_calls = true});
	unsee_cpu(&m);
	make_tsc(&m);
	for (int cpu = 0; cpu < CPUS; cpu++)
		shifts[cpu] = (struct trace_shift){.cpu = cpu, .offset = m.w.boot, .scaling = 1};
	m.traces[HOST].trace_id = 66;
	m.traces[HOST].guests = &guest;
	m.traces[HOST].nr_guests = 1;
	m.traces[GUEST].trace_id = 77;
	m.traces[GUEST].peer_trace_id = 66;
	m.traces[GUEST].shifts = shifts;
	m.traces[GUEST].nr_shifts = 2;
	assert_int_equal(find(&t, &m, NULL), 0);
	check_tree(&t);
	assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_TSC);
	assert_non_null(
		strstr(t.machines[1].evidence, "nothing in the traces puts it to the test"));
	check_truth(&t, &m, 0, 0);
	topology_release(&t);
	unmake(&m);
}

/* What the user says is evidence like any other: the bound holds though he may be wrong, or it is
 * an error. */
static void the_user_tells_an_offset(void **state)
{
	static const int64_t wrong_by[] = {0, 1500, -1500, 20000, -20000, MS, -SECOND};
	struct made m;
	unsigned refused = 0;

	(void)state;
	make_world(&m, (struct world){0});
	make_tsc(&m);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong_by); i++) {
		const struct topology_input in[2] = {{.trace = &m.traces[HOST]},
						     {.trace = &m.traces[GUEST],
						      .has_tsc_offset = true,
						      .tsc_offset = -m.w.boot + wrong_by[i]}};
		struct error err = {0};
		struct topology t;
		int ret = topology_find(&t, in, 2, NULL, &err);

		if (ret) {
			assert_int_equal(ret, -EINVAL);
			assert_non_null(strstr(err.text, "contradicts its events"));
			assert_true(llabs(wrong_by[i]) > 1500);
			refused++;
		} else {
			assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_TOLD);
			assert_in_range(check_truth(&t, &m, 0, 0), 1000, 12000);
		}
		topology_release(&t);
	}
	assert_int_equal(refused, 4);
	unmake(&m);
}

/* Nothing tests it: it is used, and has no bound. */
static void an_untested_offset_has_no_bound(void **state)
{
	const int64_t offset = -77 * SECOND;
	struct made m;
	struct topology t;
	struct topology_input in[2] = {0};

	(void)state;
	make_world(&m, (struct world){.no_calls = true, .len = SECOND});
	make_tsc(&m);
	for (int cpu = 0; cpu < CPUS; cpu++) { /* no KVM events */
		for (size_t i = 0; i < m.streams[HOST][cpu].nr; i++)
			m.streams[HOST][cpu].list[i].kind = EV_SOFTIRQ_RAISE;
	}
	in[0] = (struct topology_input){.trace = &m.traces[HOST], .parent = "-"};
	in[1] = (struct topology_input){.trace = &m.traces[GUEST],
					.parent = "iron",
					.has_tsc_offset = true,
					.tsc_offset = offset};
	assert_int_equal(topology_find(&t, in, 2, NULL, NULL), 0);
	assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_TOLD);
	assert_int_equal(clock_to_l0(&t.machines[1].clock, (ticks_t){5}), 5 - offset);
	assert_true(clock_bound(&t.machines[1].clock, (ticks_t){5}) == CLOCK_NO_BOUND);
	assert_int_equal(t.problems.nr, 2); /* the other is of its rate */
	assert_non_null(strstr(t.problems.list[1].text, "to the test"));
	topology_release(&t);
	unmake(&m);
}

static void one_trace_alone_is_l0(void **state)
{
	struct made m;
	struct topology t;
	struct topology_input in = {.name = "it"};

	(void)state;
	make_world(&m, (struct world){.len = SECOND});
	in.trace = &m.traces[GUEST];
	assert_int_equal(topology_find(&t, &in, 1, NULL, NULL), 0);
	assert_int_equal(t.nr_machines, 1);
	assert_int_equal(t.machines[0].level, 0);
	assert_string_equal(t.machines[0].name, "it");
	assert_true(t.ticks_are_ns);
	topology_release(&t);
	unmake(&m);
}

/* Only one can be L0; the other is told of, in the order of the inputs. */
static void strangers_are_set_apart(void **state)
{
	struct made m, other;
	struct topology t;
	struct error err = {0};
	struct topology_input in[2] = {0};

	(void)state;
	make_world(&m, (struct world){.no_calls = true, .seed = 1});
	make_world(&other, (struct world){.no_calls = true, .seed = 2});
	in[0].trace = &m.traces[HOST];
	in[1].trace = &other.traces[GUEST];
	assert_int_equal(topology_find(&t, in, 2, NULL, &err), -EXDEV);
	assert_false(t.apart[0].apart); /* it ran guests, whosever */
	assert_true(t.apart[1].apart);
	assert_string_equal(t.apart[1].name, "vm");
	assert_non_null(strstr(t.apart[1].why, "iron"));
	assert_non_null(strstr(t.apart[1].why, "--parent"));
	topology_release(&t);
	/* Told, they are put together, without a bound and with a warning. */
	in[1].parent = "iron";
	assert_int_equal(topology_find(&t, in, 2, NULL, &err), 0);
	assert_int_equal(t.machines[1].parent, 0);
	assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_NONE);
	assert_true(clock_bound(&t.machines[1].clock, (ticks_t){1}) == CLOCK_NO_BOUND);
	assert_int_equal(t.problems.nr, 1);
	topology_release(&t);
	in[1].parent = "nobody";
	assert_int_equal(topology_find(&t, in, 2, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "nobody"));
	unmake(&m);
	unmake(&other);
}

static void two_traces_of_one_clock_are_the_same(void **state)
{
	struct made m;
	struct topology t;

	(void)state;
	make_world(&m, (struct world){.no_calls = true, .len = SECOND});
	memset(m.traces[HOST].clock.uuid, 7, 16);
	memset(m.traces[GUEST].clock.uuid, 7, 16);
	assert_int_equal(find(&t, &m, NULL), 0);
	assert_int_equal(t.machines[1].clock.method, CLOCK_METHOD_SAME);
	assert_int_equal(clock_to_l0(&t.machines[1].clock, (ticks_t){12345}), 12345);
	assert_int_equal(clock_bound(&t.machines[1].clock, (ticks_t){12345}), 0);
	topology_release(&t);
	unmake(&m);
}

/* Times and payloads of any value, kinds in any order: no crash, and times keep their order. */
static void hostile_events_do_no_harm(void **state)
{
	static const uint64_t nasty[] = {0, 1, INT64_MAX, 1ull << 63, UINT64_MAX, 5000000000};
	struct world w = {.seed = 4711};

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct made m;
		struct topology t;
		int64_t args[EVENT_ARGS];

		memset(&m, 0, sizeof(m));
		for (int i = 0; i < 4000; i++) {
			int machine = (int)dice(&w, 0, 2), cpu = (int)dice(&w, 0, CPUS);
			enum event_kind kind = (enum event_kind)dice(&w, 1, EV_NR_KINDS);
			struct made_stream *s = &m.streams[machine][cpu];

			for (int k = 0; k < EVENT_ARGS; k++)
				args[k] = (int64_t)(dice(&w, 0, 2) ? nasty[dice(&w, 0, 6)]
								   : dice(&w, 0, 50));
			put(&m, machine, cpu, 0, kind, args);
			s->list[s->nr - 1].time.v =
				s->nr < 2 ? dice(&w, 0, 1000) : s->list[s->nr - 2].time.v;
			s->list[s->nr - 1].time.v |= dice(&w, 0, 900) ? dice(&w, 0, 1 << (i % 20))
								      : nasty[dice(&w, 0, 6)];
		}
		make_trace(&m, HOST, round & 1 ? CLOCK_TSC : CLOCK_MONO, "iron");
		make_trace(&m, GUEST, round & 2 ? CLOCK_TSC : CLOCK_MONO, "vm");
		if (find(&t, &m, NULL) == 0) {
			ns_t last = NS_MIN;

			for (uint64_t x = 0; x < UINT64_MAX >> 2; x += UINT64_MAX >> 10) {
				ns_t y = clock_to_l0(&t.machines[1].clock, (ticks_t){x});

				assert_true(y >= last);
				last = y;
			}
		}
		topology_release(&t);
		unmake(&m);
	}
}

/* Whose guest ran in a stay: the VM's own, unless its thread is seen to run a guest's guest. */
static void stays_know_whose_guest_ran(void **state)
{
	struct made m;
	struct sample s = {0};
	struct plan plan = {0};
	struct stop stop;

	(void)state;
	make_world(&m, (struct world){.len = SECOND});
	s.trace = &m.traces[HOST];
	/* CPU 1's thread enters a guest of its guest, and stays there. */
	for (size_t i = m.streams[HOST][1].nr / 2; i < m.streams[HOST][1].nr; i++) {
		if (m.streams[HOST][1].list[i].kind == EV_KVM_EXIT) {
			m.streams[HOST][1].list[i].kind = EV_KVM_NESTED_VMENTER;
			break;
		}
	}
	stop_init(&stop, NULL, NULL);
	assert_int_equal(plan_whole(&plan, s.trace), 0);
	plan_settle(&plan);
	assert_int_equal(sample_read(&s, &plan, 1, 1, &stop, NULL), 0);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		size_t nr, nested = 0, own = 0;
		const struct stay *stays = sample_stays(&s, TID(cpu), &nr);

		for (size_t i = 0; i < nr; i++) {
			nested += stays[i].nested == NESTED_YES;
			own += stays[i].nested == NESTED_NO;
		}
		assert_true(nr > 50);
		if (!cpu)
			assert_int_equal(own, nr);
		else /* what was before the first change is not known */
			assert_true(!own && nested > nr / 3 && nested < nr * 2 / 3);
	}
	sample_release(&s);
	plan_release(&plan);
	unmake(&m);
}

static void read_whole(struct sample *s, struct trace *t)
{
	struct plan plan = {0};
	struct stop stop;

	*s = (struct sample){.trace = t};
	stop_init(&stop, NULL, NULL);
	assert_int_equal(plan_whole(&plan, t), 0);
	plan_settle(&plan);
	assert_int_equal(sample_read(s, &plan, 1, 1, &stop, NULL), 0);
	plan_release(&plan);
}

/* What is missing of one CPU may have been any vCPU's: it contradicts no event of a guest. */
static void a_cpu_that_is_not_there_may_have_run_any_vcpu(void **state)
{
	const struct stay *stays;
	struct sample s;
	struct made m;
	size_t nr;

	(void)state;
	make_world(&m, (struct world){.len = SECOND});
	read_whole(&s, &m.traces[HOST]);
	stays = sample_stays(&s, TID(0), &nr);
	assert_true(nr > 50 && s.begin < s.end);
	assert_int_not_equal(stays[nr - 1].end, UINT64_MAX);
	sample_release(&s);
	m.of_trace[HOST][1].cut = true;
	read_whole(&s, &m.traces[HOST]);
	stays = sample_stays(&s, TID(0), &nr);
	assert_int_equal(stays[nr - 1].end, UINT64_MAX);
	assert_true(stays[nr - 1].unsure && nr > 50);
	assert_in_range(s.end, 1, m.streams[HOST][1].list[m.streams[HOST][1].nr - 1].time.v);
	sample_release(&s);
	m.traces[HOST].nr_streams = 1;
	read_whole(&s, &m.traces[HOST]);
	stays = sample_stays(&s, TID(0), &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(stays[0].begin, 0);
	assert_int_equal(stays[0].end, UINT64_MAX);
	assert_int_equal(s.begin, s.end);
	sample_release(&s);
	unmake(&m);
}

/* A loss that began before what is read reaches into it: who ran then is not known there, either. */
static void a_loss_from_before_is_one_of_what_is_read(void **state)
{
	const uint64_t begin = BEGIN + SECOND / 4, middle = BEGIN + SECOND / 2;
	const uint64_t end = BEGIN + SECOND / 4 * 3;
	const struct stay *stays;
	struct made_stream *s;
	struct plan plan = {0};
	struct sample sample;
	size_t nr, out = 0, unsure = 0;
	struct stop stop;
	struct made m;

	(void)state;
	make_world(&m, (struct world){.len = SECOND});
	s = &m.streams[HOST][1];
	for (size_t i = 0; i < s->nr; i++) {
		bool lost = s->list[i].time.v >= begin && s->list[i].time.v < end;

		if (lost && s->list[out - 1].kind == EV_LOST)
			continue;
		s->list[out++] = lost ? (struct event){.kind = EV_LOST,
						       .time.v = begin,
						       .arg = {0, (int64_t)begin, (int64_t)end}}
				      : s->list[i];
	}
	s->nr = out;
	sample = (struct sample){.trace = &m.traces[HOST]};
	stop_init(&stop, NULL, NULL);
	assert_int_equal(plan_whole(&plan, sample.trace), 0);
	for (size_t i = 0; i < plan.nr; i++)
		plan.list[i].from = middle;
	plan_settle(&plan);
	assert_int_equal(sample_read(&sample, &plan, 1, 1, &stop, NULL), 0);
	stays = sample_stays(&sample, TID(0), &nr);
	for (size_t i = 0; i < nr; i++)
		unsure += stays[i].unsure && stays[i].begin <= middle && stays[i].end >= end;
	assert_int_equal(unsure, 1);
	sample_release(&sample);
	plan_release(&plan);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_know_whose_guest_ran),
		cmocka_unit_test(a_cpu_that_is_not_there_may_have_run_any_vcpu),
		cmocka_unit_test(a_loss_from_before_is_one_of_what_is_read),
		cmocka_unit_test(one_trace_alone_is_l0),
		cmocka_unit_test(pairs_and_containment_bound_any_steady_clock),
		cmocka_unit_test(containment_alone_finds_parent_and_clock),
		cmocka_unit_test(a_process_has_no_say_about_clocks),
		cmocka_unit_test(a_neighbour_has_no_say_about_clocks),
		cmocka_unit_test(a_perfect_copy_leaves_less_evidence),
		cmocka_unit_test(a_guest_paused_for_seconds_is_a_new_piece),
		cmocka_unit_test(lost_events_loosen_but_do_not_mislead),
		cmocka_unit_test(timers_bound_what_exits_cannot),
		cmocka_unit_test(timers_that_do_not_fit_do_not_count),
		cmocka_unit_test(long_traces_are_sampled),
		cmocka_unit_test(a_written_tsc_offset_is_exact),
		cmocka_unit_test(what_an_exact_offset_contradicts_is_counted),
		cmocka_unit_test(a_wrong_tsc_offset_is_not_believed),
		cmocka_unit_test(what_trace_cmd_noted_is_used),
		cmocka_unit_test(a_cpu_that_is_not_recorded_contradicts_nothing),
		cmocka_unit_test(the_user_tells_an_offset),
		cmocka_unit_test(an_untested_offset_has_no_bound),
		cmocka_unit_test(strangers_are_set_apart),
		cmocka_unit_test(two_traces_of_one_clock_are_the_same),
		cmocka_unit_test(hostile_events_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
