/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_MODEL_WORLD_H
#define TESTS_UNIT_MODEL_WORLD_H

#include "tests/unit/unit.h"
#include "tests/unit/fake_history.h"

#include "model/context.h"
#include "model/model.h"

/*
 * A world for the model's tests: L0 "host" with two CPUs and, inside it, any of "vm" (a VM of two
 * CPUs: thread 100 and 101 of the host run them) and "nested" (a VM of vm's, one CPU, run by vm's
 * thread 50).  Times are ns in every trace: the clocks are all the same.
 *
 * A test calls world_open(), says what happened (happens() and its shorthands, in time order),
 * world_close(), and then asks what the result says about any moment.
 */
enum { HOST, VM, NESTED, NR_WORLD };

static const char *const world_names[NR_WORLD] = {"host", "vm", "nested"};

static struct {
	struct trace traces[NR_WORLD];
	struct stream streams[NR_WORLD][2];
	struct machine machines[NR_WORLD];
	struct topology topo;
	struct model_gaps *gaps; /* NULL: nobody asks what gaps the model finds */
	struct model *model;
	struct event first; /* of the host's CPU 0 */
	bool has_first, first_read;
	int64_t vtids[4]; /* of the next fork, and how many */
	unsigned nr_vtids;
	int64_t maker_ns;		  /* of the next fork's parent; 0: not told */
	int64_t context_ns, context_vtid; /* of who runs; 0: not told */
	int64_t old_tid;		  /* of the next exec */
	const char *line;		  /* text of the next state line */
	const char *filename;
	const char *irq_name;	      /* of the next interrupt handler */
	const char *device;	      /* that the next packet is handed to */
	int64_t prev_prio, next_prio; /* of the next switch; both 0: not told */
} world;

static struct clock_piece world_piece = {.mult = UINT64_C(1) << CLOCK_SHIFT};

/* ---- traces: names of types, and the few fields that are read by name ------------------------ */

enum { TYPE_OTHER, TYPE_OPENAT, TYPE_READ, TYPE_TIMER, TYPE_RESCHEDULE, NR_TYPES };

static struct event_type world_types[NR_TYPES] = {
	{.name = "other", .syscall = -1},
	{.name = "syscall_entry_openat", .kind = EV_SYSCALL_ENTRY, .syscall = -1},
	{.name = "syscall_entry_read", .kind = EV_SYSCALL_ENTRY, .syscall = -1},
	{.name = "local_timer_entry", .kind = EV_VECTOR_ENTRY, .syscall = -1},
	{.name = "x86_irq_vectors_reschedule_entry", .kind = EV_VECTOR_ENTRY, .syscall = -1},
};

static int world_field(const struct stream *s, const struct event *e, const char *name,
		       struct field_value *out)
{
	(void)s;
	if (e->kind == EV_FORK && !strcmp(name, "vtids") && world.nr_vtids) {
		*out = (struct field_value){
			.cls = FIELD_ARRAY, .elems = world.vtids, .len = world.nr_vtids};
		return 0;
	}
	if (e->kind == EV_FORK && strstr(name, "_ns_inum") && world.maker_ns) {
		*out = (struct field_value){.cls = FIELD_UINT};
		out->i = strcmp(name, "parent_ns_inum") ? e->arg[4] : world.maker_ns;
		return 0;
	}
	if (world.context_ns && (!strcmp(name, "pid_ns") || !strcmp(name, "vtid"))) {
		*out = (struct field_value){.cls = *name == 'p' ? FIELD_UINT : FIELD_INT};
		out->i = *name == 'p' ? world.context_ns : world.context_vtid;
		return 0;
	}
	if (e->kind == EV_STATE_LINE && !strcmp(name, "msg") && world.line) {
		*out = (struct field_value){
			.cls = FIELD_STRING, .text = world.line, .len = strlen(world.line)};
		return 0;
	}
	if (e->kind == EV_EXEC && !strcmp(name, "old_tid")) {
		*out = (struct field_value){.cls = FIELD_INT, .i = world.old_tid};
		return 0;
	}
	if (e->kind == EV_EXEC && !strcmp(name, "filename") && world.filename) {
		*out = (struct field_value){
			.cls = FIELD_STRING, .text = world.filename, .len = strlen(world.filename)};
		return 0;
	}
	if (e->kind == EV_IRQ_ENTRY && !strcmp(name, "name") && world.irq_name) {
		*out = (struct field_value){
			.cls = FIELD_STRING, .text = world.irq_name, .len = strlen(world.irq_name)};
		return 0;
	}
	if (e->kind == EV_NET_XMIT && !strcmp(name, "name") && world.device) {
		*out = (struct field_value){
			.cls = FIELD_STRING, .text = world.device, .len = strlen(world.device)};
		return 0;
	}
	if (e->kind == EV_SCHED_SWITCH && (world.prev_prio || world.next_prio)) {
		*out = (struct field_value){.cls = FIELD_INT};
		out->i = strcmp(name, "prev_prio") ? world.next_prio : world.prev_prio;
		return 0;
	}
	return -2;
}

/* Tests hand events to the model: the streams have none but the first. */
static int world_cursor_init(struct cursor *c, struct error *err)
{
	(void)c;
	(void)err;
	world.first_read = false;
	return 0;
}

static unsigned world_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	if (world.first_read || !world.has_first || c->stream->cpu || !room)
		return 0;
	world.first_read = true;
	events[0] = world.first;
	return 1;
}

static void world_cursor_release(struct cursor *c)
{
	(void)c;
}

static const struct trace_ops world_ops = {.event_field = world_field,
					   .cursor_init = world_cursor_init,
					   .cursor_next = world_cursor_next,
					   .cursor_release = world_cursor_release};

/* ---- the machines ------------------------------------------------------------------------------
 */

static inline void world_machine(unsigned i, int parent)
{
	struct machine *mc = &world.machines[i];
	struct trace *t = &world.traces[i];

	*t = (struct trace){.ops = &world_ops,
			    .lttng = true,
			    .types = world_types,
			    .nr_types = NR_TYPES,
			    .path = "",
			    .nr_cpus = 2};
	for (int cpu = 0; cpu < 2; cpu++)
		world.streams[i][cpu] = (struct stream){.trace = t, .cpu = cpu};
	*mc = (struct machine){.parent = parent,
			       .level = parent < 0 ? 0 : world.machines[parent].level + 1,
			       .trace = t,
			       .clock = {.pieces = &world_piece, .nr_pieces = 1}};
	strcpy(mc->name, world_names[i]);
}

/* @nr of the world's machines have a trace: 1 only the host, 2 host and vm, 3 all. */
static inline void world_prepare(unsigned nr)
{
	static struct vcpu_hint of_vm[] = {{0, 100, 1}, {1, 101, 1}}, of_nested[] = {{0, 50, 1}};

	fake_reset();
	memset(&world, 0, sizeof(world));
	world_machine(HOST, -1);
	world_machine(VM, HOST);
	world_machine(NESTED, VM);
	world.machines[VM].vcpus = of_vm;
	world.machines[VM].nr_vcpus = 2;
	world.machines[NESTED].vcpus = of_nested;
	world.machines[NESTED].nr_vcpus = 1;
	world.topo = (struct topology){
		.machines = world.machines, .nr_machines = nr, .ticks_are_ns = true};
}

static inline void world_start(void)
{
	assert_int_equal(model_open(&world.model, &world.topo, world.gaps, NULL, NULL), 0);
}

static inline void world_open(unsigned nr)
{
	world_prepare(nr);
	world_start();
}

static inline void world_close(ns_t end)
{
	assert_int_equal(model_close(world.model, end, NULL, NULL), 0);
}

/* ---- what happens ------------------------------------------------------------------------------
 */

static inline void happens_typed(unsigned machine, int cpu, ns_t t, struct event e)
{
	struct merge_input in = {&world.streams[machine][cpu], machine,
				 &world.machines[machine].clock, 0};

	e.time.v = (uint64_t)t;
	model_feed(world.model, &in, &e, &t, 1);
}

#define happens(machine, cpu, t, event_kind, running, ...)                                         \
	happens_typed(                                                                             \
		machine, cpu, t,                                                                   \
		(struct event){.kind = EV_##event_kind, .tid = (running), .arg = {__VA_ARGS__}})

/* Values of prev_state. */
enum { RUNNABLE = 0, ASLEEP = 1, BLOCKED = 2, IDLE_SLEEP = 0x80, PREEMPTED = 0x100 };

#define STR(text) ((int64_t)(uintptr_t)(text))

static inline void switches(unsigned machine, int cpu, ns_t t, int prev, int prev_state, int next)
{
	happens(machine, cpu, t, SCHED_SWITCH, prev, prev, next, prev_state);
}

static inline void enters(unsigned machine, int cpu, ns_t t, int thread)
{
	happens(machine, cpu, t, KVM_ENTRY, thread, -1);
}

/* Thread @tid, by itself on the machine's CPU 1, writes a state line. */
static inline void tells(unsigned machine, ns_t t, int tid, const char *line)
{
	world.line = line;
	happens(machine, 1, t, STATE_LINE, tid, 0);
	world.line = NULL;
}

#define SVM 2
#define EXIT_INTR 0x60
#define EXIT_HLT 0x78
#define EXIT_VMRUN 0x80
#define EXIT_VMMCALL 0x81
#define EXIT_STGI 0x84
#define EXIT_MSR 0x7c

static inline void exits(unsigned machine, int cpu, ns_t t, int thread, int reason)
{
	happens(machine, cpu, t, KVM_EXIT, thread, reason, -1, 0, SVM);
}

/* ---- what the result says ----------------------------------------------------------------------
 */

static const char *const world_modes[NR_MODES] = {"unknown", "idle",	"user",	      "syscall",
						  "irq",     "softirq", "hypervisor", "guest",
						  "kernel",  "task"};

/*
 * What CPU @cpu of the host runs at @t, in words:
 * "machine/cpu thread mode [detail] [for machine/cpu]", with "-" for a thread that is not known.
 */
static inline const char *runs(int cpu, ns_t t)
{
	static char text[4][256];
	static unsigned next;
	char *out = text[next++ % 4], path[32], thread[16] = "-";
	int64_t row, th, serves, detail, mode;
	size_t n;

	snprintf(path, sizeof(path), "host/cpu%d/runs", cpu);
	row = fake_at(path, t);
	if (!row)
		return "nothing";
	row--;
	mode = fake_cell("context", row, "mode");
	th = fake_cell("context", row, "thread");
	detail = fake_cell("context", row, "detail");
	serves = fake_cell("context", row, "serves");
	if (th >= 0)
		snprintf(thread, sizeof(thread), "%d", (int)fake_cell("thread", th, "tid"));
	n = (size_t)snprintf(out, 256, "%s/%d %s %s",
			     fake_string("machine", fake_cell("context", row, "machine"), "name"),
			     (int)fake_cell("context", row, "cpu"), thread, world_modes[mode]);
	if (mode == MODE_SYSCALL)
		n += (size_t)snprintf(out + n, 256 - n, " %s", fake.strings[detail]);
	else if (mode == MODE_IRQ || mode == MODE_SOFTIRQ || mode == MODE_HYPERVISOR)
		n += (size_t)snprintf(out + n, 256 - n, " %d", (int)detail);
	if (serves)
		snprintf(out + n, 256 - n, " for %s/%d",
			 fake_string("machine", fake_cell("cpu", serves - 1, "machine"), "name"),
			 (int)fake_cell("cpu", serves - 1, "cpu"));
	return out;
}

#define assert_runs(cpu, t, words) assert_string_equal(runs(cpu, t), words)

/* An attribute of a vCPU, wherever table cpu says that it stands. */
static inline uint32_t vcpu_at(const char *machine, int number, const char *attr, ns_t t)
{
	char path[160];

	for (unsigned i = 0; i < fake_rows("cpu"); i++) {
		if (fake_cell("cpu", i, "cpu") != number ||
		    strcmp(fake_string("machine", fake_cell("cpu", i, "machine"), "name"), machine))
			continue;
		snprintf(path, sizeof(path), "%s/%s", fake_string("cpu", i, "path"), attr);
		return fake_at(path, t);
	}
	FAKE_FAIL("no vCPU %s/%d", machine, number);
	return 0;
}

/* The row of the newest thread with that TID. */
static inline int64_t thread_row(unsigned machine, int tid)
{
	int64_t found = -1;

	for (unsigned i = 0; i < fake_rows("thread"); i++) {
		if (fake_cell("thread", i, "tid") == tid &&
		    !strcmp(fake_string("machine", fake_cell("thread", i, "machine"), "name"),
			    world_names[machine]))
			found = i;
	}
	assert_true(found >= 0);
	return found;
}

static inline uint32_t thread_state(unsigned machine, int tid, ns_t t)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/threads/%d/state", world_names[machine],
		 (int)thread_row(machine, tid));
	return fake_at(path, t);
}

#endif
