/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model on events that make no sense.  Traces lie, lose events and come from broken clocks:
 * whatever comes, every CPU of the host has a context at every moment, and every number in the
 * result names something that is there.
 */
#include "events/rows.h"
#include "tests/unit/model_world.h"

#define EVENTS 3000
#define RUNS 12

static uint64_t seed;
static unsigned nr_batches;

static uint64_t random_below(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

static int64_t random_argument(void)
{
	static const int64_t odd[] = {-1,	  INT64_MIN, INT64_MAX, UINT32_MAX, INT32_MIN,
				      0x80000000, 8191,	     8192,	100000,	    0x100};

	if (random_below(8) == 0)
		return odd[random_below(ARRAY_SIZE(odd))];
	return (int64_t)random_below(12);
}

/* Exit reasons that matter, often. */
static int64_t random_reason(void)
{
	static const int64_t reasons[] = {EXIT_VMRUN, EXIT_STGI, EXIT_MSR, EXIT_INTR, EXIT_HLT, -1};

	return random_below(4) ? reasons[random_below(ARRAY_SIZE(reasons))] : random_argument();
}

static struct event random_event(ns_t t)
{
	static const char *const names[] = {"", "sh", "CPU 1/KVM", "sixteen bytes, no end"};
	struct event e = {.kind = EV_LOST,
			  .type = (uint16_t)random_below(NR_TYPES),
			  .tid = (int32_t)random_below(12) - 1};

	if (random_below(100))
		do
			e.kind = (uint16_t)random_below(EV_NR_KINDS);
		while (!(model_want() & KIND_BIT(e.kind)));
	if (!random_below(6))
		e.kind = EV_STATE_LINE;
	if (e.kind == EV_STATE_LINE && random_below(8))
		e.tid = 3; /* one writer's, as a rule */
	for (unsigned i = 0; i < EVENT_ARGS; i++)
		e.arg[i] = event_slot_is_text(e.kind, i)
				   ? STR(names[random_below(ARRAY_SIZE(names))])
				   : random_argument();
	if (e.kind == EV_KVM_EXIT)
		e.arg[0] = random_reason();
	if (e.kind == EV_LOST) {
		e.arg[1] = t;
		e.arg[2] = t + 5;
		e.arg[3] = random_below(2);
	}
	return e;
}

/* A state line of any kind, with any of its keys, in any order and outside blocks, too. */
static const char *random_line(void)
{
	static const char *const kinds[] = {"begin", "begin version=1 cause=start",
					    "pidns", "cgroup",
					    "task",  "task",
					    "vm",    "vcpu",
					    "stat",  "end",
					    "clock"};
	static const char *const keys[] = {"tid",    "pid",   "ppid",	 "vm",	   "vcpu",
					   "cpu",    "inum",  "level",	 "parent", "id",
					   "cgroup", "pidns", "kthread", "hz",	   "tasks"};
	static const char *const texts[] = {"comm=CPU%201/KVM",
					    "state=R",
					    "state=S",
					    "state=Z",
					    "name=vm-a",
					    "name=host",
					    "path=/docker/0123456789ab",
					    "nstids=3,1",
					    "nstids=5",
					    "uuid=0"};
	static char line[400];
	size_t n = (size_t)snprintf(line, sizeof(line), "sonde: %s",
				    kinds[random_below(ARRAY_SIZE(kinds))]);

	for (unsigned i = (unsigned)random_below(8); i > 0; i--)
		n += (size_t)snprintf(line + n, sizeof(line) - n, " %s=%lld",
				      keys[random_below(ARRAY_SIZE(keys))],
				      (long long)random_argument());
	snprintf(line + n, sizeof(line) - n, " %s", texts[random_below(ARRAY_SIZE(texts))]);
	return line;
}

static void a_cpu_is_never_without_a_context(int cpu)
{
	char path[32];
	uint32_t last = 0;

	snprintf(path, sizeof(path), "host/cpu%d/runs", cpu);
	for (unsigned i = 0; i < fake.nr_changes; i++) {
		if (strcmp(fake.paths[fake.changes[i].attr], path))
			continue;
		if (!last)
			assert_int_equal(fake.changes[i].t, 0);
		last = fake.changes[i].value;
		assert_in_range(last, 1, fake_rows("context"));
	}
	assert_true(last);
}

/* Cells of @column name rows of @of, or are @none. */
static void names_rows(const char *table, const char *column, const char *of, int64_t none)
{
	for (unsigned i = 0; i < fake_rows(table); i++) {
		int64_t row = fake_cell(table, i, column);

		if (row != none)
			assert_true(row - (none + 1) >= 0 && row - (none + 1) < fake_rows(of));
	}
}

static void every_number_names_a_row(void)
{
	names_rows("context", "machine", "machine", -1);
	names_rows("context", "thread", "thread", -1);
	names_rows("context", "serves", "cpu", 0);
	names_rows("cpu", "machine", "machine", -1);
	names_rows("cpu", "host_thread", "thread", -1);
	names_rows("machine", "parent", "machine", -1);
	names_rows("thread", "machine", "machine", -1);
	names_rows("thread", "is_vcpu", "cpu", 0);
	names_rows("thread", "pid_ns", "pid_ns", -1);
	names_rows("vtid", "thread", "thread", -1);
	names_rows("vtid", "pid_ns", "pid_ns", -1);
	names_rows("thread", "cgroup", "cgroup", -1);
	names_rows("pid_ns", "parent", "pid_ns", -1);
	names_rows("cgroup", "machine", "machine", -1);
	names_rows("identity", "machine", "machine", -1);
	names_rows("stat", "machine", "machine", -1);
	names_rows("exit", "serves", "cpu", 0);
	names_rows("wake", "cpu", "cpu", -1);
	names_rows("wake", "from_cpu", "cpu", 0);
	names_rows("wake", "by", "thread", -1);
	names_rows("vector", "cpu", "cpu", -1);
	names_rows("irq", "machine", "machine", -1);
}

/* What is left of a writer that is killed here. */
static void a_batch_has_its_rows(void)
{
	for (unsigned i = 0; i < fake.nr_changes; i++) {
		if (strstr(fake.paths[fake.changes[i].attr], "/runs"))
			assert_in_range(fake.changes[i].value, 1, fake_rows("context"));
		if (strstr(fake.paths[fake.changes[i].attr], "/waker"))
			assert_in_range(fake.changes[i].value, 0, fake_rows("context"));
		if (strstr(fake.paths[fake.changes[i].attr], "/exit"))
			assert_in_range(fake.changes[i].value, 0, fake_rows("exit"));
		if (strstr(fake.paths[fake.changes[i].attr], "/woken"))
			assert_in_range(fake.changes[i].value, 0, fake_rows("wake"));
		if (strstr(fake.paths[fake.changes[i].attr], "/why_off"))
			assert_in_range(fake.changes[i].value, OFF_UNKNOWN, NR_WHY_OFF - 1);
	}
	every_number_names_a_row();
	nr_batches++;
}

static void every_cpu_has_its_attributes(void)
{
	for (unsigned i = 0; i < fake_rows("cpu"); i++) {
		char path[160];

		if (!*fake_string("cpu", i, "path") || !fake_cell("cpu", i, "machine"))
			continue;
		snprintf(path, sizeof(path), "%s/state", fake_string("cpu", i, "path"));
		assert_in_range(fake_at(path, INT64_MAX), 0, VCPU_GONE);
	}
}

static void numbers_of_a_machine_differ(void)
{
	for (unsigned i = 0; i < fake_rows("cpu"); i++) {
		for (unsigned j = 0; j < i; j++)
			assert_true(fake_cell("cpu", i, "machine") !=
					    fake_cell("cpu", j, "machine") ||
				    fake_cell("cpu", i, "cpu") != fake_cell("cpu", j, "cpu"));
	}
}

static void nonsense_gives_a_sound_result(void **state)
{
	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		ns_t t = 0;

		seed = 88172645463325252ull + run;
		world_open(1 + run % 3);
		fake.check_batch = a_batch_has_its_rows;
		for (unsigned i = 0; i < EVENTS; i++) {
			world.nr_vtids = (unsigned)random_below(3);
			world.old_tid = random_argument();
			world.line = random_line();
			happens_typed((unsigned)random_below(1 + run % 3), (int)random_below(2), t,
				      random_event(t));
			t += (ns_t)random_below(3);
		}
		world_close(t + 1);
		a_cpu_is_never_without_a_context(0);
		a_cpu_is_never_without_a_context(1);
		every_number_names_a_row();
		every_cpu_has_its_attributes();
		numbers_of_a_machine_differ();
	}
	assert_true(nr_batches >= RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_gives_a_sound_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
